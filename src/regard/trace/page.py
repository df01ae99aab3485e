"""A trace that fits into a file to be sent: of what is largest, only what is looked at."""

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from urllib.parse import quote, urlencode

from regard.errors import DataError, require_setting
from regard.inference.alignment import pick_alignment_layer
from regard.trace.interventions import ATTENTION_KINDS, AttentionKind, require_index
from regard.trace.trace import QkvProjections, Trace

MAX_JSON_BYTES = 8_000_000
"""Bytes of JSON up to which queries, keys and values of all layers are kept."""


def fit_trace_to_size(trace: Trace, layer: int, max_bytes: int = MAX_JSON_BYTES) -> Trace:
    """The same trace, or the same with queries, keys and values of that layer alone (counted from 1)."""
    if trace.qkv is None or len(trace.dumps()) <= max_bytes:
        return trace
    kept = {kind: _select_layer(each, layer) for kind, each in trace.qkv.items()}
    left_out = tuple(f"qkv.{kind}" for kind, each in trace.qkv.items() if each.layers != kept[kind].layers)
    return replace(trace, qkv=kept, omitted=(*trace.omitted, *left_out))


def _select_layer(each: QkvProjections, layer: int) -> QkvProjections:
    at = slice(layer - 1, layer) if layer in each.layers else slice(0, 0)
    return QkvProjections(each.layers[at], each.q[at], each.k[at], each.v[at])


VIEW_NAMES = ("translate", "attention", "steps", "search", "model", "positions", "training")
MAX_NOTEBOOK_BYTES = 5_000_000
"""Bytes up to which a document has all queries, keys and values; a notebook keeps every one it shows."""
OFFLINE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
SERVER_ONLY_MODULES = "live/"
"""Modules that are of use only where a model can be asked."""
STYLESHEET_LINK = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)"\s*/?>')
IMPORT_MAP = re.compile(r'<script type="importmap">.*?</script>\n?', re.DOTALL)
ENTRY_SCRIPT = re.compile(r'<script type="module">import "([^"]+)";</script>')
LOADER_SCRIPT = """<script>
(async () => {{
  const packed = atob(document.getElementById("regard-modules").textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const map = Object.assign(document.createElement("script"), {{ type: "importmap" }});
  map.textContent = await new Response(stream).text();
  document.head.append(map);
  await import("{first}");
}})().catch((problem) => {{
  document.body.textContent = `This page needs a newer browser (${{problem.message}}).`;
}});
</script>"""
"""Modules travel compressed, as an import map of data: URLs: a notebook keeps every page that it shows."""


@dataclass(frozen=True)
class NotebookFrame:
    """A document inside a notebook: nothing of it leaks out, and nothing of the notebook in."""

    document: str
    title: str
    height: int

    def _repr_html_(self) -> str:
        shown = html.escape(self.document, quote=True)
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; border: 0" height="{self.height}" srcdoc="{shown}"></iframe>'
        )


def render_trace_html(trace: Trace, view: str = "#/attention", max_bytes: int = MAX_JSON_BYTES) -> str:
    """The page with the trace in it; `view` is what it opens with, such as #/attention?layer=5."""
    if trace.qkv is None:
        trace = replace(trace, omitted=(*trace.omitted, "qkv"))
    page = _build_page()
    said = fit_trace_to_size(trace, _layer_of_view(trace, view), max_bytes - len(page)).to_json()
    return page.replace(
        TRACE_PLACEHOLDER, f"{_json_script('regard-trace', said)}\n{_text_script('regard-view', view)}", 1
    )


def render_notebook_frame(trace: Trace, view: str, height: int) -> NotebookFrame:
    """The same for a notebook."""
    return NotebookFrame(
        render_trace_html(trace, view, MAX_NOTEBOOK_BYTES), f"Inside “{trace.source.text}”", height
    )


def build_view_fragment(
    trace: Trace, page: str, kind: str | None, layer: int | None, head: int | None
) -> str:
    """The view of a page at a place that the model has, as it stands in an address."""
    require_setting(page in VIEW_NAMES, "page", page, f"it must be one of {', '.join(VIEW_NAMES)}")
    require_setting(
        kind is None or kind in ATTENTION_KINDS,
        "kind",
        kind,
        f"it must be one of {', '.join(ATTENTION_KINDS)}",
    )
    kind = default_attention_kind(trace) if kind is None and "cross" not in trace.attention else kind
    if layer is not None:
        require_index("layer", layer, len(trace.attention[kind or "cross"]))
    if head is not None:
        require_index("head", head, trace.model.heads)
    given = {"kind": kind, "layer": layer, "head": head}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    return f"#/{page}?{query}" if query else f"#/{page}"


def default_layer(trace: Trace, kind: str) -> int:
    """The layer that is shown first, counted from 1: the one that aligns words, else the last."""
    if kind not in trace.attention:
        has = ", ".join(trace.attention)
        raise DataError(f"this model has no {kind} attention; it has {has}")
    layers = len(trace.attention[kind])
    return pick_alignment_layer(layers) + 1 if kind == "cross" else layers


def _layer_of_view(trace: Trace, view: str) -> int:
    """The one that a view opens with: the page's own choice, unless it is told."""
    given = re.search(r"[?&]layer=(\d{1,4})(?!\d)", view)
    kinds = [kind for kind in ATTENTION_KINDS if re.search(rf"[?&]kind={kind}(?![a-z])", view)]
    return (
        int(given[1]) if given else default_layer(trace, kinds[0] if kinds else default_attention_kind(trace))
    )


def default_attention_kind(trace: Trace) -> AttentionKind:
    """The kind of attention that is shown first: across, or the one there is."""
    return "cross" if "cross" in trace.attention else "encoder"


TRACE_PLACEHOLDER = "<!-- what the page shows -->"
"""Before the script that starts it: a browser runs that as soon as it has read it, and no further."""


def _build_page() -> str:
    """The page without its trace: style, modules and all."""
    static = page_assets()
    modules = [
        (name, file)
        for name, file in walk_files(static / "js")
        if name.endswith(".js") and not name.startswith(SERVER_ONLY_MODULES)
    ]
    imports = {"imports": {f"regard/{name}": _module_url(file.read_text("utf-8")) for name, file in modules}}
    packed = base64.b64encode(gzip.compress(_escaped_json(imports).encode(), mtime=0)).decode()
    carried = f'<script type="text/plain" id="regard-modules">{packed}</script>\n'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{OFFLINE_POLICY}">'
    page = (static / "index.html").read_text("utf-8")
    page = re.sub(r"(<head>)", lambda found: f"{found[1]}\n{policy}", page, count=1)
    page = STYLESHEET_LINK.sub(
        lambda found: f"<style>\n{(static / found[1]).read_text('utf-8')}</style>", page
    )
    page = ENTRY_SCRIPT.sub(
        lambda found: f"{TRACE_PLACEHOLDER}\n{carried}{LOADER_SCRIPT.format(first=found[1])}", page
    )
    return IMPORT_MAP.sub("", page)


def page_assets() -> Traversable:
    """The folder of the page's own files."""
    return files("regard") / "assets"


def walk_files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Every file in a folder of the package and below, by its path from there."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from walk_files(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry


def _module_url(source: str) -> str:
    return f"data:text/javascript,{quote(source)}"


def _json_script(name: str, said: Mapping[str, Any]) -> str:
    return f'<script type="application/json" id="{name}">{_escaped_json(said)}</script>'


def _text_script(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{text.replace("<", "")}</script>'


def _escaped_json(said: Mapping[str, Any]) -> str:
    """No tag can begin in it, whatever a sentence says."""
    text = json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")

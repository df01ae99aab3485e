"""The offline page: one HTML file with the explorer's front end and one trace; notebook frames.

The front end is data to this module: it is read from the package, never imported.
"""

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from urllib.parse import quote, urlencode

from regard.assets import walk_files
from regard.errors import DataError, require_setting
from regard.inference.alignment import pick_alignment_layer
from regard.trace.interventions import ATTENTION_KINDS, AttentionKind, require_index
from regard.trace.trace import QkvProjections, Trace

MAX_JSON_BYTES = 8_000_000
"""Size of the JSON up to which queries, keys and values of all layers are kept."""
MAX_NOTEBOOK_BYTES = 5_000_000
"""The same limit in a notebook, which stores every page that it shows."""
VIEW_NAMES = ("translate", "attention", "steps", "search", "model", "positions", "training")
OFFLINE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
SERVER_ONLY_MODULES = ("live/", "translator/")
"""Modules that need the server, left out of the file."""
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
"""Loads the modules, which are embedded compressed, through an import map of data: URLs."""
TRACE_PLACEHOLDER = "<!-- trace -->"
"""Replaced by the trace; it stands before the script that needs it."""


@dataclass(frozen=True)
class NotebookFrame:
    """A page in a sandboxed iframe, isolated from the notebook."""

    document: str
    title: str
    height: int

    def _repr_html_(self) -> str:
        document = html.escape(self.document, quote=True)
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; border: 0" height="{self.height}" srcdoc="{document}"></iframe>'
        )


def render_trace_html(trace: Trace, view: str = "#/attention", max_bytes: int = MAX_JSON_BYTES) -> str:
    """Return the page with the trace embedded, opened at `view`, such as #/attention?layer=5."""
    if trace.qkv is None:
        trace = replace(trace, omitted=(*trace.omitted, "qkv"))
    page = _build_page()
    data = fit_trace_to_size(trace, _layer_of_view(trace, view), max_bytes - len(page)).to_json()
    return page.replace(
        TRACE_PLACEHOLDER, f"{_json_script('regard-trace', data)}\n{_text_script('regard-view', view)}", 1
    )


def render_notebook_frame(trace: Trace, view: str, height: int) -> NotebookFrame:
    """Return the page as a frame for a notebook."""
    title = f"Trace of “{trace.source.text}”"
    return NotebookFrame(render_trace_html(trace, view, MAX_NOTEBOOK_BYTES), title, height)


def fit_trace_to_size(trace: Trace, layer: int, max_bytes: int = MAX_JSON_BYTES) -> Trace:
    """Return the trace; if it is too large, with queries, keys and values of one layer (from 1) only."""
    if trace.qkv is None or len(trace.dumps()) <= max_bytes:
        return trace
    kept = {kind: _select_layer(each, layer) for kind, each in trace.qkv.items()}
    omitted = tuple(f"qkv.{kind}" for kind, each in trace.qkv.items() if each.layers != kept[kind].layers)
    return replace(trace, qkv=kept, omitted=(*trace.omitted, *omitted))


def _select_layer(projections: QkvProjections, layer: int) -> QkvProjections:
    layers = slice(layer - 1, layer) if layer in projections.layers else slice(0, 0)
    return QkvProjections(
        projections.layers[layers], projections.q[layers], projections.k[layers], projections.v[layers]
    )


def build_view_fragment(
    trace: Trace, page: str, kind: str | None, layer: int | None, head: int | None
) -> str:
    """Return the URL fragment of a page at a kind, layer and head that the model has."""
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
    values = {"kind": kind, "layer": layer, "head": head}
    query = urlencode({name: value for name, value in values.items() if value is not None})
    return f"#/{page}?{query}" if query else f"#/{page}"


def default_layer(trace: Trace, kind: str) -> int:
    """Return the layer shown first, from 1: the alignment layer of cross-attention, else the last."""
    if kind not in trace.attention:
        has = ", ".join(trace.attention)
        raise DataError(f"this model has no {kind} attention; it has {has}")
    layers = len(trace.attention[kind])
    return pick_alignment_layer(layers) + 1 if kind == "cross" else layers


def _layer_of_view(trace: Trace, view: str) -> int:
    """Return the layer in the fragment, or the default of its kind of attention."""
    if layer := re.search(r"[?&]layer=(\d{1,4})(?!\d)", view):
        return int(layer[1])
    kinds = [kind for kind in ATTENTION_KINDS if re.search(rf"[?&]kind={kind}(?![a-z])", view)]
    return default_layer(trace, kinds[0] if kinds else default_attention_kind(trace))


def default_attention_kind(trace: Trace) -> AttentionKind:
    """Return the kind of attention shown first: cross, or the only one there is."""
    return "cross" if "cross" in trace.attention else "encoder"


def _build_page() -> str:
    """Return the page without a trace, with styles and modules inlined."""
    assets = page_assets()
    modules = [
        (name, file)
        for name, file in walk_files(assets / "js")
        if name.endswith(".js") and not name.startswith(SERVER_ONLY_MODULES)
    ]
    imports = {"imports": {f"regard/{name}": _module_url(file.read_text("utf-8")) for name, file in modules}}
    packed = base64.b64encode(gzip.compress(_escaped_json(imports).encode(), mtime=0)).decode()
    embedded = f'<script type="text/plain" id="regard-modules">{packed}</script>\n'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{OFFLINE_POLICY}">'
    page = (assets / "index.html").read_text("utf-8")
    page = re.sub(r"(<head>)", lambda match: f"{match[1]}\n{policy}", page, count=1)
    page = STYLESHEET_LINK.sub(
        lambda match: f"<style>\n{(assets / match[1]).read_text('utf-8')}</style>", page
    )
    page = ENTRY_SCRIPT.sub(
        lambda match: f"{TRACE_PLACEHOLDER}\n{embedded}{LOADER_SCRIPT.format(first=match[1])}", page
    )
    return IMPORT_MAP.sub("", page)


def page_assets() -> Traversable:
    """Return the folder of the page's HTML, CSS and JavaScript."""
    return files("regard") / "assets"


def _module_url(source: str) -> str:
    return f"data:text/javascript,{quote(source)}"


def _json_script(name: str, data: Mapping[str, Any]) -> str:
    return f'<script type="application/json" id="{name}">{_escaped_json(data)}</script>'


def _text_script(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{text.replace("<", "")}</script>'


def _escaped_json(data: Mapping[str, Any]) -> str:
    """Return JSON without "<", so that no text in it can open or close a tag."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")

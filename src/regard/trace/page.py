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

from regard.errors import DataError, require
from regard.inference.alignment import alignment_layer
from regard.trace.interventions import KINDS, Kind, refuse_uncounted
from regard.trace.trace import Projections, Trace

MOST = 8_000_000
"""Bytes of JSON up to which queries, keys and values of all layers are kept."""


def fitted(trace: Trace, layer: int, most: int = MOST) -> Trace:
    """The same trace, or the same with queries, keys and values of that layer alone (counted from 1)."""
    if trace.qkv is None or len(trace.dumps()) <= most:
        return trace
    kept = {kind: _only(each, layer) for kind, each in trace.qkv.items()}
    left_out = tuple(f"qkv.{kind}" for kind, each in trace.qkv.items() if each.layers != kept[kind].layers)
    return replace(trace, qkv=kept, omitted=(*trace.omitted, *left_out))


def _only(each: Projections, layer: int) -> Projections:
    at = slice(layer - 1, layer) if layer in each.layers else slice(0, 0)
    return Projections(each.layers[at], each.q[at], each.k[at], each.v[at])


PAGES = ("translate", "attention", "steps", "search", "model", "positions", "training")
MOST_IN_NOTEBOOK = 5_000_000
"""Bytes up to which a document has all queries, keys and values; a notebook keeps every one it shows."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
LIVE = "live/"
"""Modules that are of use only where a model can be asked."""
STYLE = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)"\s*/?>')
IMPORT_MAP = re.compile(r'<script type="importmap">.*?</script>\n?', re.DOTALL)
MODULE = re.compile(r'<script type="module">import "([^"]+)";</script>')
START = """<script>
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
class Frame:
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


def document(trace: Trace, view: str = "#/attention", most: int = MOST) -> str:
    """The page with the trace in it; `view` is what it opens with, such as #/attention?layer=5."""
    if trace.qkv is None:
        trace = replace(trace, omitted=(*trace.omitted, "qkv"))
    page = _page()
    said = fitted(trace, _layer(trace, view), most - len(page)).to_json()
    return page.replace(PLACE, f"{_data('regard-trace', said)}\n{_text('regard-view', view)}", 1)


def frame(trace: Trace, view: str, height: int) -> Frame:
    """The same for a notebook."""
    return Frame(document(trace, view, MOST_IN_NOTEBOOK), f"Inside “{trace.source.text}”", height)


def opening(trace: Trace, page: str, kind: str | None, layer: int | None, head: int | None) -> str:
    """The view of a page at a place that the model has, as it stands in an address."""
    require(page in PAGES, "page", page, f"it must be one of {', '.join(PAGES)}")
    require(kind is None or kind in KINDS, "kind", kind, f"it must be one of {', '.join(KINDS)}")
    kind = first_kind(trace) if kind is None and "cross" not in trace.attention else kind
    if layer is not None:
        refuse_uncounted("layer", layer, len(trace.attention[kind or "cross"]))
    if head is not None:
        refuse_uncounted("head", head, trace.model.heads)
    given = {"kind": kind, "layer": layer, "head": head}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    return f"#/{page}?{query}" if query else f"#/{page}"


def first_layer(trace: Trace, kind: str) -> int:
    """The layer that is shown first, counted from 1: the one that aligns words, else the last."""
    if kind not in trace.attention:
        has = ", ".join(trace.attention)
        raise DataError(f"this model has no {kind} attention; it has {has}")
    layers = len(trace.attention[kind])
    return alignment_layer(layers) + 1 if kind == "cross" else layers


def _layer(trace: Trace, view: str) -> int:
    """The one that a view opens with: the page's own choice, unless it is told."""
    given = re.search(r"[?&]layer=(\d{1,4})(?!\d)", view)
    kinds = [kind for kind in KINDS if re.search(rf"[?&]kind={kind}(?![a-z])", view)]
    return int(given[1]) if given else first_layer(trace, kinds[0] if kinds else first_kind(trace))


def first_kind(trace: Trace) -> Kind:
    """The kind of attention that is shown first: across, or the one there is."""
    return "cross" if "cross" in trace.attention else "encoder"


PLACE = "<!-- what the page shows -->"
"""Before the script that starts it: a browser runs that as soon as it has read it, and no further."""


def _page() -> str:
    """The page without its trace: style, modules and all."""
    static = front_end()
    modules = [
        (name, file)
        for name, file in files_below(static / "js")
        if name.endswith(".js") and not name.startswith(LIVE)
    ]
    imports = {"imports": {f"regard/{name}": _url(file.read_text("utf-8")) for name, file in modules}}
    packed = base64.b64encode(gzip.compress(_json(imports).encode(), mtime=0)).decode()
    carried = f'<script type="text/plain" id="regard-modules">{packed}</script>\n'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page = (static / "index.html").read_text("utf-8")
    page = re.sub(r"(<head>)", lambda found: f"{found[1]}\n{policy}", page, count=1)
    page = STYLE.sub(lambda found: f"<style>\n{(static / found[1]).read_text('utf-8')}</style>", page)
    page = MODULE.sub(lambda found: f"{PLACE}\n{carried}{START.format(first=found[1])}", page)
    return IMPORT_MAP.sub("", page)


def front_end() -> Traversable:
    """The folder of the page's own files."""
    return files("regard") / "assets"


def files_below(folder: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    """Every file in a folder of the package and below, by its path from there."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from files_below(entry, f"{before}{entry.name}/")
        else:
            yield f"{before}{entry.name}", entry


def _url(source: str) -> str:
    return f"data:text/javascript,{quote(source)}"


def _data(name: str, said: Mapping[str, Any]) -> str:
    return f'<script type="application/json" id="{name}">{_json(said)}</script>'


def _text(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{text.replace("<", "")}</script>'


def _json(said: Mapping[str, Any]) -> str:
    """No tag can begin in it, whatever a sentence says."""
    text = json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")

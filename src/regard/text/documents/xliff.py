"""XLIFF 1.2 and 2: each source gets a target."""

from collections.abc import Iterator

from regard.errors import DataError
from regard.text.documents.template import Span, Template, cut
from regard.text.documents.units import Units
from regard.text.documents.xml_tree import Element, check_xml, named, read_elements

UNITS = ("trans-unit", "segment")
KEPT = ("xliff", "file", "group", "unit", *UNITS, "alt-trans", "matches", "source", "seg-source", "target")
UNTRANSLATED = ("new", "needs-translation", "initial")
"""States of a target whose text is no translation yet: some tools put the source there."""


def read_xliff(text: str, name: str, overwrite: bool) -> Template:
    """Targets that are missing, empty or not translated yet; with `overwrite`, all."""
    check_xml(text, name)
    roots = list(read_elements(text, KEPT, ("source", "seg-source", "target")))
    if [root.name for root in roots] != ["xliff"]:
        raise DataError(f"{name} is XML, but not XLIFF; its outermost element must be <xliff>")
    units = Units(text)
    spans = (_span(units, unit, overwrite) for unit in _units(roots[0]))
    return cut(text, [span for span in spans if span is not None])


def _units(root: Element) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.name in UNITS:
            yield element
        elif element.name not in ("alt-trans", "matches"):
            waiting += reversed(element.children)


def _span(units: Units, unit: Element, overwrite: bool) -> Span | None:
    source, target = unit.child("source"), unit.child("target")
    if source is None or unit.inherited("translate") == "no":
        return None
    if target is not None:
        state = target.attributes.get("state") or unit.attributes.get("state")
        if overwrite or not units.has_text(target) or state in UNTRANSLATED:
            return units.into(_cut_as(target, source, unit.child("seg-source"), units), target)
        return None
    tag = named(source, "target")
    return units.after(source, unit.child("seg-source") or source, f"<{tag}>", f"</{tag}>")


def _cut_as(target: Element, source: Element, cut_source: Element | None, units: Units) -> Element:
    """The source with the marks of its sentences where the target has such marks already."""
    marked = any(part.name.rpartition(":")[2] == "mrk" for part in target.content)
    return cut_source if marked and cut_source and units.same_text(source, cut_source) else source

"""TMX: a unit that has the source's language and not the other gets it."""

import re
from collections.abc import Callable, Iterator

from regard.documents.template import SlotSpan, Template, build_template
from regard.documents.xml_tree import XmlElement, check_xml, line_indent, parse_elements, prefixed_name
from regard.documents.xml_units import XmlSlotBuilder
from regard.errors import DataError

LANGUAGE_TAG = re.compile("[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")
SUBTAG_SEPARATOR = re.compile("[-_]")
TMX_ELEMENTS = ("tmx", "header", "tu", "tuv", "seg")


def read_tmx(text: str, name: str, overwrite: bool, language: str | None) -> Template:
    """Variants in `language` (by default: the only one beside the source's) that are missing or empty."""
    if language is not None and not LANGUAGE_TAG.fullmatch(language):
        raise DataError(f"{language!r} is not the name of a language; write it as in fr or pt-BR")
    check_xml(text, name)
    roots = list(parse_elements(text, TMX_ELEMENTS, ("seg",)))
    if [root.name for root in roots] != ["tmx"]:
        raise DataError(f"{name} is XML, but not TMX; its outermost element must be <tmx>")
    header = roots[0].child("header")
    default = header.attributes.get("srclang", "*all*") if header else "*all*"
    entries = [child for child in roots[0].children if child.name == "tu"]
    sources = _source_variants(entries, default, name)
    language = language or _target_language(entries, sources, name)
    units = XmlSlotBuilder(text)
    spans = (
        _tmx_span(text, units, entry, source, language, overwrite)
        for entry, source in zip(entries, sources, strict=True)
    )
    return build_template(text, [span for span in spans if span is not None])


def _tmx_span(
    text: str,
    units: XmlSlotBuilder,
    entry: XmlElement,
    source: XmlElement | None,
    language: str,
    overwrite: bool,
) -> SlotSpan | None:
    segment = source and source.child("seg")
    if source is None or segment is None:
        return None
    others = [
        child
        for child in entry.children
        if child is not source and _language_matches(_language(child), language)
    ]
    if others:
        target = others[0].child("seg")
        if target is None or (units.has_text(target) and not overwrite):
            return None
        return units.replace_content(segment, target)
    attribute = "lang" if "xml:lang" not in text[source.tag.start : source.tag.end] else "xml:lang"
    variant, seg = prefixed_name(source, "tuv"), prefixed_name(segment, "seg")
    inner, outer = line_indent(text, segment.tag.start), line_indent(text, source.tag.start)
    before = f'<{variant} {attribute}="{language}">{inner}<{seg}>'
    return units.insert_after(segment, source, before, f"</{seg}>{outer if inner else ''}</{variant}>")


def _source_variants(entries: list[XmlElement], default: str, name: str) -> list[XmlElement | None]:
    """The variant of each unit that is the source. Where no unit has the very language that is declared,
    a language that differs in the country only is taken for it: tools write en-GB above units in en-US."""
    for fits in (_language_matches, _same_base_language):
        found = [_source_variant(entry, default, fits) for entry in entries]
        if any(source is not None for source in found):
            return found
    if any(entry.children for entry in entries):
        languages = {_language(child) for entry in entries for child in entry.children} - {""}
        wanted = {entry.attributes.get("srclang", default) for entry in entries}
        raise DataError(
            f"{name} has no text in {' or '.join(sorted(wanted))}, which it says is the source's language "
            f"(srclang); it has {', '.join(sorted(languages)) or 'texts that name no language'}"
        )
    return [None] * len(entries)


def _source_variant(entry: XmlElement, default: str, fits: Callable[[str, str], bool]) -> XmlElement | None:
    wanted = entry.attributes.get("srclang", default)
    variants = [child for child in entry.children if child.name == "tuv"]
    if wanted == "*all*":
        return variants[0] if variants else None
    return next((child for child in variants if fits(_language(child), wanted)), None)


def _target_language(entries: list[XmlElement], sources: list[XmlElement | None], name: str) -> str:
    found = {
        _language(child)
        for entry, source in zip(entries, sources, strict=True)
        for child in entry.children
        if child is not source
    }
    if len(found) != 1:
        what = "no language" if not found else f"the languages {', '.join(sorted(found))}"
        raise DataError(f"{name} has {what} beside the source's; say which language the translations are in")
    return found.pop()


def _language(variant: XmlElement) -> str:
    return variant.attributes.get("lang", "")


def _language_matches(language: str, wanted: str) -> bool:
    """en fits en-GB, in any case."""
    language, wanted = language.lower(), wanted.lower()
    return language == wanted or language.startswith(f"{wanted}-") or wanted.startswith(f"{language}-")


def _same_base_language(language: str, wanted: str) -> bool:
    """en-US is akin to en-GB."""
    return SUBTAG_SEPARATOR.split(language.lower())[0] == SUBTAG_SEPARATOR.split(wanted.lower())[0]


SEGMENT_ELEMENTS = ("trans-unit", "segment")
XLIFF_ELEMENTS = (
    "xliff",
    "file",
    "group",
    "unit",
    *SEGMENT_ELEMENTS,
    "alt-trans",
    "matches",
    "source",
    "seg-source",
    "target",
)
UNTRANSLATED_STATES = ("new", "needs-translation", "initial")
"""States of a target whose text is no translation yet: some tools put the source there."""


def read_xliff(text: str, name: str, overwrite: bool) -> Template:
    """Targets that are missing, empty or not translated yet; with `overwrite`, all."""
    check_xml(text, name)
    roots = list(parse_elements(text, XLIFF_ELEMENTS, ("source", "seg-source", "target")))
    if [root.name for root in roots] != ["xliff"]:
        raise DataError(f"{name} is XML, but not XLIFF; its outermost element must be <xliff>")
    units = XmlSlotBuilder(text)
    spans = (_xliff_span(units, unit, overwrite) for unit in _segment_elements(roots[0]))
    return build_template(text, [span for span in spans if span is not None])


def _segment_elements(root: XmlElement) -> Iterator[XmlElement]:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.name in SEGMENT_ELEMENTS:
            yield element
        elif element.name not in ("alt-trans", "matches"):
            waiting += reversed(element.children)


def _xliff_span(units: XmlSlotBuilder, unit: XmlElement, overwrite: bool) -> SlotSpan | None:
    source, target = unit.child("source"), unit.child("target")
    if source is None or unit.inherited_attribute("translate") == "no":
        return None
    if target is not None:
        state = target.attributes.get("state") or unit.attributes.get("state")
        if overwrite or not units.has_text(target) or state in UNTRANSLATED_STATES:
            return units.replace_content(
                _source_segmented_like(target, source, unit.child("seg-source"), units), target
            )
        return None
    tag = prefixed_name(source, "target")
    return units.insert_after(source, unit.child("seg-source") or source, f"<{tag}>", f"</{tag}>")


def _source_segmented_like(
    target: XmlElement, source: XmlElement, cut_source: XmlElement | None, units: XmlSlotBuilder
) -> XmlElement:
    """The source with the marks of its sentences where the target has such marks already."""
    marked = any(part.name.rpartition(":")[2] == "mrk" for part in target.content)
    return cut_source if marked and cut_source and units.has_same_text(source, cut_source) else source

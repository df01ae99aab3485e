"""TMX: a unit that has the source's language and not the other gets it."""

import re

from regard.errors import DataError
from regard.text.documents.template import Span, Template, cut
from regard.text.documents.units import Units
from regard.text.documents.xml_tree import Element, check_xml, indent, named, read_elements

LANGUAGE = re.compile("[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")
KEPT = ("tmx", "header", "tu", "tuv", "seg")


def read_tmx(text: str, name: str, overwrite: bool, language: str | None) -> Template:
    """Variants in `language` (by default: the only one beside the source's) that are missing or empty."""
    if language is not None and not LANGUAGE.fullmatch(language):
        raise DataError(f"{language!r} is not the name of a language; write it as in fr or pt-BR")
    check_xml(text, name)
    roots = list(read_elements(text, KEPT, ("seg",)))
    if [root.name for root in roots] != ["tmx"]:
        raise DataError(f"{name} is XML, but not TMX; its outermost element must be <tmx>")
    header = roots[0].child("header")
    default = header.attributes.get("srclang", "*all*") if header else "*all*"
    entries = [child for child in roots[0].children if child.name == "tu"]
    language = language or _other_language(entries, default, name)
    units = Units(text)
    spans = (_span(text, units, entry, default, language, overwrite) for entry in entries)
    return cut(text, [span for span in spans if span is not None])


def _span(
    text: str, units: Units, entry: Element, default: str, language: str, overwrite: bool
) -> Span | None:
    source = _source(entry, default)
    segment = source and source.child("seg")
    if source is None or segment is None:
        return None
    others = [child for child in entry.children if child is not source and _fits(_language(child), language)]
    if others:
        target = others[0].child("seg")
        if target is None or (units.has_text(target) and not overwrite):
            return None
        return units.into(segment, target)
    attribute = "lang" if "xml:lang" not in text[source.tag.start : source.tag.end] else "xml:lang"
    variant, seg = named(source, "tuv"), named(segment, "seg")
    inner, outer = indent(text, segment.tag.start), indent(text, source.tag.start)
    before = f'<{variant} {attribute}="{language}">{inner}<{seg}>'
    return units.after(segment, source, before, f"</{seg}>{outer if inner else ''}</{variant}>")


def _source(entry: Element, default: str) -> Element | None:
    wanted = entry.attributes.get("srclang", default)
    variants = [child for child in entry.children if child.name == "tuv"]
    if wanted == "*all*":
        return variants[0] if variants else None
    return next((child for child in variants if _fits(_language(child), wanted)), None)


def _other_language(entries: list[Element], default: str, name: str) -> str:
    found = {
        _language(child)
        for entry in entries
        for child in entry.children
        if child is not _source(entry, default)
    }
    if len(found) != 1:
        what = "no language" if not found else f"the languages {', '.join(sorted(found))}"
        raise DataError(f"{name} has {what} beside the source's; say which language the translations are in")
    return found.pop()


def _language(variant: Element) -> str:
    return variant.attributes.get("lang", "")


def _fits(language: str, wanted: str) -> bool:
    """en fits en-GB, in any case."""
    language, wanted = language.lower(), wanted.lower()
    return language == wanted or language.startswith(f"{wanted}-") or wanted.startswith(f"{language}-")

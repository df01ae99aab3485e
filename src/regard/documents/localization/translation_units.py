"""TMX and XLIFF readers: fill in the missing targets of translation slots."""

import re
from collections.abc import Callable, Iterator

from regard.documents.localization.xml_tree import (
    XmlElement,
    check_xml,
    line_indent,
    parse_document,
    parse_elements,
    prefixed_name,
)
from regard.documents.localization.xml_units import XmlSlotBuilder
from regard.documents.template import ReviewMark, Slot, SlotSpan, Template, build_template
from regard.documents.web.html_tokens import set_attribute
from regard.errors import DataError
from regard.text.pair_formats.xliff_pairs import GUESSED_SUBSTATE, UNTRANSLATED_STATES

SUBTAG_SEPARATOR = re.compile("[-_]")
TMX_ELEMENTS = ("header", "tu", "tuv", "seg")


def read_tmx(text: str, name: str, overwrite: bool, language: str | None) -> Template:
    """Return the template of the missing or empty variants in `language`; with `overwrite`, of all.

    The default language is the only one besides the source language.
    """
    root = parse_document(text, name, "tmx", "TMX", TMX_ELEMENTS, ("seg",))
    header = root.child("header")
    default = header.attributes.get("srclang", "*all*") if header else "*all*"
    entries = [child for child in root.children if child.name == "tu"]
    sources = _source_variants(entries, default, name)
    language = language or _target_language(entries, sources, name)
    slots = XmlSlotBuilder(text)
    spans = (
        _tmx_span(text, slots, entry, source, language, overwrite)
        for entry, source in zip(entries, sources, strict=True)
    )
    return build_template(text, [span for span in spans if span is not None])


def _tmx_span(
    text: str,
    slots: XmlSlotBuilder,
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
        if target is None or (slots.has_text(target) and not overwrite):
            return None
        return slots.replace_content(segment, target)
    attribute = "lang" if "xml:lang" not in text[source.tag.start : source.tag.end] else "xml:lang"
    variant, seg = prefixed_name(source, "tuv"), prefixed_name(segment, "seg")
    inner, outer = line_indent(text, segment.tag.start), line_indent(text, source.tag.start)
    before = f'<{variant} {attribute}="{language}">{inner}<{seg}>'
    return slots.insert_after(segment, source, before, f"</{seg}>{outer if inner else ''}</{variant}>")


def _source_variants(entries: list[XmlElement], default: str, name: str) -> list[XmlElement | None]:
    """Return the source variant of each unit.

    If no unit has exactly the declared source language, one that differs only in the country is accepted:
    tools write en-GB in the header of slots in en-US.
    """
    for matches in (_language_matches, _same_base_language):
        sources = [_source_variant(entry, default, matches) for entry in entries]
        if any(source is not None for source in sources):
            return sources
    if any(entry.children for entry in entries):
        languages = {_language(child) for entry in entries for child in entry.children} - {""}
        declared = {entry.attributes.get("srclang", default) for entry in entries}
        raise DataError(
            f"{name} has no text in its declared source language (srclang), {' or '.join(sorted(declared))}; "
            f"it has {', '.join(sorted(languages)) or 'texts without a language'}"
        )
    return [None] * len(entries)


def _source_variant(
    entry: XmlElement, default: str, matches: Callable[[str, str], bool]
) -> XmlElement | None:
    declared = entry.attributes.get("srclang", default)
    variants = [child for child in entry.children if child.name == "tuv"]
    if declared == "*all*":
        return variants[0] if variants else None
    return next((child for child in variants if matches(_language(child), declared)), None)


def _target_language(entries: list[XmlElement], sources: list[XmlElement | None], name: str) -> str:
    languages = {
        _language(child)
        for entry, source in zip(entries, sources, strict=True)
        for child in entry.children
        if child is not source
    }
    if len(languages) != 1:
        others = "no language" if not languages else f"the languages {', '.join(sorted(languages))}"
        raise DataError(f"{name} has {others} besides the source's; choose one with --target-language")
    return languages.pop()


def _language(variant: XmlElement) -> str:
    return variant.attributes.get("lang", "")


def _language_matches(language: str, other: str) -> bool:
    """Whether two codes are equal or one extends the other: en matches en-GB, in any case."""
    language, other = language.lower(), other.lower()
    return language == other or language.startswith(f"{other}-") or other.startswith(f"{language}-")


def _same_base_language(language: str, other: str) -> bool:
    """Whether two codes share the base language: en-US and en-GB."""
    return SUBTAG_SEPARATOR.split(language.lower())[0] == SUBTAG_SEPARATOR.split(other.lower())[0]


SEGMENT_ELEMENTS = ("trans-unit", "segment")
XLIFF_ELEMENTS = (
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


def read_xliff(text: str, name: str, overwrite: bool, language: str | None = None) -> Template:
    """Return the template of targets that are missing, empty or untranslated; with `overwrite`, of all.

    The target language is declared as `language` where no other is.
    """
    leaves = ("source", "seg-source", "target")
    if language is not None:
        check_xml(text, name)
        text = _declare_target_language(text, name, language)
    root = parse_document(text, name, "xliff", "XLIFF", XLIFF_ELEMENTS, leaves)
    slots = XmlSlotBuilder(text)
    spans: list[SlotSpan] = []
    for unit in _translated_units(root):
        if (span := _xliff_span(slots, unit, overwrite)) is not None:
            spans += [*_segment_mark(text, unit, span.slot), span]
    return build_template(text, spans)


def _declare_target_language(text: str, name: str, language: str) -> str:
    """Return the document with a target language: of each file in XLIFF 1.2, of the whole in XLIFF 2."""
    written: list[str] = []
    done = 0
    for root in parse_elements(text, ("xliff", "file"), ()):
        is_2 = root.attributes.get("version", "").startswith("2")
        attribute = "trgLang" if is_2 else "target-language"
        for element in [root] if is_2 else root.children:
            declared = element.attributes.get(attribute.lower())
            if declared and not _language_matches(declared, language):
                raise DataError(
                    f"{name} is for translations into {declared}, not {language}; leave out "
                    f"--target-language, or change {attribute}"
                )
            if not declared:
                tag = text[element.tag.start : element.tag.end]
                written += [text[done : element.tag.start], set_attribute(tag, attribute, language)]
                done = element.tag.end
    return "".join([*written, text[done:]])


def _segment_mark(text: str, unit: XmlElement, slot: Slot | ReviewMark) -> Iterator[SlotSpan]:
    """Yield the mark of a segment of XLIFF 2, whose state covers source and target."""
    if unit.name == "segment" and isinstance(slot, Slot):
        tag = text[unit.tag.start : unit.tag.end]
        marked = set_attribute(set_attribute(tag, "state", "initial"), "subState", GUESSED_SUBSTATE)
        yield SlotSpan(unit.tag.start, unit.tag.end, ReviewMark((slot,), marked, tag))


def _translated_units(root: XmlElement) -> Iterator[XmlElement]:
    """Yield the units in order, except those that inherit translate="no"."""
    pending = [(root, "yes")]
    while pending:
        element, translate = pending.pop()
        translate = element.attributes.get("translate", translate)
        if element.name not in SEGMENT_ELEMENTS:
            children = () if element.name in ("alt-trans", "matches") else reversed(element.children)
            pending += [(child, translate) for child in children]
        elif translate != "no":
            yield element


def _xliff_span(slots: XmlSlotBuilder, unit: XmlElement, overwrite: bool) -> SlotSpan | None:
    source, target = unit.child("source"), unit.child("target")
    if source is None:
        return None
    mark = _mark_target if unit.name == "trans-unit" else str
    if target is not None:
        state = target.attributes.get("state") or unit.attributes.get("state")
        untranslated = state in UNTRANSLATED_STATES and unit.attributes.get("substate") != GUESSED_SUBSTATE
        if overwrite or not slots.has_text(target) or untranslated:
            source = _source_segmented_like(target, source, unit.child("seg-source"), slots)
            return slots.replace_content(source, target, mark)
        return None
    tag = prefixed_name(source, "target")
    return slots.insert_after(source, unit.child("seg-source") or source, f"<{tag}>", f"</{tag}>", mark)


def _mark_target(tag: str) -> str:
    """Return the start tag of a target of XLIFF 1.2 in which a placeholder was put back by guess."""
    return set_attribute(tag, "state", "needs-review-translation")


def _source_segmented_like(
    target: XmlElement, source: XmlElement, segmented: XmlElement | None, slots: XmlSlotBuilder
) -> XmlElement:
    """Return the source with sentence marks if the target has such marks, else the plain source."""
    has_marks = any(token.name.rpartition(":")[2] == "mrk" for token in target.content)
    return segmented if has_marks and segmented and slots.has_same_text(source, segmented) else source

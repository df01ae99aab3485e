"""DeepL's `/v2/translate`, `/v2/languages` and `/v2/usage`."""

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.documents.segments import INLINE_TAG
from regard.documents.web.tagged_text import XmlTags
from regard.server.surfaces.deepl.glossaries import find_terms, owner_name
from regard.server.surfaces.deepl.language_routes import (
    base_code,
    resolve_language,
    source_languages,
    target_languages,
)
from regard.server.surfaces.deepl.request_values import (
    invalid_value,
    optional_text,
    read_boolean,
    read_choice,
    read_deepl_key,
    read_names,
    read_values,
    required_text,
)
from regard.server.surfaces.surface import SurfaceContext, admit_request
from regard.server.translation.requests import AUTO_LANGUAGE, SegmentMode, TextRequest
from regard.server.web.application import RouteTable
from regard.server.web.responses import RequestError, json_response

UNLIMITED = 10**12
"""The character limit that DeepL names where there is none."""
FORMALITIES = ("default", "prefer_more", "prefer_less", "more", "less")
MODEL_TYPES = ("quality_optimized", "latency_optimized", "prefer_quality_optimized")
LINE_BREAK_IN_PARAGRAPH = re.compile(r"(?<!\n)\r?\n(?!\r?\n)[ \t]*")


def text_routes(context: SurfaceContext) -> RouteTable:
    """Return the routes for texts, languages and usage."""
    surface = TextSurface(context)
    return {
        "/v2/translate": {"POST": surface.translate, "GET": surface.translate},  # deep-translator sends GET
        "/v2/languages": {"GET": surface.languages, "POST": surface.languages},
        "/v2/usage": {"GET": surface.usage, "POST": surface.usage},
    }


class TextSurface:
    """Handlers of the routes for texts, languages and usage."""

    def __init__(self, context: SurfaceContext) -> None:
        self._context = context

    async def translate(self, request: Request) -> Response:
        """Translate one or more texts."""
        values = await read_values(request)
        texts = read_deepl_texts(values)
        text_request = self._to_text_request(values, texts)
        model_type = read_choice(values, "model_type", MODEL_TYPES, "").removeprefix("prefer_")
        client = await admit_request(self._context, request, read_deepl_key(request, values), texts)
        text_request = replace(
            text_request, client=client, glossary=await self._find_terms(values, text_request, client)
        )
        results = await self._context.service.translate(text_request)
        used = {"model_type_used": model_type} if model_type else {}
        return json_response(
            {
                "translations": [
                    {
                        "detected_source_language": base_code(each.source_language),
                        "text": each.text,
                        "billed_characters": len(text),
                        **used,
                    }
                    for text, each in zip(texts, results, strict=True)
                ]
            }
        )

    async def languages(self, request: Request) -> Response:
        """Return the source languages, or the targets with `type=target`."""
        values = await read_values(request)
        await self._context.access.usage(read_deepl_key(request, values))
        kind = read_choice(values, "type", ("source", "target"), "source")
        find = source_languages if kind == "source" else target_languages
        return json_response(find(self._context.service))

    async def usage(self, request: Request) -> Response:
        """Return the characters that the key has used and may use."""
        usage = await self._context.access.usage(read_deepl_key(request, await read_values(request)))
        limit = UNLIMITED if usage.limit is None else usage.limit
        return json_response({"character_count": usage.characters, "character_limit": limit})

    async def _find_terms(
        self, values: Mapping[str, Any], request: TextRequest, client: str
    ) -> tuple[tuple[str, str], ...]:
        """Return the glossary entries for the texts of a request."""
        identity = optional_text(values, "glossary_id")
        if identity is None:
            return ()
        if request.source_language == AUTO_LANGUAGE:
            raise RequestError("missing", "Parameter 'source_lang' not specified; a glossary needs it.")
        texts = request.texts
        if request.format != "text":
            texts = tuple(html.unescape(INLINE_TAG.sub("", text)) for text in texts)
        languages = (request.source_language, request.target_language)
        owner = owner_name(self._context, client)
        return await find_terms(self._context.glossaries, owner, identity, languages, texts)

    def _to_text_request(self, values: Mapping[str, Any], texts: tuple[str, ...]) -> TextRequest:
        service = self._context.service
        target = resolve_language(required_text(values, "target_lang"), "target_lang", service)
        source_code = optional_text(values, "source_lang")
        source = (
            AUTO_LANGUAGE if source_code is None else resolve_language(source_code, "source_lang", service)
        )
        check_formality(values, target)
        tag_handling = read_choice(values, "tag_handling", ("xml", "html"), "text")
        split = read_choice(values, "split_sentences", ("0", "1", "nonewlines"), "1")
        if split == "nonewlines" and tag_handling == "text":
            texts = tuple(LINE_BREAK_IN_PARAGRAPH.sub(" ", text) for text in texts)
        mode: SegmentMode = "lines" if split == "0" else "sentences"
        return TextRequest(
            texts,
            target,
            source,
            format="html" if tag_handling == "html" else "xml" if tag_handling == "xml" else "text",
            segments=mode,
            xml_tags=read_xml_tags(values, tag_handling),
        )


def read_deepl_texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of a request."""
    texts = values.get("text")
    if texts is None or texts == []:
        raise RequestError("missing", "Parameter 'text' not specified.")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise invalid_value("text", "it must be a list of strings")
    return tuple(texts)


def check_formality(values: Mapping[str, Any], target: str) -> None:
    """Reject a formality that must be kept: the models know none."""
    formality = read_choice(values, "formality", FORMALITIES, "default")
    if formality in ("more", "less"):
        message = f"'formality' is not supported for given 'target_lang' {target.upper()}"
        raise RequestError("bad_value", f"{message}: no target language has it here")


def read_xml_tags(values: Mapping[str, Any], tag_handling: str) -> XmlTags:
    """Return what is done about tags."""
    tags = XmlTags(
        read_names(values, "ignore_tags"),
        read_names(values, "splitting_tags"),
        read_names(values, "non_splitting_tags"),
        read_boolean(values, "outline_detection", default=True),
    )
    if tag_handling == "html" and tags.ignored:
        raise invalid_value("ignore_tags", 'it is for "tag_handling": "xml"; HTML has translate="no"')
    return tags

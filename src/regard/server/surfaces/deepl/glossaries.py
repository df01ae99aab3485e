"""DeepL's glossaries: version 2 has one dictionary each, version 3 several."""

import asyncio
import csv
import io
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from regard.server.surfaces.deepl.language_routes import base_code, glossary_pairs
from regard.server.surfaces.deepl.request_values import (
    QUOTA_EXCEEDED,
    invalid_value,
    read_choice,
    read_deepl_key,
    read_values,
    required_text,
)
from regard.server.surfaces.surface import SurfaceContext, admit_request
from regard.server.translation.glossary_store import (
    GlossaryLimitError,
    GlossaryStore,
    NoGlossaryError,
    Pair,
    StoredGlossary,
    format_entries,
)
from regard.server.translation.requests import TranslationService
from regard.server.web.application import Handler, RouteTable
from regard.server.web.responses import RequestError, bytes_response, json_response

TSV_TYPE = "text/tab-separated-values; charset=utf-8"
MAX_TERM_CHARACTERS = 1000
LINE_SEPARATORS = "\u2028\u2029"


class Dictionary(NamedTuple):
    """The checked entries of a pair of languages."""

    pair: Pair
    entries: dict[str, str]


def glossary_routes(context: SurfaceContext) -> RouteTable:
    """Return the routes of glossaries."""
    surface = GlossarySurface(context)
    routes = {
        "/v2/glossary-language-pairs": {"GET": surface.language_pairs},
        "/v2/glossaries": {"GET": surface.list_monolingual, "POST": surface.create_monolingual},
        "/v2/glossaries/{id}": {"GET": surface.get_monolingual, "DELETE": surface.delete},
        "/v2/glossaries/{id}/entries": {"GET": surface.monolingual_entries},
        "/v3/glossaries": {"GET": surface.list_multilingual, "POST": surface.create},
        "/v3/glossaries/{id}": {"GET": surface.get, "PATCH": surface.change, "DELETE": surface.delete},
        "/v3/glossaries/{id}/entries": {"GET": surface.entries},
        "/v3/glossaries/{id}/dictionaries": {
            "PUT": surface.replace_dictionary,
            "DELETE": surface.delete_dictionary,
        },
    }
    return {
        path: {m: _with_errors(each) for m, each in handlers.items()} for path, handlers in routes.items()
    }


def _with_errors(handler: Handler) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except NoGlossaryError as error:
            raise RequestError("not_found", str(error), HTTPStatus.NOT_FOUND) from None
        except GlossaryLimitError as error:
            raise RequestError("quota", str(error), QUOTA_EXCEEDED) from None

    return answer


class GlossarySurface:
    """Handlers of the routes of glossaries."""

    def __init__(self, context: SurfaceContext) -> None:
        self._context, self._store = context, context.glossaries

    async def language_pairs(self, request: Request) -> Response:
        """Return the pairs that a glossary can be for."""
        await self._admit(request, {})
        pairs = glossary_pairs(self._context.service)
        languages = [{"source_lang": a.lower(), "target_lang": b.lower()} for a, b in pairs]
        return json_response({"supported_languages": languages})

    async def create_monolingual(self, request: Request) -> Response:
        values, owner = await self._read(request)
        name = required_text(values, "name")
        dictionary = read_dictionary(values, self._context.service)
        made = await asyncio.to_thread(self._store.create, owner, name, dict([dictionary]))
        return json_response(monolingual_to_json(made), HTTPStatus.CREATED)

    async def list_monolingual(self, request: Request) -> Response:
        stored = await asyncio.to_thread(self._store.list_all, await self._owner(request))
        found = [monolingual_to_json(each) for each in stored if len(each.dictionaries) == 1]
        return json_response({"glossaries": found})

    async def get_monolingual(self, request: Request) -> Response:
        return json_response(monolingual_to_json(await self._get_monolingual(request)))

    async def monolingual_entries(self, request: Request) -> Response:
        """Return the entries as tab-separated values."""
        glossary = await self._get_monolingual(request)
        (pair,) = glossary.dictionaries
        owner = await self._owner(request)
        entries = await asyncio.to_thread(self._store.entries, owner, glossary.id, pair)
        return bytes_response(format_entries(entries).encode(), TSV_TYPE)

    async def create(self, request: Request) -> Response:
        values, owner = await self._read(request)
        name = required_text(values, "name")
        dictionaries = read_dictionaries(values, self._context.service)
        made = await asyncio.to_thread(self._store.create, owner, name, dict(dictionaries))
        return json_response(glossary_to_json(made), HTTPStatus.CREATED)

    async def list_multilingual(self, request: Request) -> Response:
        stored = await asyncio.to_thread(self._store.list_all, await self._owner(request))
        return json_response({"glossaries": [glossary_to_json(each) for each in stored]})

    async def get(self, request: Request) -> Response:
        owner = await self._owner(request)
        return json_response(glossary_to_json(await self._get(owner, request)))

    async def change(self, request: Request) -> Response:
        """Rename a glossary, add entries to its dictionaries, or both."""
        values, owner = await self._read(request)
        identity = request.path_params["id"]
        name = required_text(values, "name") if "name" in values else None
        dictionaries = read_dictionaries(values, self._context.service) if "dictionaries" in values else []
        if name is not None:
            await asyncio.to_thread(self._store.rename, owner, identity, name)
        for each in dictionaries:
            await asyncio.to_thread(self._store.merge, owner, identity, each.pair, each.entries)
        return json_response(glossary_to_json(await self._get(owner, request)))

    async def delete(self, request: Request) -> Response:
        owner = await self._owner(request)
        await asyncio.to_thread(self._store.delete, owner, request.path_params["id"])
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def entries(self, request: Request) -> Response:
        """Return the entries of a dictionary as tab-separated values in JSON."""
        values, owner = await self._read(request)
        pair = read_pair(values, self._context.service)
        found = await asyncio.to_thread(self._store.entries, owner, request.path_params["id"], pair)
        dictionary = {**pair_to_json(pair), "entries": format_entries(found), "entries_format": "tsv"}
        return json_response({"dictionaries": [dictionary]})

    async def replace_dictionary(self, request: Request) -> Response:
        values, owner = await self._read(request)
        pair, entries = read_dictionary(values, self._context.service)
        await asyncio.to_thread(self._store.replace, owner, request.path_params["id"], pair, entries)
        return json_response({**pair_to_json(pair), "entry_count": len(entries)})

    async def delete_dictionary(self, request: Request) -> Response:
        values, owner = await self._read(request)
        pair = read_pair(values, self._context.service)
        await asyncio.to_thread(self._store.delete_dictionary, owner, request.path_params["id"], pair)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _read(self, request: Request) -> tuple[dict[str, Any], str]:
        values = await read_values(request)
        return values, await self._admit(request, values)

    async def _owner(self, request: Request) -> str:
        return await self._admit(request, {})

    async def _admit(self, request: Request, values: Mapping[str, Any]) -> str:
        client = await admit_request(self._context, request, read_deepl_key(request, values), ())
        return owner_name(self._context, client)

    async def _get(self, owner: str, request: Request) -> StoredGlossary:
        return await asyncio.to_thread(self._store.get, owner, request.path_params["id"])

    async def _get_monolingual(self, request: Request) -> StoredGlossary:
        glossary = await self._get(await self._owner(request), request)
        if len(glossary.dictionaries) != 1:
            raise NoGlossaryError("the glossary has several dictionaries; use /v3/glossaries")
        return glossary


def owner_name(context: SurfaceContext, client: str) -> str:
    """Return whose glossaries a client sees: those of its key, or where there are no keys, everyone's."""
    return client if context.access.has_keys else ""


async def find_terms(
    store: GlossaryStore, owner: str, identity: str, languages: Pair, texts: tuple[str, ...]
) -> tuple[Pair, ...]:
    """Return the entries of a glossary for these texts."""
    pair = (base_code(languages[0]), base_code(languages[1]))
    try:
        return tuple(await asyncio.to_thread(store.find_terms, owner, identity, pair, texts))
    except NoGlossaryError as error:
        raise RequestError("not_found", str(error), HTTPStatus.NOT_FOUND) from None


def read_dictionaries(values: Mapping[str, Any], service: TranslationService) -> list[Dictionary]:
    """Return the dictionaries of a glossary of version 3."""
    items = values.get("dictionaries")
    if not isinstance(items, list) or not items or not all(isinstance(each, dict) for each in items):
        raise invalid_value("dictionaries", "it must be a list of dictionaries")
    found = [read_dictionary(each, service) for each in items]
    if len({each.pair for each in found}) != len(found):
        raise invalid_value("dictionaries", "a pair of languages occurs twice")
    return found


def read_dictionary(values: Mapping[str, Any], service: TranslationService) -> Dictionary:
    """Return the entries and languages of one dictionary."""
    pair = read_pair(values, service)
    entries_format = read_choice(values, "entries_format", ("tsv", "csv"), "tsv")
    return Dictionary(pair, parse_entries(required_text(values, "entries"), entries_format))


def read_pair(values: Mapping[str, Any], service: TranslationService) -> Pair:
    """Return the languages of a dictionary, which a model must translate."""
    pair = (base_code(required_text(values, "source_lang")), base_code(required_text(values, "target_lang")))
    pairs = glossary_pairs(service)
    if pair not in pairs:
        known = ", ".join(f"{a} to {b}" for a, b in pairs[:12])
        raise invalid_value(
            "target_lang", f"no model translates {pair[0]} to {pair[1]}; there are {known}"[:500]
        )
    return pair


def parse_entries(text: str, entries_format: str) -> dict[str, str]:
    """Return the entries of a dictionary; raise for a line that is none."""
    if entries_format == "csv":
        try:
            rows = list(csv.reader(io.StringIO(text, newline="")))
        except csv.Error as error:
            raise invalid_value("entries", f"it is not CSV: {error}") from None
    else:
        rows = [line.removesuffix("\r").split("\t") for line in text.split("\n")]
    entries: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < 2 or (entries_format == "tsv" and len(row) > 2):
            raise _bad_entry(number, "is not a term and its translation")
        source, target = row[0].strip(), row[1].strip()
        for term in (source, target):
            if not term or len(term) > MAX_TERM_CHARACTERS or any(map(_is_forbidden, term)):
                raise _bad_entry(number, "has an empty term, one that is too long, or control characters")
        if source in entries:
            raise _bad_entry(number, "has a term that another has")
        entries[source] = target
    if not entries:
        raise invalid_value("entries", "there is none")
    return entries


def _bad_entry(number: int, problem: str) -> RequestError:
    return invalid_value("entries", f"line {number} {problem}")


def _is_forbidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in LINE_SEPARATORS


def pair_to_json(pair: Pair) -> dict[str, str]:
    return {"source_lang": pair[0].lower(), "target_lang": pair[1].lower()}


def monolingual_to_json(glossary: StoredGlossary) -> dict[str, Any]:
    ((pair, size),) = glossary.dictionaries.items()
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        **pair_to_json(pair),
        "creation_time": _timestamp(glossary.created),
        "entry_count": size,
    }


def glossary_to_json(glossary: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "creation_time": _timestamp(glossary.created),
        "dictionaries": [
            {**pair_to_json(pair), "entry_count": size} for pair, size in glossary.dictionaries.items()
        ],
    }


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

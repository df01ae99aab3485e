"""LibreTranslate's API, so that its clients can use this server unchanged."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from regard.documents.formats import DOCUMENT_FORMATS
from regard.server.operations.access import KeyRequiredError
from regard.server.surfaces.surface import (
    SurfaceContext,
    admit_characters,
    admit_request,
    document_response,
    read_fields,
    read_upload,
    text_field,
    with_error_statuses,
)
from regard.server.translation.document_jobs import DocumentJobs, DocumentRequest, NoDocumentError
from regard.server.translation.language_codes import language_name, match_language
from regard.server.translation.requests import (
    AUTO_LANGUAGE,
    DetectedLanguage,
    TextRequest,
    TextResult,
    TextTooLongError,
    TranslationService,
    UnsupportedLanguageError,
)
from regard.server.web.application import MAX_BODY_BYTES, RouteGroup, RouteTable
from regard.server.web.responses import RequestError, json_response

FORMATS = ("text", "html")
FRONTEND_TIMEOUT = 500
"""Milliseconds that a page waits after a key press before it translates."""
STATUSES = {
    TextTooLongError: HTTPStatus.BAD_REQUEST,
    KeyRequiredError: HTTPStatus.BAD_REQUEST,
}
"""As LibreTranslate answers, where that differs from the other surfaces."""


@dataclass(frozen=True)
class TranslateFields:
    """Checked fields of `/translate`."""

    texts: tuple[str, ...]
    is_list: bool
    source: str
    target: str
    format: str
    alternatives: int


def libretranslate_groups(context: SurfaceContext, allowed_origins: tuple[str, ...] = ()) -> list[RouteGroup]:
    """Return the routes of LibreTranslate's API, those of files with a limit of their own."""
    group = libretranslate_group(context, allowed_origins)
    documents = context.documents
    if documents is None:
        return [group]
    routes = file_routes(context, documents)
    limit = documents.max_bytes + MAX_BODY_BYTES
    files = replace(group, routes=with_error_statuses(routes, STATUSES), max_body_bytes=limit)
    return [group, replace(files, prefix="/download_file/")]


def libretranslate_group(context: SurfaceContext, allowed_origins: tuple[str, ...] = ()) -> RouteGroup:
    """Return the routes of LibreTranslate's API without files."""
    surface = LibreTranslateSurface(context)
    routes = {
        "/translate": {"POST": surface.translate},
        "/detect": {"POST": surface.detect},
        "/languages": {"GET": surface.languages},
        "/frontend/settings": {"GET": surface.frontend_settings},
        "/suggest": {"POST": surface.suggest},
        "/health": {"GET": surface.health},
    }
    return RouteGroup(
        with_error_statuses(routes, STATUSES),
        error_response=libretranslate_error,
        accepts_get_body=True,  # libretranslatepy sends its key so
        allowed_origins=allowed_origins,
    )


def libretranslate_error(error: RequestError) -> Response:
    """Return an error in LibreTranslate's shape."""
    message = str(error)
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        message = f"Slowdown: {message}"
    return json_response({"error": message}, error.status, error.headers)


class LibreTranslateSurface:
    """Handlers of LibreTranslate's routes."""

    def __init__(self, context: SurfaceContext) -> None:
        self._context = context

    async def translate(self, request: Request) -> Response:
        """Translate a text, or a list of texts."""
        values = await read_fields(request)
        fields = read_translate_fields(values)
        key = read_api_key(values)
        client = await admit_request(self._context, request, key, fields.texts)
        try:
            results = await self._context.service.translate(
                TextRequest(
                    fields.texts,
                    fields.target,
                    fields.source,
                    format="html" if fields.format == "html" else "text",
                    alternatives=fields.alternatives,
                    client=client,
                )
            )
        except UnsupportedLanguageError as error:
            raise self._name_language(error) from error
        return json_response(translate_answer(fields, results))

    async def detect(self, request: Request) -> Response:
        """Return the languages that a text may be in."""
        values = await read_fields(request)
        text = text_field(values, "q", missing_field)
        await admit_request(self._context, request, read_api_key(values), (text,))
        return json_response([_detected(each) for each in self._context.service.detect(text)])

    async def languages(self, request: Request) -> Response:  # noqa: ARG002
        """Return all languages; those that are only translated to have themselves as target."""
        served = self._context.service.languages()
        targets = {each.code: list(each.targets) for each in served}
        for each in served:
            for code in each.targets:
                targets.setdefault(code, [code])
        return json_response(
            [
                {"code": code.lower(), "name": language_name(code), "targets": [each.lower() for each in to]}
                for code, to in targets.items()
            ]
        )

    async def frontend_settings(self, request: Request) -> Response:  # noqa: ARG002
        """Return what a page for this server needs to know."""
        served = self._context.service.languages()
        target = next((each.targets[-1] for each in served), "en")
        return json_response(
            {
                "apiKeys": self._context.access.has_keys,
                "charLimit": self._context.limits.text_characters,
                "filesTranslation": self._context.documents is not None,
                "frontendTimeout": FRONTEND_TIMEOUT,
                "keyRequired": self._context.access.key_required,
                "language": {
                    "source": {"code": AUTO_LANGUAGE, "name": "Auto Detect"},
                    "target": {"code": target.lower(), "name": language_name(target)},
                },
                "suggestions": False,
                "supportedFilesFormat": [] if self._context.documents is None else list(DOCUMENT_FORMATS),
            }
        )

    async def suggest(self, request: Request) -> Response:  # noqa: ARG002
        """Refuse a suggested translation: the server keeps no texts."""
        message = "Suggestions are disabled on this server."
        raise RequestError("suggestions", message, HTTPStatus.FORBIDDEN)

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        """Answer whether translations are possible."""
        if self._context.service.ready:
            return json_response({"status": "ok"})
        state = self._context.service.state
        return json_response({"status": state}, HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "2"})

    def _name_language(self, error: UnsupportedLanguageError) -> UnsupportedLanguageError:
        """Return the error with LibreTranslate's message if the language is not served at all."""
        served = {code for pair in error.pairs for code in pair}
        if error.language in served:
            return error
        return UnsupportedLanguageError(f"{error.language} is not supported", error.language, error.pairs)


def read_translate_fields(values: dict[str, Any]) -> TranslateFields:
    """Return the checked fields of `/translate`."""
    q = values.get("q")
    if q is None or q in ("", []):
        raise missing_field("q")
    texts = tuple(q) if isinstance(q, list) else (q,)
    if not all(isinstance(each, str) for each in texts):
        raise RequestError("bad_value", "Invalid request: q must be a string or a list of strings")
    source = text_field(values, "source", missing_field)
    target = text_field(values, "target", missing_field)
    text_format = values.get("format") or "text"
    if text_format not in FORMATS:
        raise RequestError("bad_value", f"{str(text_format)[:40]} format is not supported")
    alternatives = read_count(values.get("alternatives"), "alternatives")
    return TranslateFields(texts, isinstance(q, list), source, target, text_format, alternatives)


def read_count(value: object, name: str) -> int:
    """Return a number that may be missing, a number in JSON or digits in a form."""
    if value is None or value == "":
        return 0
    is_number = isinstance(value, int) and not isinstance(value, bool)
    is_digits = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 6
    if not (is_number or is_digits) or int(str(value)) < 0:
        raise RequestError("bad_value", f"Invalid request: {name} parameter is not a number")
    return int(str(value))


def read_api_key(values: dict[str, Any]) -> str | None:
    """Return the API key of a request, or None."""
    key = values.get("api_key")
    if key is not None and not isinstance(key, str):
        raise RequestError("bad_value", "Invalid request: api_key must be a string")
    return key or None


def missing_field(name: str) -> RequestError:
    return RequestError("missing", f"Invalid request: missing {name} parameter")


def translate_answer(fields: TranslateFields, results: list[TextResult]) -> dict[str, Any]:
    """Return translations in LibreTranslate's shape: values if `q` was a text, lists if it was a list."""
    answer: dict[str, list[Any]] = {"translatedText": [each.text for each in results]}
    if fields.source.lower() == AUTO_LANGUAGE:
        answer["detectedLanguage"] = [_detected(each.detected) for each in results if each.detected]
    if fields.alternatives:
        answer["alternatives"] = [list(each.alternatives) for each in results]
    return answer if fields.is_list else {name: values[0] for name, values in answer.items()}


def _detected(found: DetectedLanguage) -> dict[str, Any]:
    """Return a detected language with its confidence in per cent."""
    return {"confidence": round(100 * found.confidence, 1), "language": found.language.lower()}


def file_routes(context: SurfaceContext, documents: DocumentJobs) -> RouteTable:
    """Return the routes of files."""

    async def translate_file(request: Request) -> Response:
        """Translate a file and return the address of the translation, which needs no key."""
        async with read_upload(request) as (file, form):
            values = {name: value for name, value in form.items() if isinstance(value, str)}
            source = text_field(values, "source", missing_field)
            target = text_field(values, "target", missing_field)
            key = read_api_key(values)
            await context.access.usage(key)
            languages = match_served_languages(context.service, source, target)
            content, name = await file.read(), file.filename or ""

        async def admit(characters: int) -> str:
            return await admit_characters(context, request, key, characters)

        job = await documents.submit(content, name, DocumentRequest(*languages), admit)
        await job.finished.wait()
        if job.error is not None:
            raise job.error
        link = f"{request.scope['regard.origin']}/download_file/{job.id.lower()}.{quote(job.name)}"
        return json_response({"translatedFileUrl": link})

    async def download_file(request: Request) -> Response:
        """Return a translated file."""
        identity, _, name = request.path_params["name"].partition(".")
        job = documents.find(identity)
        if job.name != name or job.state != "done":
            raise NoDocumentError("there is no such file")
        return document_response(job)

    return {"/translate_file": {"POST": translate_file}, "/download_file/{name}": {"GET": download_file}}


def match_served_languages(service: TranslationService, source: str, target: str) -> tuple[str, str]:
    """Return the served languages, target first."""
    served = service.languages()
    codes = list(dict.fromkeys(code for each in served for code in (each.code, *each.targets)))
    found = []
    for code in (target, source):
        match = code if code.lower() == AUTO_LANGUAGE else match_language(code, codes)
        if match is None:
            pairs = [(each.code, to) for each in served for to in each.targets]
            raise UnsupportedLanguageError(f"{code[:40]} is not supported", code, pairs)
        found.append(match)
    return found[0], found[1]

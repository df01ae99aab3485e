"""Documents on the server's own API: upload, progress and result."""

from dataclasses import replace
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from regard.server.surfaces.libretranslate import match_served_languages
from regard.server.surfaces.native import PREFIX, read_bearer_key
from regard.server.surfaces.surface import (
    SurfaceContext,
    admit_characters,
    document_response,
    read_upload,
    text_field,
    with_error_statuses,
)
from regard.server.translation.document_jobs import (
    DocumentJob,
    DocumentJobs,
    DocumentRequest,
    FindTerms,
    NoDocumentError,
)
from regard.server.translation.requests import AUTO_LANGUAGE
from regard.server.web.application import MAX_BODY_BYTES, RouteGroup
from regard.server.web.responses import RequestError, json_response

decode_terms = msgspec.json.Decoder(tuple[tuple[str, str], ...]).decode


def native_document_groups(
    context: SurfaceContext, allowed_origins: tuple[str, ...] = ()
) -> list[RouteGroup]:
    """Return the routes of documents; none if the server translates none."""
    documents = context.documents
    if documents is None:
        return []
    surface = NativeDocumentSurface(context, documents)
    routes = {
        "/api/documents": {"POST": surface.upload},
        "/api/documents/{id}": {"GET": surface.progress},
        "/api/documents/{id}/result": {"GET": surface.result},
    }
    group = RouteGroup(with_error_statuses(routes), f"{PREFIX}documents", allowed_origins=allowed_origins)
    return [replace(group, max_body_bytes=documents.max_bytes + MAX_BODY_BYTES)]


class NativeDocumentSurface:
    """Handlers of the routes of documents. Who knows the id of a document, which is random, may fetch it."""

    def __init__(self, context: SurfaceContext, documents: DocumentJobs) -> None:
        self._context, self._documents = context, documents

    async def upload(self, request: Request) -> Response:
        """Queue a document."""
        key = read_bearer_key(request)
        async with read_upload(request) as (file, form):
            values = {name: value for name, value in form.items() if isinstance(value, str)}
            target = text_field(values, "target", _missing)
            await self._context.access.usage(key)
            languages = match_served_languages(
                self._context.service, values.get("source") or AUTO_LANGUAGE, target
            )
            terms = _read_terms(values.get("glossary"))
            content, name = await file.read(), file.filename or ""

        async def admit(characters: int) -> str:
            return await admit_characters(self._context, request, key, characters)

        job = await self._documents.submit(content, name, DocumentRequest(*languages, terms), admit)
        return json_response(_to_json(job))

    async def progress(self, request: Request) -> Response:
        """Return how far a document is."""
        return json_response(_to_json(self._documents.find(request.path_params["id"])))

    async def result(self, request: Request) -> Response:
        """Return a translated document as a file."""
        job = self._documents.find(request.path_params["id"])
        if job.state != "done":
            raise NoDocumentError("the document is not translated")
        return document_response(job)


def _read_terms(text: str | None) -> FindTerms | None:
    """Return the glossary of a form: JSON, a list of pairs."""
    try:
        entries = decode_terms(text or "[]")
    except msgspec.DecodeError:
        raise RequestError("bad_value", "glossary must be a list of pairs of texts in JSON") from None

    async def find(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:  # noqa: ARG001, all serve all texts
        return entries

    return find if entries else None


def _missing(name: str) -> RequestError:
    return RequestError("missing", f"give {name}")


def _to_json(job: DocumentJob) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": job.id.lower(),
        "name": job.name,
        "state": job.state,
        "sentences": job.sentences,
        "translated": job.translated,
        "characters": job.characters,
    }
    if job.state in ("queued", "translating"):
        data["seconds_remaining"] = job.seconds_remaining
    return data if job.error is None else data | {"message": str(job.error)}

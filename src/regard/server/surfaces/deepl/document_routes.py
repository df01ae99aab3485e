"""DeepL's documents: upload, status and result."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.server.surfaces.deepl.glossaries import find_terms, owner_name
from regard.server.surfaces.deepl.language_routes import resolve_language
from regard.server.surfaces.deepl.request_values import (
    collect_fields,
    invalid_value,
    optional_text,
    read_deepl_key,
    read_values,
    required_text,
)
from regard.server.surfaces.deepl.translate_text import check_formality
from regard.server.surfaces.surface import (
    SurfaceContext,
    admit_characters,
    document_response,
    read_upload,
)
from regard.server.translation.document_jobs import (
    DocumentError,
    DocumentJob,
    DocumentJobs,
    DocumentRequest,
    FindTerms,
)
from regard.server.translation.requests import AUTO_LANGUAGE
from regard.server.web.application import RouteTable
from regard.server.web.responses import RequestError, json_response


def document_routes(context: SurfaceContext, documents: DocumentJobs) -> RouteTable:
    """Return the routes of documents."""
    surface = DocumentSurface(context, documents)
    return {
        "/v2/document": {"POST": surface.upload},
        "/v2/document/{id}": {"POST": surface.status, "GET": surface.status},
        "/v2/document/{id}/result": {"POST": surface.result, "GET": surface.result},
    }


class DocumentSurface:
    """Handlers of the routes of documents."""

    def __init__(self, context: SurfaceContext, documents: DocumentJobs) -> None:
        self._context, self._documents = context, documents

    async def upload(self, request: Request) -> Response:
        """Queue a document; the answer has the key by which it is fetched."""
        async with read_upload(request) as (file, form):
            values = collect_fields(form.multi_items())
            key = read_deepl_key(request, values)
            await self._context.access.usage(key)
            name = optional_text(values, "filename") or file.filename or ""
            document_request = await self._to_request(request, values, name)
            content = await file.read()

        async def admit(characters: int) -> str:
            return await admit_characters(self._context, request, key, characters)

        try:
            job = await self._documents.submit(content, name, document_request, admit)
        except DocumentError as error:
            raise DocumentError(f"Invalid file data. {error}") from None
        return json_response({"document_id": job.id, "document_key": job.key})

    async def status(self, request: Request) -> Response:
        """Return how far a document is."""
        job = await self._find(request)
        answer: dict[str, Any] = {"document_id": job.id, "status": job.state}
        if job.state in ("queued", "translating"):
            answer["seconds_remaining"] = job.seconds_remaining
        elif job.error is not None:
            answer["error_message"] = answer["message"] = str(job.error)
        else:
            answer |= {"seconds_remaining": 0, "billed_characters": job.characters}
        return json_response(answer)

    async def result(self, request: Request) -> Response:
        """Return a translated document; 503 until it is."""
        job = await self._find(request)
        if job.error is not None:
            raise RequestError("failed", str(job.error))
        if job.state != "done":
            headers = {"Retry-After": str(job.seconds_remaining)}
            message = "the document is not translated yet"
            raise RequestError("not_ready", message, HTTPStatus.SERVICE_UNAVAILABLE, headers=headers)
        return document_response(job)

    async def _find(self, request: Request) -> DocumentJob:
        values = await read_values(request)
        await self._context.access.usage(read_deepl_key(request, values))
        return self._documents.find(request.path_params["id"], required_text(values, "document_key"))

    async def _to_request(self, request: Request, values: dict[str, Any], name: str) -> DocumentRequest:
        service = self._context.service
        target = resolve_language(required_text(values, "target_lang"), "target_lang", service)
        code = optional_text(values, "source_lang")
        source = AUTO_LANGUAGE if code is None else resolve_language(code, "source_lang", service)
        check_formality(values, target)
        suffix = Path(name).suffix.removeprefix(".")
        output_format = (optional_text(values, "output_format") or suffix).removeprefix(".")
        if output_format.lower() != suffix.lower():
            raise invalid_value(
                "output_format", f"a document keeps its format, which is {suffix or 'unknown'}"
            )
        terms = await self._terms(request, values, source, target)
        return DocumentRequest(target, source, terms, refuses_same_language=True)

    async def _terms(
        self, request: Request, values: dict[str, Any], source: str, target: str
    ) -> FindTerms | None:
        """Return what finds the entries of a glossary, which must exist."""
        identity = optional_text(values, "glossary_id")
        if identity is None:
            return None
        if source == AUTO_LANGUAGE:
            raise RequestError("missing", "Parameter 'source_lang' not specified; a glossary needs it.")
        client = await admit_characters(self._context, request, read_deepl_key(request, values), 0)
        owner = owner_name(self._context, client)

        async def find(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
            return await find_terms(self._context.glossaries, owner, identity, (source, target), texts)

        await find(())  # raises if there is no such glossary
        return find

"""What the HTTP surfaces share: the service, the fields of a request, and the status of each error."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from regard.errors import RegardError
from regard.server.operations.access import (
    AccessControl,
    AccessError,
    KeyRequiredError,
    OpenAccess,
    QuotaExceededError,
    RateExceededError,
    UnknownKeyError,
)
from regard.server.translation.document_jobs import DocumentJob, DocumentJobs, NoDocumentError
from regard.server.translation.glossary_store import GlossaryStore
from regard.server.translation.requests import (
    DeadlineExceededError,
    InvalidRequestError,
    OverloadedError,
    TextTooLongError,
    TranslateRequestError,
    TranslationFailedError,
    TranslationService,
    UnavailableError,
    UnsupportedLanguageError,
    UnsureLanguageError,
)
from regard.server.translation.serve_settings import LimitSettings
from regard.server.web.access_log import log_entry
from regard.server.web.application import Handler, RouteTable, has_body
from regard.server.web.request_body import (
    MULTIPART_TYPE,
    content_type,
    read_form,
    read_json_object,
    read_multipart,
    read_query,
)
from regard.server.web.responses import JSON_TYPE, RequestError, to_request_error

ErrorStatuses = Mapping[type[RegardError], int]
STATUSES: ErrorStatuses = {
    InvalidRequestError: HTTPStatus.BAD_REQUEST,
    UnsupportedLanguageError: HTTPStatus.BAD_REQUEST,
    UnsureLanguageError: HTTPStatus.BAD_REQUEST,
    TextTooLongError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    OverloadedError: HTTPStatus.TOO_MANY_REQUESTS,
    DeadlineExceededError: HTTPStatus.GATEWAY_TIMEOUT,
    UnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
    TranslationFailedError: HTTPStatus.SERVICE_UNAVAILABLE,
    KeyRequiredError: HTTPStatus.UNAUTHORIZED,
    UnknownKeyError: HTTPStatus.FORBIDDEN,
    NoDocumentError: HTTPStatus.NOT_FOUND,
    RateExceededError: HTTPStatus.TOO_MANY_REQUESTS,
    QuotaExceededError: HTTPStatus.FORBIDDEN,
}
"""The status of each error where a surface has no other for it."""


REFUNDS = "regard.refunds"
"""What is called if a request fails, in its scope."""


@dataclass(frozen=True)
class SurfaceContext:
    """What a surface answers with."""

    service: TranslationService
    limits: LimitSettings = field(default_factory=LimitSettings)
    access: AccessControl = field(default_factory=OpenAccess)
    glossaries: GlossaryStore = field(default_factory=GlossaryStore)
    documents: DocumentJobs | None = None
    """None: the server translates no documents."""


def with_error_statuses(routes: RouteTable, statuses: ErrorStatuses | None = None) -> RouteTable:
    """Return routes whose errors of the service become request errors; `statuses` differ from the usual."""
    known = {**STATUSES, **(statuses or {})}
    return {
        path: {method: _with_status(handler, known) for method, handler in handlers.items()}
        for path, handlers in routes.items()
    }


def _with_status(handler: Handler, statuses: ErrorStatuses) -> Handler:
    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            for refund in request.scope.get(REFUNDS, ()):
                refund()
            if isinstance(error, TranslateRequestError | AccessError):
                raise to_http_error(error, statuses) from error
            raise

    return answer


def to_http_error(error: Exception, statuses: ErrorStatuses = STATUSES) -> RequestError:
    """Return an error of the service or of access with its status, and any other as the server answers it."""
    if not isinstance(error, TranslateRequestError | AccessError):
        return to_request_error(error)
    status = next(
        (statuses[each] for each in type(error).__mro__ if each in statuses), HTTPStatus.BAD_REQUEST
    )
    retry_after = getattr(error, "retry_after", None)
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return RequestError(_error_code(error), str(error), status, getattr(error, "limit", None), headers)


def _error_code(error: RegardError) -> str:
    """Return the code of an error, from its class: `UnsureLanguageError` is `unsure_language`."""
    name = type(error).__name__.removesuffix("Error")
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).lstrip("_")


async def read_fields(request: Request) -> dict[str, Any]:
    """Return the fields of a request, from query and body: JSON, form or multipart; the body counts more.

    The first value of a repeated field counts.
    """
    fields: dict[str, Any] = dict(reversed(read_query(request)))
    if not has_body(request):
        return fields
    kind = content_type(request)
    if kind == JSON_TYPE:
        return fields | await read_json_object(request)
    if kind == MULTIPART_TYPE:
        async with read_multipart(request) as form:
            items = reversed(form.multi_items())
            return fields | {name: value for name, value in items if not isinstance(value, UploadFile)}
    return fields | dict(reversed(await read_form(request)))


@asynccontextmanager
async def read_upload(request: Request) -> AsyncIterator[tuple[UploadFile, FormData]]:
    """Parse a form with one file, the field `file`, until the block ends."""
    async with read_multipart(request) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise RequestError("missing", "Invalid request: missing file parameter")
        yield file, form


def document_response(job: DocumentJob) -> Response:
    """Return a translated document as a file to save."""
    assert job.result is not None
    path = Path(job.name)
    name = f"{path.stem}.{job.request.target_language}{path.suffix}"
    return FileResponse(job.result, media_type="application/octet-stream", filename=name)


def client_address(request: Request) -> str:
    """Return the address that a request came from."""
    return request.client.host if request.client else ""


async def admit_request(
    context: SurfaceContext, request: Request, key: str | None, texts: tuple[str, ...]
) -> str:
    """Return the client's name if it may send these texts; their length goes into the access log."""
    return await admit_characters(context, request, key, sum(map(len, texts)))


async def admit_characters(
    context: SurfaceContext, request: Request, key: str | None, characters: int
) -> str:
    """Return the client's name if it may send so many characters; they go into the access log.

    They are refunded if the request ends with an error before its answer has begun.
    """
    name = await context.access.admit(key, client_address(request), characters)
    request.scope.setdefault(REFUNDS, []).append(partial(context.access.refund, key, characters))
    fields = log_entry(request.scope).fields
    fields["characters"] = characters
    if key is not None and context.access.has_keys:
        fields["key"] = name
    return name


def text_field(fields: Mapping[str, Any], name: str, missing: Callable[[str], RequestError]) -> str:
    """Return a field that must be a text and not empty."""
    value = fields.get(name)
    if value is None or value == "":
        raise missing(name)
    if not isinstance(value, str):
        raise RequestError("bad_value", f"Invalid request: {name} must be a string")
    return value

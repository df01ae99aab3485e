"""The server's own API, `/api/`: everything the models can do, and streams of segments as they finish."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from regard.server.surfaces.surface import (
    SurfaceContext,
    admit_request,
    to_http_error,
    with_error_statuses,
)
from regard.server.translation.requests import (
    AUTO_LANGUAGE,
    DetectedLanguage,
    SegmentEvent,
    SegmentResult,
    StreamEvent,
    TextRequest,
    TextResult,
)
from regard.server.web.application import RouteGroup
from regard.server.web.request_body import convert_fields, read_json_object
from regard.server.web.responses import (
    RequestError,
    error_to_json,
    json_response,
    to_json_bytes,
)

PREFIX = "/api/"
EVENT_STREAM = "text/event-stream"
BEARER = "bearer "
MAX_TIMEOUT_MS = 3_600_000


class TranslateBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The body of `POST /api/translate`."""

    text: str | list[str]
    source: str = AUTO_LANGUAGE
    target: str | None = None
    format: Literal["text", "html"] = "text"
    segments: Literal["lines", "sentences"] = "lines"
    alternatives: int = 0
    glossary: dict[str, str] | list[tuple[str, str]] = {}
    forbidden: list[str] = []
    prefix: str = ""
    beam: int | None = None
    confidences: bool = False
    alignments: bool = False
    sentences: bool = False
    model: str | None = None
    timeout_ms: int | None = None


class DetectBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /api/detect`."""

    text: str


def native_group(context: SurfaceContext, allowed_origins: tuple[str, ...] = ()) -> RouteGroup:
    """Return the routes of the server's own API."""
    surface = NativeSurface(context)
    routes = {
        "/api/translate": {"POST": surface.translate},
        "/api/detect": {"POST": surface.detect},
        "/api/languages": {"GET": surface.languages},
        "/api/models": {"GET": surface.models},
    }
    return RouteGroup(with_error_statuses(routes), prefix=PREFIX, allowed_origins=allowed_origins)


class NativeSurface:
    """Handlers of the server's own API."""

    def __init__(self, context: SurfaceContext) -> None:
        self._context = context

    async def translate(self, request: Request) -> Response:
        """Translate a text or a list of texts; as a stream if the client accepts `text/event-stream`."""
        body = convert_fields(await read_json_object(request), TranslateBody)
        texts = tuple(body.text) if isinstance(body.text, list) else (body.text,)
        client = await admit_request(self._context, request, read_bearer_key(request), texts)
        text_request = self._to_text_request(body, texts, client)
        if EVENT_STREAM in request.headers.get("Accept", ""):
            return await self._stream(text_request)
        results = await self._context.service.translate(text_request)
        return json_response({"translations": [text_to_json(each) for each in results]})

    async def detect(self, request: Request) -> Response:
        """Return the languages that a text may be in."""
        body = convert_fields(await read_json_object(request), DetectBody)
        await admit_request(self._context, request, read_bearer_key(request), (body.text,))
        return json_response({"languages": list(map(_detected, self._context.service.detect(body.text)))})

    async def languages(self, request: Request) -> Response:  # noqa: ARG002
        """Return the source languages with their targets."""
        languages = [each._asdict() for each in self._context.service.languages()]
        return json_response({"languages": languages})

    async def models(self, request: Request) -> Response:  # noqa: ARG002
        """Return the models that are loaded."""
        return json_response({"models": [each._asdict() for each in self._context.service.models()]})

    def _to_text_request(self, body: TranslateBody, texts: tuple[str, ...], client: str) -> TextRequest:
        glossary = body.glossary.items() if isinstance(body.glossary, dict) else body.glossary
        if body.timeout_ms is not None and not 0 < body.timeout_ms <= MAX_TIMEOUT_MS:
            raise RequestError("bad_value", f"timeout_ms must be from 1 to {MAX_TIMEOUT_MS}")
        return TextRequest(
            texts,
            self._only_target() if body.target is None else body.target,
            body.source,
            body.format,
            body.segments,
            body.alternatives,
            tuple(glossary),
            tuple(body.forbidden),
            body.prefix,
            body.beam,
            body.confidences,
            body.alignments,
            body.sentences,
            body.model,
            None if body.timeout_ms is None else body.timeout_ms / 1000,
            client,
        )

    def _only_target(self) -> str:
        """Return the language that every source is translated to; raise if there are several."""
        targets = {
            code for each in self._context.service.languages() for code in each.targets if code != each.code
        }
        if len(targets) != 1:
            raise RequestError("missing", f"give target, one of {', '.join(sorted(targets)) or 'none yet'}")
        return targets.pop()

    async def _stream(self, request: TextRequest) -> Response:
        """Return the events of a request; what is refused at once is no stream."""
        events = self._context.service.stream(request)
        first = await anext(events, None)
        response = StreamingResponse(_event_lines(first, events), media_type=EVENT_STREAM)
        response.headers["X-Accel-Buffering"] = "no"  # nginx would hold the events back
        return response


def read_bearer_key(request: Request) -> str | None:
    """Return the key of `Authorization: Bearer KEY`, or None."""
    header = request.headers.get("Authorization", "")
    if header and not header.lower().startswith(BEARER):
        raise RequestError("key", "send Authorization: Bearer KEY", HTTPStatus.UNAUTHORIZED)
    return header[len(BEARER) :].strip() or None


async def _event_lines(first: StreamEvent | None, others: Any) -> AsyncIterator[bytes]:
    """Yield server-sent events; an error on the way becomes the last one."""
    async with aclosing(others):
        try:
            if first is not None:
                yield _event(first)
            async for event in others:
                yield _event(event)
            yield b"event: done\ndata: {}\n\n"
        except Exception as error:
            yield b"event: error\ndata: " + error_to_json(to_http_error(error)) + b"\n\n"


def _event(event: StreamEvent) -> bytes:
    """Return an event as lines; JSON has no line breaks of its own."""
    if isinstance(event, SegmentEvent):
        place = {"text_index": event.text_index, "segment_index": event.segment_index}
        data = to_json_bytes(place | segment_to_json(event.segment))
        return b"event: segment\ndata: " + data + b"\n\n"
    data = to_json_bytes({"text_index": event.text_index} | text_to_json(event.result))
    return b"event: text\ndata: " + data + b"\n\n"


def text_to_json(result: TextResult) -> dict[str, Any]:
    """Return the translation of a text for JSON; what was not requested is left out."""
    data: dict[str, Any] = {
        "text": result.text,
        "source": result.source_language,
        "target": result.target_language,
        "model": result.model,
        "status": result.status,
    }
    if result.detected is not None:
        data["detected"] = _detected(result.detected)
    if result.alternatives:
        data["alternatives"] = result.alternatives
    if result.messages:
        data["messages"] = result.messages
    if result.segments is not None:
        data["segments"] = [segment_to_json(each) for each in result.segments]
    return data


def segment_to_json(segment: SegmentResult) -> dict[str, Any]:
    """Return the translation of a segment for JSON; what was not requested is left out."""
    data: dict[str, Any] = {"source": segment.source, "text": segment.text, "status": segment.status}
    optional = {
        "score": segment.score,
        "alternatives": segment.alternatives or None,
        "alignment": segment.alignment,
        "words": None if segment.words is None else [each._asdict() for each in segment.words],
        "message": segment.message or None,
        "unlike_training": segment.unlike_training,
        "misplaced_terms": segment.misplaced_terms or None,
    }
    return data | {name: value for name, value in optional.items() if value is not None}


def _detected(found: DetectedLanguage) -> dict[str, Any]:
    return {"language": found.language, "confidence": found.confidence}

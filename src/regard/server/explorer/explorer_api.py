"""The explorer's API for translation models: routes and their handlers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from time import perf_counter
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from regard.server.explorer.attention_api import page_response
from regard.server.explorer.checkpoint_cache import ExplorerModel
from regard.server.explorer.model_blocks import describe_model_blocks
from regard.server.explorer.probe_payloads import (
    compare_token_mixers,
    context_comparison_payload,
    neighbours_payload,
    position_survival_payload,
    position_tables_payload,
)
from regard.server.explorer.request_fields import (
    JsonBody,
    parse_bounded_text,
    parse_choice,
    parse_integer,
    parse_object,
    parse_query_numbers,
    parse_text_list,
)
from regard.server.explorer.trace_service import (
    MAX_BEAM,
    MAX_CANDIDATES,
    MAX_TEXT_CHARACTERS,
    TraceService,
    info_payload,
    parse_view,
)
from regard.server.explorer.training_runs import TrainingRun, training_routes
from regard.server.explorer.translate_payload import translate_line_payload
from regard.server.web.application import Handler, RouteTable
from regard.server.web.request_body import read_json_object, read_query
from regard.server.web.responses import (
    RequestError,
    bytes_response,
    json_response,
    lines_response,
    to_json_bytes,
)
from regard.server.web.static_files import static_file_routes
from regard.trace.head_importance import HeadImportance
from regard.trace.interventions import ATTENTION_KINDS, count_attention_layers
from regard.trace.page import page_assets
from regard.trace.trace import Trace

MAX_LINES = 100
MAX_POSITIONS, MAX_TABLE_WIDTH = 512, 2048
EMBEDDING_SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")


def explorer_routes(service: TraceService, comparison_runs: Sequence[TrainingRun] = ()) -> RouteTable:
    """Return all routes: page files, API and metrics; `comparison_runs` have metrics only."""
    runs = [*([] if service.run is None else [service.run]), *comparison_runs]
    api = ExplorerApi(service, comparison_runs)
    handlers: dict[str, Handler] = {
        "translate": api.translate,
        "trace": api.trace,
        "steps": api.steps,
        "head_importance": api.head_importance,
        "position_survival": api.position_survival,
        "neighbours": api.neighbours,
        "contexts": api.contexts,
        "word_order": api.word_order,
        "token_mixers": api.token_mixers,
        "export": api.export,
    }
    return {
        **static_file_routes(page_assets()),
        **training_routes(runs),
        **{f"/api/{name}": {"POST": handler} for name, handler in handlers.items()},
        "/api/info": {"GET": api.info},
        "/api/positions": {"GET": api.positions},
    }


class ExplorerApi:
    """Route handlers, one method per route."""

    def __init__(self, service: TraceService, comparison_runs: Sequence[TrainingRun]) -> None:
        self._service, self._comparison_runs = service, comparison_runs

    async def info(self, request: Request) -> Response:  # noqa: ARG002, a handler
        """Return model, limits, search defaults, runs and the model's blocks."""
        run, settings = self._service.run, self._service.settings
        facts, blocks = await self._service.run_on_model(
            {}, lambda model: (model.tracer.model_facts(), describe_model_blocks(model.config))
        )
        payload = await asyncio.to_thread(info_payload, facts, settings, run, self._comparison_runs)
        return json_response(
            {
                **payload,
                "languages": {"source": facts.source_lang, "target": facts.target_lang},
                "search": {"beam": settings.search.beam, "alpha": settings.search.alpha},
                "blocks": blocks,
            }
        )

    async def translate(self, request: Request) -> Response:
        """Translate line by line; other requests may run between two lines."""
        body, start = await read_json_object(request), perf_counter()
        lines = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS).split("\n")
        if len(lines) > MAX_LINES:
            message = f"text has {len(lines)} lines, and at most {MAX_LINES} are translated at once"
            raise RequestError("too_many_lines", message, limit=MAX_LINES)
        n_best = parse_integer(body, "n_best", 1, 1, MAX_BEAM)
        payloads = [
            await self._service.run_on_model(
                body,
                lambda model, line=line: translate_line_payload(self._service, model, body, line, n_best),
            )
            for line in lines
        ]
        return json_response({"lines": payloads, "ms": round(1000 * (perf_counter() - start), 1)})

    async def trace(self, request: Request) -> Response:
        """Return the trace of one translation."""
        body = await read_json_object(request)
        content = await self._service.run_on_model(
            body, lambda model: self._trace(model, body).dumps().encode()
        )
        return bytes_response(content)

    async def steps(self, request: Request) -> Response:
        """Return the computation of one head at one position, step by step."""
        body = await read_json_object(request)
        trace_body = parse_object(body, "request")

        def compute(model: ExplorerModel) -> dict[str, Any]:
            kind = parse_choice(body, "kind", ATTENTION_KINDS)
            layer = parse_integer(body, "layer", None, 1, count_attention_layers(model.config, kind))
            head = parse_integer(body, "head", None, 1, model.config.heads)
            trace = self._trace(model, trace_body)
            rows = trace.source.tokens if kind == "encoder" else trace.target.tokens
            position = parse_integer(body, "position", None, 0, len(rows) - 1)
            return model.tracer.attention_steps(trace, kind, layer, head, position)

        return json_response(await self._service.run_on_model(trace_body, compute))

    async def head_importance(self, request: Request) -> Response:
        """Stream the importance of every head, one JSON line per head."""
        body = parse_object(await read_json_object(request), "request")
        importances = await self._service.stream_from_model(
            body, lambda model: model.tracer.measure_heads(self._trace(model, body))
        )
        return lines_response(_json_lines(importances))

    async def position_survival(self, request: Request) -> Response:
        """Return how much of the positional encoding is left after each sublayer."""
        body = parse_object(await read_json_object(request), "request")

        def compute(model: ExplorerModel) -> dict[str, Any]:
            trace = self._trace(model, body)
            return position_survival_payload(model.tracer.measure_position_survival(trace))

        return json_response(await self._service.run_on_model(body, compute))

    async def neighbours(self, request: Request) -> Response:
        """Return the nearest neighbours of a word in the embedding."""
        body = await read_json_object(request)
        word = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS)
        count = parse_integer(body, "count", 12, 1, MAX_CANDIDATES)
        side = parse_choice({"side": "source", **body}, "side", EMBEDDING_SIDES)
        payload = await self._service.run_on_model(
            body, lambda model: neighbours_payload(model, word, count, side)
        )
        return json_response(payload)

    async def contexts(self, request: Request) -> Response:
        """Compare the vectors of one word in two sentences."""
        body, limit = await read_json_object(request), self._service.settings.max_trace_tokens
        first, second = parse_text_list(body, "texts", 2, MAX_TEXT_CHARACTERS)
        word = parse_bounded_text(body, "word", MAX_TEXT_CHARACTERS)

        def compute(model: ExplorerModel) -> dict[str, Any]:
            return context_comparison_payload(word, model.tracer.compare_contexts(word, first, second, limit))

        return json_response(await self._service.run_on_model(body, compute))

    async def word_order(self, request: Request) -> Response:
        """Compare a sentence with its reversal, with and without positional encoding."""
        body = await read_json_object(request)
        text = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS)
        limit = self._service.settings.max_trace_tokens
        payload = await self._service.run_on_model(
            body, lambda model: model.tracer.compare_word_orders(text, limit)
        )
        return json_response(payload)

    async def token_mixers(self, request: Request) -> Response:
        """Compare a head on two sentences with a linear layer and a convolution over tokens."""
        body = await read_json_object(request)
        texts = parse_text_list(body, "texts", 2, MAX_TEXT_CHARACTERS)

        def compute(model: ExplorerModel) -> dict[str, Any]:
            layer = parse_integer(body, "layer", 1, 1, model.config.encoder_layers)
            head = parse_integer(body, "head", 1, 1, model.config.heads)
            first, second = (self._trace(model, {"text": text}) for text in texts)
            return compare_token_mixers(first, second, layer, head)

        return json_response(await self._service.run_on_model(body, compute))

    async def positions(self, request: Request) -> Response:
        """Return the sinusoidal position tables, and the model's own if it is learned."""
        query = parse_query_numbers(dict(read_query(request)))
        length = parse_integer(query, "length", 20, 1, MAX_POSITIONS)

        def compute(model: ExplorerModel) -> dict[str, Any]:
            width = parse_integer(query, "width", model.config.d_model, 2, MAX_TABLE_WIDTH)
            return position_tables_payload(model, length, width)

        return json_response(await self._service.run_on_model({}, compute))

    async def export(self, request: Request) -> Response:
        """Return the offline page of a translation."""
        document = await read_json_object(request)
        body, view = parse_object(document, "request"), parse_view(document)
        trace = await self._service.run_on_model(
            body, lambda model: model.tracer.with_qkv(self._trace(model, body))
        )
        return await page_response(trace, view, "translation.html")

    def _trace(self, model: ExplorerModel, body: JsonBody) -> Trace:
        return self._service.cached_trace(model, self._service.parse_trace_request(model, body))


async def _json_lines(importances: AsyncIterator[HeadImportance]) -> AsyncIterator[bytes]:
    async for each in importances:
        yield to_json_bytes(each._asdict()) + b"\n"

"""The explorer's API for translation models: routes and their handlers."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal

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
from regard.server.http_messages import (
    HTML_TYPE,
    NDJSON_TYPE,
    ApiRequest,
    ApiResponse,
    RequestError,
    RouteHandler,
    RouteTable,
    json_response,
    to_json_bytes,
)
from regard.server.static_files import static_file_routes
from regard.trace.interventions import ATTENTION_KINDS, count_attention_layers
from regard.trace.page import page_assets, render_trace_html
from regard.trace.trace import Trace

MAX_LINES = 100
MAX_POSITIONS, MAX_TABLE_WIDTH = 512, 2048
EMBEDDING_SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")


def explorer_routes(service: TraceService, comparison_runs: Sequence[TrainingRun] = ()) -> RouteTable:
    """Return all routes: page files, API and metrics; `comparison_runs` have metrics only."""
    runs = [*([] if service.run is None else [service.run]), *comparison_runs]
    api = ExplorerApi(service, comparison_runs)
    handlers: dict[str, RouteHandler] = {
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

    def info(self, request: ApiRequest) -> ApiResponse:
        """Return model, limits, search defaults, runs and the model's blocks."""
        run, settings = self._service.run, self._service.settings
        facts, blocks = self._service.run_on_model(
            request, {}, lambda model: (model.tracer.model_facts(), describe_model_blocks(model.config))
        )
        return json_response(
            {
                **info_payload(facts, settings, run, self._comparison_runs),
                "languages": {"source": facts.source_lang, "target": facts.target_lang},
                "search": {"beam": settings.search.beam, "alpha": settings.search.alpha},
                "blocks": blocks,
            }
        )

    def translate(self, request: ApiRequest) -> ApiResponse:
        """Translate line by line; other requests may run between two lines."""
        body, start = request.body, perf_counter()
        lines = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS).split("\n")
        if len(lines) > MAX_LINES:
            message = f"text has {len(lines)} lines, and at most {MAX_LINES} are translated at once"
            raise RequestError("too_many_lines", message, limit=MAX_LINES)
        n_best = parse_integer(body, "n_best", 1, 1, MAX_BEAM)
        payloads = [
            self._service.run_on_model(
                request,
                body,
                lambda model, line=line: translate_line_payload(self._service, model, body, line, n_best),
            )
            for line in lines
        ]
        return json_response({"lines": payloads, "ms": round(1000 * (perf_counter() - start), 1)})

    def trace(self, request: ApiRequest) -> ApiResponse:
        """Return the trace of one translation."""
        body = request.body
        content = self._service.run_on_model(
            request, body, lambda model: self._trace(model, body).dumps().encode()
        )
        return ApiResponse(content)

    def steps(self, request: ApiRequest) -> ApiResponse:
        """Return the computation of one head at one position, step by step."""
        body = request.body
        trace_body = parse_object(body, "request")

        def compute(model: ExplorerModel) -> dict[str, Any]:
            kind = parse_choice(body, "kind", ATTENTION_KINDS)
            layer = parse_integer(body, "layer", None, 1, count_attention_layers(model.config, kind))
            head = parse_integer(body, "head", None, 1, model.config.heads)
            trace = self._trace(model, trace_body)
            rows = trace.source.tokens if kind == "encoder" else trace.target.tokens
            position = parse_integer(body, "position", None, 0, len(rows) - 1)
            return model.tracer.attention_steps(trace, kind, layer, head, position)

        return json_response(self._service.run_on_model(request, trace_body, compute))

    def head_importance(self, request: ApiRequest) -> ApiResponse:
        """Stream the importance of every head, one JSON line per head."""
        body = parse_object(request.body, "request")
        importances = self._service.stream_from_model(
            request, body, lambda model: model.tracer.measure_heads(self._trace(model, body))
        )
        return ApiResponse((to_json_bytes(each._asdict()) + b"\n" for each in importances), NDJSON_TYPE)

    def position_survival(self, request: ApiRequest) -> ApiResponse:
        """Return how much of the positional encoding is left after each sublayer."""
        body = parse_object(request.body, "request")

        def compute(model: ExplorerModel) -> dict[str, Any]:
            trace = self._trace(model, body)
            return position_survival_payload(model.tracer.measure_position_survival(trace))

        return json_response(self._service.run_on_model(request, body, compute))

    def neighbours(self, request: ApiRequest) -> ApiResponse:
        """Return the nearest neighbours of a word in the embedding."""
        body = request.body
        word = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS)
        count = parse_integer(body, "count", 12, 1, MAX_CANDIDATES)
        side = parse_choice({"side": "source", **body}, "side", EMBEDDING_SIDES)
        payload = self._service.run_on_model(
            request, body, lambda model: neighbours_payload(model, word, count, side)
        )
        return json_response(payload)

    def contexts(self, request: ApiRequest) -> ApiResponse:
        """Compare the vectors of one word in two sentences."""
        body, limit = request.body, self._service.settings.max_trace_tokens
        first, second = parse_text_list(body, "texts", 2, MAX_TEXT_CHARACTERS)
        word = parse_bounded_text(body, "word", MAX_TEXT_CHARACTERS)

        def compute(model: ExplorerModel) -> dict[str, Any]:
            return context_comparison_payload(word, model.tracer.compare_contexts(word, first, second, limit))

        return json_response(self._service.run_on_model(request, body, compute))

    def word_order(self, request: ApiRequest) -> ApiResponse:
        """Compare a sentence with its reversal, with and without positional encoding."""
        text = parse_bounded_text(request.body, "text", MAX_TEXT_CHARACTERS)
        limit = self._service.settings.max_trace_tokens
        payload = self._service.run_on_model(
            request, request.body, lambda model: model.tracer.compare_word_orders(text, limit)
        )
        return json_response(payload)

    def token_mixers(self, request: ApiRequest) -> ApiResponse:
        """Compare a head on two sentences with a linear layer and a convolution over tokens."""
        body = request.body
        texts = parse_text_list(body, "texts", 2, MAX_TEXT_CHARACTERS)

        def compute(model: ExplorerModel) -> dict[str, Any]:
            layer = parse_integer(body, "layer", 1, 1, model.config.encoder_layers)
            head = parse_integer(body, "head", 1, 1, model.config.heads)
            first, second = (self._trace(model, {"text": text}) for text in texts)
            return compare_token_mixers(first, second, layer, head)

        return json_response(self._service.run_on_model(request, body, compute))

    def positions(self, request: ApiRequest) -> ApiResponse:
        """Return the sinusoidal position tables, and the model's own if it is learned."""
        query = parse_query_numbers(request.query)
        length = parse_integer(query, "length", 20, 1, MAX_POSITIONS)

        def compute(model: ExplorerModel) -> dict[str, Any]:
            width = parse_integer(query, "width", model.config.d_model, 2, MAX_TABLE_WIDTH)
            return position_tables_payload(model, length, width)

        return json_response(self._service.run_on_model(request, {}, compute))

    def export(self, request: ApiRequest) -> ApiResponse:
        """Return the offline page of a translation."""
        body, view = parse_object(request.body, "request"), parse_view(request.body)
        trace = self._service.run_on_model(
            request, body, lambda model: model.tracer.with_qkv(self._trace(model, body))
        )
        headers = {"Content-Disposition": 'attachment; filename="translation.html"'}
        return ApiResponse(render_trace_html(trace, view).encode(), HTML_TYPE, headers=headers)

    def _trace(self, model: ExplorerModel, body: JsonBody) -> Trace:
        return self._service.cached_trace(model, self._service.parse_trace_request(model, body))

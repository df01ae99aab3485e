"""The table of addresses: what may be asked of a model, and who answers it."""

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any, Literal

from regard.server import request_fields
from regard.server.checkpoint_cache import ExplorerModel
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
from regard.server.model_blocks import describe_model_blocks
from regard.server.probe_payloads import (
    compare_token_mixers,
    context_comparison_payload,
    neighbours_payload,
    position_survival_payload,
    position_tables_payload,
)
from regard.server.request_fields import JsonBody
from regard.server.static_files import static_file_routes
from regard.server.trace_service import MAX_BEAM, MAX_CANDIDATES, MAX_TEXT_CHARACTERS, TraceService
from regard.server.training_runs import TrainingRun, list_run_names, training_routes
from regard.server.translate_payload import translate_line_payload
from regard.trace.interventions import ATTENTION_KINDS, count_attention_layers
from regard.trace.page import page_assets, render_trace_html
from regard.version import __version__

MAX_LINES = 100
MAX_POSITIONS, MAX_TABLE_WIDTH = 512, 2048
EMBEDDING_SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")


def explorer_routes(service: TraceService, comparison_runs: Sequence[TrainingRun] = ()) -> RouteTable:
    """Everything there is: the page's files and the questions it can ask; `others` have curves only."""
    runs = [*([] if service.run is None else [service.run]), *comparison_runs]
    api = ExplorerApi(service, runs)
    posts: dict[str, RouteHandler] = {
        "translate": api.translate,
        "trace": api.trace,
        "steps": api.steps,
        "heads": api.head_importance,
        "survives": api.position_survival,
        "neighbours": api.neighbours,
        "contexts": api.contexts,
        "permuted": api.word_order,
        "mixers": api.token_mixers,
        "export": api.export,
    }
    found: dict[str, dict[str, RouteHandler]] = {
        f"/api/{name}": {"POST": route} for name, route in posts.items()
    }
    found |= {"/api/info": {"GET": api.info}, "/api/positions": {"GET": api.positions}}
    return {**static_file_routes(page_assets()), **training_routes(runs), **found}


class ExplorerApi:
    """One method for each question."""

    def __init__(self, service: TraceService, runs: Sequence[TrainingRun]) -> None:
        self._service, self._runs = service, runs

    def info(self, request: ApiRequest) -> ApiResponse:
        """What there is to look into."""
        run, offer = self._service.run, self._service.settings
        facts, found = self._service.run_on_model(
            request, {}, lambda model: (model.tracer.model_facts(), describe_model_blocks(model.config))
        )
        names = list_run_names(self._runs)
        own = None if run is None else {**names[0], **run.checkpoint_summary(facts.id)}
        return json_response(
            {
                "regard": __version__,
                "model": asdict(facts),
                "languages": {"source": facts.source_lang, "target": facts.target_lang},
                "limits": {"max_trace_tokens": offer.max_trace_tokens},
                "search": {"beam": offer.search.beam, "alpha": offer.search.alpha},
                "example": offer.example_text,
                "run": own,
                "others": names[1:],
                "blocks": found,
            }
        )

    def translate(self, request: ApiRequest) -> ApiResponse:
        """Line by line; whoever waits has a turn between two lines."""
        body, began = request.body, perf_counter()
        lines = request_fields.parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS).split("\n")
        if len(lines) > MAX_LINES:
            message = f"{len(lines)} lines are more than are translated at once, {MAX_LINES}"
            raise RequestError("too_many_lines", message, limit=MAX_LINES)
        n_best = request_fields.parse_integer(body, "n_best", 1, 1, MAX_BEAM)
        found = [
            self._service.run_on_model(
                request,
                body,
                lambda model, line=line: translate_line_payload(self._service, model, body, line, n_best),
            )
            for line in lines
        ]
        return json_response({"lines": found, "ms": round(1000 * (perf_counter() - began), 1)})

    def trace(self, request: ApiRequest) -> ApiResponse:
        """One translation, looked into."""
        desk, body = self._service, request.body
        said = desk.run_on_model(
            request,
            body,
            lambda model: desk.cached_trace(model, desk.parse_trace_request(model, body)).dumps().encode(),
        )
        return ApiResponse(said)

    def steps(self, request: ApiRequest) -> ApiResponse:
        """One word and one head, step by step."""
        desk, body = self._service, request.body

        def work(model: ExplorerModel) -> dict[str, Any]:
            kind = request_fields.parse_choice(body, "kind", ATTENTION_KINDS)
            layer = request_fields.parse_integer(
                body, "layer", None, 1, count_attention_layers(model.config, kind)
            )
            head = request_fields.parse_integer(body, "head", None, 1, model.config.heads)
            trace = desk.cached_trace(model, desk.parse_trace_request(model, parse_inner_trace_request(body)))
            rows = trace.source.tokens if kind == "encoder" else trace.target.tokens
            position = request_fields.parse_integer(body, "position", None, 0, len(rows) - 1)
            return model.tracer.attention_steps(trace, kind, layer, head, position)

        return json_response(desk.run_on_model(request, parse_inner_trace_request(body), work))

    def head_importance(self, request: ApiRequest) -> ApiResponse:
        """What each head matters, one line for each as it is measured."""
        desk, body = self._service, parse_inner_trace_request(request.body)
        found = desk.stream_from_model(
            request,
            body,
            lambda model: model.tracer.measure_heads(
                desk.cached_trace(model, desk.parse_trace_request(model, body))
            ),
        )
        return ApiResponse((to_json_bytes(each._asdict()) + b"\n" for each in found), NDJSON_TYPE)

    def position_survival(self, request: ApiRequest) -> ApiResponse:
        """How much of the positions is left after each sublayer."""
        desk, body = self._service, parse_inner_trace_request(request.body)

        def work(model: ExplorerModel) -> dict[str, Any]:
            trace = desk.cached_trace(model, desk.parse_trace_request(model, body))
            return position_survival_payload(model.tracer.measure_position_survival(trace))

        return json_response(desk.run_on_model(request, body, work))

    def neighbours(self, request: ApiRequest) -> ApiResponse:
        """The pieces that lie nearest to a word."""
        body = request.body
        word = request_fields.parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS)
        count = request_fields.parse_integer(body, "count", 12, 1, MAX_CANDIDATES)
        side = request_fields.parse_choice({"side": "source", **body}, "side", EMBEDDING_SIDES)
        return json_response(
            self._service.run_on_model(
                request, body, lambda model: neighbours_payload(model, word, count, side)
            )
        )

    def contexts(self, request: ApiRequest) -> ApiResponse:
        """One word in two sentences."""
        body = request.body
        first, second = request_fields.parse_text_list(body, "texts", 2, MAX_TEXT_CHARACTERS)
        word = request_fields.parse_bounded_text(body, "word", MAX_TEXT_CHARACTERS)
        limit = self._service.settings.max_trace_tokens
        return json_response(
            self._service.run_on_model(
                request,
                body,
                lambda model: context_comparison_payload(
                    word, model.tracer.compare_contexts(word, first, second, limit)
                ),
            )
        )

    def word_order(self, request: ApiRequest) -> ApiResponse:
        """The same words in another order, with positions and without."""
        text = request_fields.parse_bounded_text(request.body, "text", MAX_TEXT_CHARACTERS)
        limit = self._service.settings.max_trace_tokens
        return json_response(
            self._service.run_on_model(
                request, request.body, lambda model: model.tracer.compare_word_orders(text, limit)
            )
        )

    def token_mixers(self, request: ApiRequest) -> ApiResponse:
        """One head beside weights that do not change with the input."""
        desk, body = self._service, request.body
        texts = request_fields.parse_text_list(body, "texts", 2, MAX_TEXT_CHARACTERS)

        def work(model: ExplorerModel) -> dict[str, Any]:
            layer = request_fields.parse_integer(body, "layer", 1, 1, model.config.encoder_layers)
            head = request_fields.parse_integer(body, "head", 1, 1, model.config.heads)
            first, second = (
                desk.cached_trace(model, desk.parse_trace_request(model, {"text": text})) for text in texts
            )
            return compare_token_mixers(first, second, layer, head)

        return json_response(desk.run_on_model(request, body, work))

    def positions(self, request: ApiRequest) -> ApiResponse:
        """Every table of sinusoids, and the model's own where it was learnt."""
        query = request_fields.parse_query_numbers(request.query)
        length = request_fields.parse_integer(query, "length", 20, 1, MAX_POSITIONS)

        def work(model: ExplorerModel) -> dict[str, Any]:
            width = request_fields.parse_integer(query, "width", model.config.d_model, 2, MAX_TABLE_WIDTH)
            return position_tables_payload(model, length, width)

        return json_response(self._service.run_on_model(request, {}, work))

    def export(self, request: ApiRequest) -> ApiResponse:
        """The self-contained page."""
        desk, body = self._service, parse_inner_trace_request(request.body)
        view = request_fields.parse_bounded_text({"view": "#/attention", **request.body}, "view", 2000)
        found = desk.run_on_model(
            request,
            body,
            lambda model: model.tracer.with_qkv(
                desk.cached_trace(model, desk.parse_trace_request(model, body))
            ),
        )
        headers = {"Content-Disposition": 'attachment; filename="translation.html"'}
        return ApiResponse(render_trace_html(found, view).encode(), HTML_TYPE, headers=headers)


def parse_inner_trace_request(body: JsonBody) -> JsonBody:
    """The request of a trace inside the body of another."""
    return request_fields.parse_object(body, "request")

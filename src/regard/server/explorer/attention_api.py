"""The explorer's API for classifiers and forecasters: model facts and attention of one input."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from regard.server.explorer.checkpoint_cache import CheckpointCache
from regard.server.explorer.request_fields import JsonBody, parse_bounded_text, parse_object
from regard.server.explorer.request_queue import ModelExecutor
from regard.server.explorer.trace_service import (
    MAX_TEXT_CHARACTERS,
    ExplorerSettings,
    info_payload,
    parse_view,
)
from regard.server.explorer.training_runs import TrainingRun, training_routes
from regard.server.http_messages import HTML_TYPE, ApiRequest, ApiResponse, RouteTable, json_response
from regard.server.static_files import static_file_routes
from regard.trace.page import page_assets, render_trace_html
from regard.trace.schema import ModelFacts
from regard.trace.trace import Trace


@runtime_checkable
class AttentionTracer(Protocol):
    """A model whose attention can be traced."""

    def model_facts(self) -> ModelFacts: ...

    def trace(self, text: str, max_tokens: int) -> Trace:
        """Trace a text, or the series of that name."""
        ...


class AttentionApi:
    """Route handlers, one method per route."""

    def __init__(
        self,
        models: CheckpointCache[AttentionTracer],
        run: TrainingRun | None,
        settings: ExplorerSettings,
        comparison_runs: Sequence[TrainingRun],
    ) -> None:
        self._executor, self._run, self._settings = ModelExecutor(models), run, settings
        self._comparison_runs = comparison_runs

    def routes(self) -> RouteTable:
        """Return all routes: page files, API and metrics."""
        return {
            **static_file_routes(page_assets()),
            **training_routes([*([] if self._run is None else [self._run]), *self._comparison_runs]),
            "/api/info": {"GET": self.info},
            "/api/trace": {"POST": self.trace},
            "/api/export": {"POST": self.export},
        }

    def info(self, request: ApiRequest) -> ApiResponse:
        """Return model, limits and runs."""
        facts = self._executor.run(request, {}, lambda model: model.model_facts())
        return json_response(info_payload(facts, self._settings, self._run, self._comparison_runs))

    def trace(self, request: ApiRequest) -> ApiResponse:
        """Return the trace of one input."""
        return ApiResponse(self._compute_trace(request, request.body).dumps().encode())

    def export(self, request: ApiRequest) -> ApiResponse:
        """Return the offline page of one input."""
        view = parse_view(request.body)
        trace = self._compute_trace(request, parse_object(request.body, "request"))
        headers = {"Content-Disposition": 'attachment; filename="attention.html"'}
        return ApiResponse(render_trace_html(trace, view).encode(), HTML_TYPE, headers=headers)

    def _compute_trace(self, request: ApiRequest, body: JsonBody) -> Trace:
        text = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS)
        limit = self._settings.max_trace_tokens
        return self._executor.run(request, body, lambda model: model.trace(text, limit))

"""What is asked of a model that does not translate: what it is, and where it looks in one text or series."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from regard.server import request_fields
from regard.server.checkpoint_cache import CheckpointCache
from regard.server.http_messages import HTML_TYPE, ApiRequest, ApiResponse, RouteTable, json_response
from regard.server.request_queue import ModelExecutor
from regard.server.static_files import static_file_routes
from regard.server.trace_service import MAX_TEXT_CHARACTERS, ExplorerSettings
from regard.server.training_runs import TrainingRun, list_run_names, training_routes
from regard.trace.page import page_assets, render_trace_html
from regard.trace.schema import ModelFacts
from regard.trace.trace import Trace
from regard.version import __version__


class AttentionTracer(Protocol):
    """A model that can be looked into."""

    def model_facts(self) -> ModelFacts: ...

    def trace(self, text: str, max_tokens: int) -> Trace:
        """Where it looks: in a text, or in the series of that name."""
        ...


class AttentionApi:
    """One method for each question."""

    def __init__(
        self,
        models: CheckpointCache[AttentionTracer],
        run: TrainingRun | None,
        settings: ExplorerSettings,
        comparison_runs: Sequence[TrainingRun],
    ) -> None:
        self._work, self._run, self._offer = ModelExecutor(models), run, settings
        self._runs = [*([] if run is None else [run]), *comparison_runs]

    def routes(self) -> RouteTable:
        """The page's files, and the questions it can ask."""
        return {
            **static_file_routes(page_assets()),
            **training_routes(self._runs),
            "/api/info": {"GET": self.info},
            "/api/trace": {"POST": self.trace},
            "/api/export": {"POST": self.export},
        }

    def info(self, request: ApiRequest) -> ApiResponse:
        """What there is to look into."""
        facts = self._work.run(request, {}, lambda model: model.model_facts())
        names = list_run_names(self._runs)
        own = None if self._run is None else {**names[0], **self._run.checkpoint_summary(facts.id)}
        return json_response(
            {
                "regard": __version__,
                "model": asdict(facts),
                "limits": {"max_trace_tokens": self._offer.max_trace_tokens},
                "example": self._offer.example_text,
                "run": own,
                "others": names[1:],
            }
        )

    def trace(self, request: ApiRequest) -> ApiResponse:
        return ApiResponse(self._compute_trace(request, request.body).dumps().encode())

    def export(self, request: ApiRequest) -> ApiResponse:
        """The self-contained page."""
        view = request_fields.parse_bounded_text({"view": "#/attention", **request.body}, "view", 2000)
        found = self._compute_trace(request, request_fields.parse_object(request.body, "request"))
        headers = {"Content-Disposition": 'attachment; filename="attention.html"'}
        return ApiResponse(render_trace_html(found, view).encode(), HTML_TYPE, headers=headers)

    def _compute_trace(self, request: ApiRequest, body: request_fields.JsonBody) -> Trace:
        text, limit = (
            request_fields.parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS),
            self._offer.max_trace_tokens,
        )
        return self._work.run(request, body, lambda model: model.trace(text, limit))

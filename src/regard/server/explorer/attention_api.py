"""The explorer's API for classifiers and forecasters: model facts and attention of one input."""

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

from regard.server.explorer.checkpoint_cache import CheckpointCache
from regard.server.explorer.model_executor import ModelExecutor
from regard.server.explorer.request_fields import JsonBody, parse_bounded_text, parse_object
from regard.server.explorer.trace_service import (
    MAX_TEXT_CHARACTERS,
    ExplorerSettings,
    info_payload,
    parse_view,
)
from regard.server.explorer.training_runs import TrainingRun, training_routes
from regard.server.web.application import RouteTable
from regard.server.web.request_body import read_json_object
from regard.server.web.responses import HTML_TYPE, bytes_response, json_response
from regard.server.web.static_files import static_file_routes
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
        self.executor, self._run, self._settings = ModelExecutor(models), run, settings
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

    async def info(self, request: Request) -> Response:  # noqa: ARG002, a handler
        """Return model, limits and runs."""
        facts = await self.executor.run({}, lambda model: model.model_facts())
        return json_response(
            await asyncio.to_thread(info_payload, facts, self._settings, self._run, self._comparison_runs)
        )

    async def trace(self, request: Request) -> Response:
        """Return the trace of one input."""
        trace = await self._compute_trace(await read_json_object(request))
        return bytes_response(await asyncio.to_thread(lambda: trace.dumps().encode()))

    async def export(self, request: Request) -> Response:
        """Return the offline page of one input."""
        body = await read_json_object(request)
        view = parse_view(body)
        trace = await self._compute_trace(parse_object(body, "request"))
        return await page_response(trace, view, "attention.html")

    async def _compute_trace(self, body: JsonBody) -> Trace:
        text = parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS)
        limit = self._settings.max_trace_tokens
        return await self.executor.run(body, lambda model: model.trace(text, limit))


async def page_response(trace: Trace, view: str, name: str) -> Response:
    """Return the offline page of a trace as a download."""
    page = await asyncio.to_thread(lambda: render_trace_html(trace, view).encode())
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return bytes_response(page, HTML_TYPE, headers=headers)

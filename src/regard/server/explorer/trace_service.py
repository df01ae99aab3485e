"""Trace service: parses trace requests, runs them on a model and caches the latest traces."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from regard.search.config import SearchConfig
from regard.server.explorer.checkpoint_cache import CheckpointCache, ExplorerModel
from regard.server.explorer.model_executor import ModelExecutor
from regard.server.explorer.request_fields import (
    JsonBody,
    parse_bounded_text,
    parse_integer,
    parse_number,
    parse_object_list,
    parse_text_or_ids,
)
from regard.server.explorer.training_runs import TrainingRun, list_run_names
from regard.trace.request import TraceRequest, trace_id
from regard.trace.schema import ModelFacts
from regard.trace.trace import Trace
from regard.version import __version__

TRACE_CACHE_SIZE = 16
MAX_BEAM, MAX_CANDIDATES, MAX_EXTRA_TOKENS = 64, 200, 1000
MAX_TEXT_CHARACTERS = 20_000
MAX_VIEW_CHARACTERS = 2000
ServiceResult = TypeVar("ServiceResult")


@dataclass(frozen=True)
class ExplorerSettings:
    """Example, default search and trace limit of the page."""

    example_text: str
    search: SearchConfig
    max_trace_tokens: int


class TraceService:
    """A translation model in a thread of its own, with a cache of traces."""

    def __init__(
        self, models: CheckpointCache[ExplorerModel], run: TrainingRun | None, settings: ExplorerSettings
    ) -> None:
        self.models, self.run, self.settings = models, run, settings
        self.executor = ModelExecutor(models)
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    async def run_on_model(
        self, body: JsonBody, compute: Callable[[ExplorerModel], ServiceResult]
    ) -> ServiceResult:
        """Return `compute(model)` for the checkpoint named in the body, when its turn comes."""
        return await self.executor.run(body, compute)

    async def stream_from_model(
        self, body: JsonBody, compute: Callable[[ExplorerModel], Iterator[ServiceResult]]
    ) -> AsyncIterator[ServiceResult]:
        """Return the results of an iterator; other requests may run between two results."""
        return await self.executor.stream(body, compute)

    def parse_trace_request(self, model: ExplorerModel, body: JsonBody) -> TraceRequest:
        """Parse the trace request of the page."""
        search = self.settings.search
        target = body.get("target")
        return model.tracer.build_request(
            parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS),
            beam=parse_integer(body, "beam", search.beam, 1, MAX_BEAM),
            alpha=parse_number(body, "alpha", search.alpha, 0.0, 10.0),
            max_extra=parse_integer(body, "max_extra", 50, 0, MAX_EXTRA_TOKENS),
            top_k=min(parse_integer(body, "top_k", 10, 1, MAX_CANDIDATES), model.tokenizer.vocab_size),
            prefix=parse_text_or_ids(body, "prefix"),
            target=None if target is None else parse_text_or_ids(body, "target"),
            interventions=parse_object_list(body, "interventions"),
        )

    def cached_trace(self, model: ExplorerModel, trace_request: TraceRequest) -> Trace:
        """Return a trace from the cache, or compute it."""
        key = trace_id(model.id, trace_request)
        if key not in self._traces:
            self._traces[key] = model.tracer.trace(trace_request, self.settings.max_trace_tokens)
            if len(self._traces) > TRACE_CACHE_SIZE:
                self._traces.popitem(last=False)
        self._traces.move_to_end(key)
        return self._traces[key]


def info_payload(
    facts: ModelFacts,
    settings: ExplorerSettings,
    run: TrainingRun | None,
    comparison_runs: Sequence[TrainingRun],
) -> dict[str, Any]:
    """Return what the page needs to know of any model and its runs."""
    names = list_run_names([*([] if run is None else [run]), *comparison_runs])
    return {
        "regard": __version__,
        "model": asdict(facts),
        "limits": {"max_trace_tokens": settings.max_trace_tokens},
        "example": settings.example_text,
        "run": None if run is None else {**names[0], **run.checkpoint_summary(facts.id)},
        "others": names[1:],
    }


def parse_view(body: JsonBody) -> str:
    """Return the URL fragment that an exported page opens with."""
    return parse_bounded_text({"view": "#/attention", **body}, "view", MAX_VIEW_CHARACTERS)

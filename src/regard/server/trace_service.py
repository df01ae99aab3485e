"""The desk that requests come to: the models, and the traces made last."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from regard.search.config import SearchConfig
from regard.server import request_fields
from regard.server.checkpoint_cache import CheckpointCache, ExplorerModel
from regard.server.http_messages import ApiRequest
from regard.server.request_fields import JsonBody
from regard.server.request_queue import ModelExecutor
from regard.server.training_runs import TrainingRun
from regard.trace.request import TraceRequest as Asked
from regard.trace.request import trace_id
from regard.trace.trace import Trace

TRACE_CACHE_SIZE = 16
MAX_BEAM, MAX_CANDIDATES, MAX_EXTRA_TOKENS = 64, 200, 1000
MAX_TEXT_CHARACTERS = 20_000
"""Characters of a text."""
ServiceResult = TypeVar("ServiceResult")


@dataclass(frozen=True)
class ExplorerSettings:
    """What the page is offered at first, and how much it may ask for."""

    example_text: str
    search: SearchConfig
    max_trace_tokens: int


class TraceService:
    """What a model that translates is asked."""

    def __init__(
        self, models: CheckpointCache[ExplorerModel], run: TrainingRun | None, settings: ExplorerSettings
    ) -> None:
        self.run, self.settings = run, settings
        self._models, self._work = models, ModelExecutor(models)
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    def run_on_model(
        self, request: ApiRequest, body: JsonBody, compute: Callable[[ExplorerModel], ServiceResult]
    ) -> ServiceResult:
        """What `do` finds with the model that the body names, when it is its turn."""
        return self._work.run(request, body, compute)

    def stream_from_model(
        self, request: ApiRequest, body: JsonBody, compute: Callable[[ExplorerModel], Iterator[ServiceResult]]
    ) -> Iterator[ServiceResult]:
        """The same for what is found one by one."""
        return self._work.stream(request, body, compute)

    def parse_trace_request(self, model: ExplorerModel, body: JsonBody) -> Asked:
        """The request of a trace, as the page sends it."""
        search = self.settings.search
        target = body.get("target")
        return model.tracer.build_request(
            request_fields.parse_bounded_text(body, "text", MAX_TEXT_CHARACTERS),
            beam=request_fields.parse_integer(body, "beam", search.beam, 1, MAX_BEAM),
            alpha=request_fields.parse_number(body, "alpha", search.alpha, 0.0, 10.0),
            max_extra=request_fields.parse_integer(body, "max_extra", 50, 0, MAX_EXTRA_TOKENS),
            top_k=min(
                request_fields.parse_integer(body, "top_k", 10, 1, MAX_CANDIDATES), model.tokenizer.vocab_size
            ),
            prefix=request_fields.parse_text_or_ids(body, "prefix"),
            target=None if target is None else request_fields.parse_text_or_ids(body, "target"),
            interventions=request_fields.parse_object_list(body, "interventions"),
        )

    def cached_trace(self, model: ExplorerModel, trace_request: Asked) -> Trace:
        """One of those made last, or a new one."""
        key = trace_id(model.id, trace_request)
        if key not in self._traces:
            self._traces[key] = model.tracer.trace(trace_request, self.settings.max_trace_tokens)
            if len(self._traces) > TRACE_CACHE_SIZE:
                self._traces.popitem(last=False)
        self._traces.move_to_end(key)
        return self._traces[key]

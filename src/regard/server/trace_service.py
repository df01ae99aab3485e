"""The desk that requests come to: the models, and the traces made last."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from regard.search.config import SearchConfig
from regard.server import request_fields
from regard.server.checkpoint_cache import Model, Models
from regard.server.http_messages import Request
from regard.server.request_fields import Body
from regard.server.request_queue import Work
from regard.server.training_runs import Run
from regard.trace.request import Request as Asked
from regard.trace.request import trace_id
from regard.trace.trace import Trace

KEPT = 16
WIDEST, MOST_CANDIDATES, MOST_EXTRA = 64, 200, 1000
LONGEST = 20_000
"""Characters of a text."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class Offer:
    """What the page is offered at first, and how much it may ask for."""

    example: str
    search: SearchConfig
    max_trace_tokens: int


class Desk:
    """What a model that translates is asked."""

    def __init__(self, models: Models[Model], run: Run | None, offer: Offer) -> None:
        self.run, self.offer = run, offer
        self._models, self._work = models, Work(models)
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    def work(self, request: Request, body: Body, do: Callable[[Model], Found]) -> Found:
        """What `do` finds with the model that the body names, when it is its turn."""
        return self._work.on(request, body, do)

    def works(self, request: Request, body: Body, do: Callable[[Model], Iterator[Found]]) -> Iterator[Found]:
        """The same for what is found one by one."""
        return self._work.each(request, body, do)

    def asked(self, model: Model, body: Body) -> Asked:
        """The request of a trace, as the page sends it."""
        search = self.offer.search
        target = body.get("target")
        return model.tracer.request(
            request_fields.short_text(body, "text", LONGEST),
            beam=request_fields.whole(body, "beam", search.beam, 1, WIDEST),
            alpha=request_fields.number(body, "alpha", search.alpha, 0.0, 10.0),
            max_extra=request_fields.whole(body, "max_extra", 50, 0, MOST_EXTRA),
            top_k=min(
                request_fields.whole(body, "top_k", 10, 1, MOST_CANDIDATES), model.tokenizer.vocab_size
            ),
            prefix=request_fields.text_or_ids(body, "prefix"),
            target=None if target is None else request_fields.text_or_ids(body, "target"),
            interventions=request_fields.objects(body, "interventions"),
        )

    def trace(self, model: Model, asked: Asked) -> Trace:
        """One of those made last, or a new one."""
        key = trace_id(model.id, asked)
        if key not in self._traces:
            self._traces[key] = model.tracer.trace(asked, self.offer.max_trace_tokens)
            if len(self._traces) > KEPT:
                self._traces.popitem(last=False)
        self._traces.move_to_end(key)
        return self._traces[key]

"""The desk that requests come to: the models, the traces made last, and whose turn it is."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain, islice
from typing import TypeVar

import torch

from regard.explorer import fields
from regard.explorer.fields import Body
from regard.explorer.models import Model, Models
from regard.explorer.reply import Request, RequestError
from regard.explorer.run import Run
from regard.explorer.turns import Turns
from regard.search.config import SearchConfig
from regard.trace.request import LengthError, trace_id
from regard.trace.request import Request as Asked
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
    """Does one thing at a time: a model computes no faster for two who ask at once."""

    def __init__(self, models: Models, run: Run | None, offer: Offer) -> None:
        self.run, self.offer = run, offer
        self._models, self._turns = models, Turns()
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    def work(self, request: Request, body: Body, do: Callable[[Model], Found]) -> Found:
        """What `do` finds with the model that the body names, when it is its turn."""
        step = None if body.get("step") is None else fields.whole(body, "step", None, 0, 10**12)
        return self._in_turn(request, lambda: do(self._models.model(step)))

    def works(self, request: Request, body: Body, do: Callable[[Model], Iterator[Found]]) -> Iterator[Found]:
        """The same for what is found one by one: the first at once; between two, others have their turn."""

        def begin(model: Model) -> tuple[list[Found], Iterator[Found]]:
            found = do(model)
            return list(islice(found, 1)), found

        first, rest = self.work(request, body, begin)
        return chain(first, self._rest(request, rest))

    def _rest(self, request: Request, found: Iterator[Found]) -> Iterator[Found]:
        while each := self._in_turn(request, lambda: list(islice(found, 1))):
            yield from each

    def _in_turn(self, request: Request, do: Callable[[], Found]) -> Found:
        with self._turns.turn(request), torch.inference_mode(), _saying_too_long():
            return do()

    def asked(self, model: Model, body: Body) -> Asked:
        """The request of a trace, as the page sends it."""
        search = self.offer.search
        target = body.get("target")
        return model.tracer.request(
            fields.short_text(body, "text", LONGEST),
            beam=fields.whole(body, "beam", search.beam, 1, WIDEST),
            alpha=fields.number(body, "alpha", search.alpha, 0.0, 10.0),
            max_extra=fields.whole(body, "max_extra", 50, 0, MOST_EXTRA),
            top_k=min(fields.whole(body, "top_k", 10, 1, MOST_CANDIDATES), model.tokenizer.vocab_size),
            prefix=fields.text_or_ids(body, "prefix"),
            target=None if target is None else fields.text_or_ids(body, "target"),
            interventions=fields.objects(body, "interventions"),
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


@contextmanager
def _saying_too_long() -> Iterator[None]:
    try:
        yield
    except LengthError as error:
        said = str(error.naming("--max-trace-tokens of `regard explore`"))
        raise RequestError("too_long", said, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.limit) from None

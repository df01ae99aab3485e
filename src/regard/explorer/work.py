"""Work on a model, one request at a time: a model computes no faster for two who ask at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import chain, islice
from typing import Generic, TypeVar

import torch

from regard.explorer import fields
from regard.explorer.fields import Body
from regard.explorer.models import Models, Ready
from regard.explorer.reply import Request, RequestError
from regard.explorer.turns import Turns
from regard.trace.request import LengthError

Found = TypeVar("Found")


class Work(Generic[Ready]):
    """The models, and whose turn it is."""

    def __init__(self, models: Models[Ready]) -> None:
        self._models, self._turns = models, Turns()

    def on(self, request: Request, body: Body, do: Callable[[Ready], Found]) -> Found:
        """What `do` finds with the model that the body names, when it is its turn."""
        step = None if body.get("step") is None else fields.whole(body, "step", None, 0, 10**12)
        return self._in_turn(request, lambda: do(self._models.model(step)))

    def each(self, request: Request, body: Body, do: Callable[[Ready], Iterator[Found]]) -> Iterator[Found]:
        """The same for what is found one by one: the first at once; between two, others have their turn."""

        def begin(model: Ready) -> tuple[list[Found], Iterator[Found]]:
            found = do(model)
            return list(islice(found, 1)), found

        first, rest = self.on(request, body, begin)
        return chain(first, self._rest(request, rest))

    def _rest(self, request: Request, found: Iterator[Found]) -> Iterator[Found]:
        while each := self._in_turn(request, lambda: list(islice(found, 1))):
            yield from each

    def _in_turn(self, request: Request, do: Callable[[], Found]) -> Found:
        with self._turns.turn(request), torch.inference_mode(), _saying_too_long():
            return do()


@contextmanager
def _saying_too_long() -> Iterator[None]:
    try:
        yield
    except LengthError as error:
        said = str(error.naming("--max-trace-tokens of `regard explore`"))
        raise RequestError("too_long", said, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.limit) from None

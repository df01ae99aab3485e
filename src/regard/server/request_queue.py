"""Whose turn it is: one request computes at a time, in the order they came, and none for nobody."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import chain, islice
from threading import Condition
from typing import Generic, TypeVar

import torch

from regard.server import request_fields
from regard.server.checkpoint_cache import CheckpointCache, ModelT
from regard.server.http_messages import ApiRequest, RequestError
from regard.server.request_fields import JsonBody
from regard.trace.request import TraceLengthError

DISCONNECT_POLL_SECONDS = 0.5
"""Seconds after which whoever waits looks whether it is still waited for."""


class RequestQueue:
    """A queue for what can do one thing at a time."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._queue: deque[ApiRequest] = deque()

    @contextmanager
    def turn(self, request: ApiRequest) -> Iterator[None]:
        """Waits for it; gives up if nobody listens any more."""
        with self._changed:
            self._queue.append(request)
            self._changed.notify_all()
            try:
                self._wait(request)
            except BaseException:
                self._leave(request)
                raise
        try:
            yield
        finally:
            with self._changed:
                self._leave(request)

    def _wait(self, request: ApiRequest) -> None:
        while self._queue[0] is not request:
            self._changed.wait(DISCONNECT_POLL_SECONDS)
            _reject_if_disconnected(request)
        _reject_if_disconnected(request)

    def _leave(self, request: ApiRequest) -> None:
        self._queue = deque(other for other in self._queue if other is not request)
        self._changed.notify_all()


def _reject_if_disconnected(request: ApiRequest) -> None:
    """The answer reaches nobody; it ends the request."""
    if request.is_disconnected():
        raise RequestError("gone", "whoever asked has hung up", HTTPStatus.SERVICE_UNAVAILABLE)


ExecutorResult = TypeVar("ExecutorResult")


class ModelExecutor(Generic[ModelT]):
    """The models, and whose turn it is."""

    def __init__(self, models: CheckpointCache[ModelT]) -> None:
        self._models, self._queue = models, RequestQueue()

    def run(
        self, request: ApiRequest, body: JsonBody, compute: Callable[[ModelT], ExecutorResult]
    ) -> ExecutorResult:
        """What `do` finds with the model that the body names, when it is its turn."""
        step = (
            None if body.get("step") is None else request_fields.parse_integer(body, "step", None, 0, 10**12)
        )
        return self._run_in_turn(request, lambda: compute(self._models.get(step)))

    def stream(
        self, request: ApiRequest, body: JsonBody, compute: Callable[[ModelT], Iterator[ExecutorResult]]
    ) -> Iterator[ExecutorResult]:
        """The same for what is found one by one: the first at once; between two, others have their turn."""

        def begin(model: ModelT) -> tuple[list[ExecutorResult], Iterator[ExecutorResult]]:
            found = compute(model)
            return list(islice(found, 1)), found

        first, rest = self.run(request, body, begin)
        return chain(first, self._rest(request, rest))

    def _rest(self, request: ApiRequest, found: Iterator[ExecutorResult]) -> Iterator[ExecutorResult]:
        while each := self._run_in_turn(request, lambda: list(islice(found, 1))):
            yield from each

    def _run_in_turn(self, request: ApiRequest, do: Callable[[], ExecutorResult]) -> ExecutorResult:
        with self._queue.turn(request), torch.inference_mode(), _convert_length_error():
            return do()


@contextmanager
def _convert_length_error() -> Iterator[None]:
    try:
        yield
    except TraceLengthError as error:
        said = str(error.with_setting("--max-trace-tokens of `regard explore`"))
        raise RequestError("too_long", said, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.limit) from None

"""Request queue: one request computes at a time, in order of arrival; abandoned requests are dropped.

A model computes no faster for two requests at once.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import chain, islice
from threading import Condition
from typing import Generic, TypeVar

import torch

from regard.server.explorer.checkpoint_cache import CheckpointCache, ModelT
from regard.server.explorer.request_fields import JsonBody, parse_integer
from regard.server.http_messages import ApiRequest, RequestError
from regard.trace.request import TraceLengthError

ExecutorResult = TypeVar("ExecutorResult")
DISCONNECT_POLL_SECONDS = 0.5
"""How often a waiting request checks whether its client has disconnected."""


class RequestQueue:
    """A first-come, first-served lock that drops requests of disconnected clients."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._queue: deque[ApiRequest] = deque()

    @contextmanager
    def turn(self, request: ApiRequest) -> Iterator[None]:
        """Wait for the request's turn; raise if its client disconnects."""
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
    """Raise if the client has disconnected: nobody would read the response."""
    if request.is_disconnected():
        raise RequestError("gone", "the client has disconnected", HTTPStatus.SERVICE_UNAVAILABLE)


class ModelExecutor(Generic[ModelT]):
    """Runs functions on a loaded model, one request at a time."""

    def __init__(self, models: CheckpointCache[ModelT]) -> None:
        self._models, self._queue = models, RequestQueue()

    def run(
        self, request: ApiRequest, body: JsonBody, compute: Callable[[ModelT], ExecutorResult]
    ) -> ExecutorResult:
        """Return `compute(model)` for the checkpoint named in the body, when the request's turn comes."""
        step = None if body.get("step") is None else parse_integer(body, "step", None, 0, 10**12)
        return self._run_in_turn(request, lambda: compute(self._models.get(step)))

    def stream(
        self, request: ApiRequest, body: JsonBody, compute: Callable[[ModelT], Iterator[ExecutorResult]]
    ) -> Iterator[ExecutorResult]:
        """Yield the results of an iterator; other requests may run between two results.

        The first result is computed at once, so that an error becomes the response.
        """

        def start(model: ModelT) -> tuple[list[ExecutorResult], Iterator[ExecutorResult]]:
            results = compute(model)
            return list(islice(results, 1)), results

        first, rest = self.run(request, body, start)
        return chain(first, self._rest(request, rest))

    def _rest(self, request: ApiRequest, results: Iterator[ExecutorResult]) -> Iterator[ExecutorResult]:
        while next_results := self._run_in_turn(request, lambda: list(islice(results, 1))):
            yield from next_results

    def _run_in_turn(self, request: ApiRequest, compute: Callable[[], ExecutorResult]) -> ExecutorResult:
        with self._queue.turn(request), torch.inference_mode(), _convert_length_error():
            return compute()


@contextmanager
def _convert_length_error() -> Iterator[None]:
    try:
        yield
    except TraceLengthError as error:
        message = str(error.with_setting("--max-trace-tokens of `regard explore`"))
        raise RequestError("too_long", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.limit) from None

"""Runs computations on a loaded model in one thread, in order of arrival.

A model computes no faster for two requests at once. The event loop stays free, so that files and metrics are
served meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from itertools import islice
from typing import Generic, TypeVar

import torch

from regard.server.explorer.checkpoint_cache import CheckpointCache, ModelT
from regard.server.explorer.request_fields import JsonBody, parse_integer
from regard.server.web.responses import RequestError
from regard.trace.request import TraceLengthError

ExecutorResult = TypeVar("ExecutorResult")


class ModelExecutor(Generic[ModelT]):
    """Runs functions on a loaded model, one at a time.

    A request whose client leaves is cancelled by the server, and with it a computation that has not begun.
    """

    def __init__(self, models: CheckpointCache[ModelT]) -> None:
        self._models = models
        self._thread = ThreadPoolExecutor(1, "model")
        self._is_computing = False

    @property
    def is_computing(self) -> bool:
        """Whether the thread computes; it cannot be interrupted."""
        return self._is_computing

    async def run(self, body: JsonBody, compute: Callable[[ModelT], ExecutorResult]) -> ExecutorResult:
        """Return `compute(model)` for the checkpoint named in the body, when its turn comes."""
        step = None if body.get("step") is None else parse_integer(body, "step", None, 0, 10**12)
        return await self._submit(lambda: compute(self._models.get(step)))

    async def stream(
        self, body: JsonBody, compute: Callable[[ModelT], Iterator[ExecutorResult]]
    ) -> AsyncIterator[ExecutorResult]:
        """Return the results of an iterator; other computations may run between two results.

        The first result is computed at once, so that an error becomes the response.
        """

        def start(model: ModelT) -> tuple[list[ExecutorResult], Iterator[ExecutorResult]]:
            results = compute(model)
            return list(islice(results, 1)), results

        return self._continue(*await self.run(body, start))

    async def _continue(
        self, ready: list[ExecutorResult], results: Iterator[ExecutorResult]
    ) -> AsyncIterator[ExecutorResult]:
        while ready:
            for result in ready:
                yield result
            ready = await self._submit(lambda: list(islice(results, 1)))

    async def _submit(self, compute: Callable[[], ExecutorResult]) -> ExecutorResult:
        return await asyncio.wrap_future(self._thread.submit(self._compute, compute))

    def _compute(self, compute: Callable[[], ExecutorResult]) -> ExecutorResult:
        self._is_computing = True
        try:
            with torch.inference_mode(), _convert_length_error():
                return compute()
        finally:
            self._is_computing = False


@contextmanager
def _convert_length_error() -> Iterator[None]:
    try:
        yield
    except TraceLengthError as error:
        message = str(error.with_setting("--max-trace-tokens of `regard explore`"))
        raise RequestError("too_long", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.limit) from None

"""One request while it waits: submits its jobs, takes the answers, and tries again what a reload overtook."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from regard.server.scheduling.scheduler import Answer, SegmentJob
from regard.server.translation.request_progress import PendingSegment, RequestProgress
from regard.server.translation.requests import (
    DeadlineExceededError,
    StreamEvent,
    TextRequest,
    TranslationFailedError,
)
from regard.server.translation.served_models import ModelVersion
from regard.server.worker.protocol import SegmentTranslation

PREPARE_IN_THREAD_CHARACTERS = 4000
"""Longer requests are split and tokenized in a thread, so that others go on."""
MAX_ANSWERS = 256
"""Answers of a request that are put together in one turn of the event loop."""
DEADLINE_MESSAGE = "the translation was not finished before the deadline of the request"
CallInbox = asyncio.Queue[list[Answer[SegmentTranslation]] | BaseException]


@runtime_checkable
class JobSubmitter(Protocol):
    """What a call needs of the service."""

    def submit_jobs(
        self, client: str, deadline: float, jobs: Sequence[SegmentJob], inbox: CallInbox, is_admitted: bool
    ) -> int:
        """Queue jobs whose answers go to the inbox; raise `OverloadedError` if they would wait too long."""
        ...

    def close_call(self, number: int) -> None:
        """Drop what is left of a submission."""
        ...

    def current_versions(self) -> Mapping[str, ModelVersion]:
        """Return the models by name, in the version that new segments get."""
        ...


class RequestCall:
    """One request while it waits for its answers."""

    def __init__(
        self,
        service: JobSubmitter,
        request: TextRequest,
        progress: RequestProgress,
        deadline: float,
    ) -> None:
        self._service, self._progress, self._deadline = service, progress, deadline
        self._client = request.client
        self._inbox: CallInbox = asyncio.Queue()
        self._received: list[Answer[SegmentTranslation]] = []
        self._places: dict[int, list[tuple[PendingSegment, int]]] = {}
        self._open = 0
        delay = deadline - time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    async def run(self) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of the request until all its segments are answered."""
        segments = self._progress.segments
        await self._submit(segments, is_admitted=False)
        for event in self._progress.empty_texts():
            yield event
        for event in self._progress.finished_without_model(segments):
            yield event
        while self._open:
            onward: dict[PendingSegment, None] = {}
            for answer in await self._next_answers():
                self._open -= 1
                segment, part = self._places[answer.request][answer.index]
                if segment in onward or segment.submission != answer.request:
                    continue  # the segment was submitted once more
                if answer.failure is not None:
                    onward[self._recover(segment, answer)] = None
                    continue
                assert answer.result is not None
                for event in self._progress.add(segment, part, answer.result):
                    if isinstance(event, PendingSegment):
                        onward[event] = None
                    else:
                        yield event
            if onward:
                await self._submit([*onward], is_admitted=True)
                for event in self._progress.finished_without_model([*onward]):
                    yield event

    async def _next_answers(self) -> list[Answer[SegmentTranslation]]:
        """Return the answers that have come; many in parts, between which others have their turn."""
        if self._received:
            await asyncio.sleep(0)
        else:
            answers = await self._inbox.get()
            if isinstance(answers, BaseException):
                raise answers
            self._received = answers
        some, self._received = self._received[:MAX_ANSWERS], self._received[MAX_ANSWERS:]
        return some

    def close(self) -> None:
        self._timer.cancel()
        for number in self._places:
            self._service.close_call(number)

    def _expire(self) -> None:
        self._inbox.put_nowait(DeadlineExceededError(DEADLINE_MESSAGE))

    def _recover(self, segment: PendingSegment, answer: Answer[SegmentTranslation]) -> PendingSegment:
        """Return the segment if its model was replaced meanwhile, so that it can be tried; else raise."""
        if answer.failure == "expired":
            raise DeadlineExceededError(DEADLINE_MESSAGE)
        version = segment.version
        current = None if version is None else self._service.current_versions().get(version.name)
        is_replaced = version is not None and current is not None and current.handle != version.handle
        if segment.was_resubmitted or not is_replaced:
            raise TranslationFailedError(answer.message or "the translation failed")
        segment.was_resubmitted = True
        return segment

    async def _submit(self, segments: Sequence[PendingSegment], is_admitted: bool) -> None:
        versions = self._service.current_versions()
        characters = sum(len(segment.input) for segment in segments)
        if characters > PREPARE_IN_THREAD_CHARACTERS:
            jobs = await asyncio.to_thread(self._progress.make_jobs, segments, versions)
        else:
            jobs = self._progress.make_jobs(segments, versions)
        if not jobs:
            return
        number = self._service.submit_jobs(
            self._client, self._deadline, [job for *_, job in jobs], self._inbox, is_admitted
        )
        self._places[number] = [(segment, part) for segment, part, _ in jobs]
        for segment, *_ in jobs:
            segment.submission = number
        self._open += len(jobs)

"""Batch scheduler: admits requests, gives out batches to free slots, and passes results to all who wait.

A job is one computation; equal segments of several requests share it, also while it runs. Each waiting
segment stands in the queue of its own request, so a job whose first client has gone keeps the place of the
next. The caller passes the time in and takes the answers out; nothing here waits.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, Literal, NamedTuple, TypeVar

from regard.server.scheduling.admission import Backlog
from regard.server.scheduling.cost_model import CostModel
from regard.server.scheduling.fair_queue import BatchKey, BatchLimits, FairQueue, QueueEntry
from regard.server.scheduling.sentence_cache import SentenceCache

ResultT = TypeVar("ResultT")
FailureKind = Literal["expired", "failed"]
MIN_BATCH_TOKENS = 256
"""A batch may always have so many: of a model that needs longer for one sentence than a batch should take, it
computes many in little more time, and only batches of several sizes show that."""
RETRY_GROUP_SIZES = (0, 16, 1)
"""Segments of a batch by the number of the attempt; after an attempt alone, a segment has failed."""
ALONE = len(RETRY_GROUP_SIZES) - 1


class JobKey(NamedTuple):
    """Everything that a translation depends on."""

    batch_key: BatchKey
    text: str


class SegmentJob(NamedTuple):
    """One segment to translate."""

    key: JobKey
    tokens: int
    """Of the source, end mark included; at least 1."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[ResultT]):
    """The end of one segment of a request: a result, or why there is none."""

    request: int
    index: int
    result: ResultT | None
    failure: FailureKind | None = None
    message: str = ""


@dataclass(frozen=True)
class SchedulerLimits:
    """Limits of batches and of the queue."""

    batch_seconds: float = 0.25
    """Predicted time of a batch."""
    max_wait_seconds: float = 8.0
    """A request that would wait longer is refused."""
    batch_segments: int = 512
    queued_segments: int = 200_000


class RefusedError(Exception):
    """A request that would wait too long."""

    def __init__(self, wait: float, retry_after: float) -> None:
        super().__init__(f"the queue is {wait:.1f} s long")
        self.wait, self.retry_after = wait, retry_after


@dataclass(frozen=True)
class Batch:
    """Segments that are translated at once."""

    id: int
    key: BatchKey
    jobs: tuple[SegmentJob, ...]
    predicted_seconds: float
    attempt: int = 0


@dataclass(eq=False)
class _Job:
    segment: SegmentJob
    waiters: dict[tuple[int, int], None] = field(default_factory=dict)
    """(request, index) of every segment that waits for it."""
    running: bool = False
    attempt: int = 0
    seconds: float = 0.0
    """Predicted, in the backlog of the owner; 0 once it runs."""
    owner: tuple[str, int] | None = None
    """Client and request."""


@dataclass(eq=False)
class _Request:
    client: str
    deadline: float
    open: dict[int, _Job] = field(default_factory=dict)
    """The jobs of the segments that have no answer yet."""


@dataclass(eq=False)
class _Running:
    batch: Batch
    jobs: list[_Job]
    requests: frozenset[int]


@dataclass
class SchedulerCounts:
    """Counters since the start."""

    batches: int = 0
    segments: int = 0
    tokens: int = 0
    coalesced: int = 0
    skipped: int = 0
    refused: int = 0
    batch_sizes: Counter[int] = field(default_factory=Counter)


class BatchScheduler(Generic[ResultT]):
    """Queue, running batches and cache of the translation server."""

    def __init__(
        self,
        limits: SchedulerLimits,
        cache: SentenceCache[ResultT],
        batch_tokens: Callable[[BatchKey], int],
        size_of: Callable[[ResultT], int],
        slots: int = 1,
    ) -> None:
        """`batch_tokens` is the token budget of the engine, `slots` how many batches run at once."""
        self.limits, self.cache, self.slots = limits, cache, slots
        self.counts = SchedulerCounts()
        self._batch_tokens, self._size_of = batch_tokens, size_of
        self._queue, self._backlog = FairQueue(), Backlog()
        self._costs: dict[tuple[str, str], CostModel] = {}
        self._requests: dict[int, _Request] = {}
        self._jobs: dict[JobKey, _Job] = {}
        self._running: dict[int, _Running] = {}
        self._retries: deque[_Job] = deque()
        self._answers: list[Answer[ResultT]] = []
        self._request_numbers, self._batch_numbers = count(1), count(1)

    @property
    def queued_segments(self) -> int:
        return len(self._queue) + len(self._retries)

    @property
    def running_segments(self) -> int:
        return sum(len(each.jobs) for each in self._running.values())

    @property
    def running_batches(self) -> int:
        return len(self._running)

    @property
    def queued_seconds(self) -> float:
        """The predicted time until the queue is empty."""
        return self._backlog.seconds / self.slots

    @property
    def is_idle(self) -> bool:
        return not self._requests and not self._running

    def uses_model(self, model: str) -> bool:
        """Return whether a queued or running segment needs a model."""
        return any(job.segment.key.batch_key.model == model for job in self._jobs.values())

    def cost_model(self, key: BatchKey) -> CostModel:
        """Return the cost model of a batch key; one for each kind of search of each model."""
        place = (key.model, key.kind)
        return self._costs.setdefault(place, CostModel())

    def forget_model(self, model: str) -> None:
        """Drop the cost models of a model that was unloaded."""
        self._costs = {place: cost for place, cost in self._costs.items() if place[0] != model}

    def submit(
        self,
        client: str,
        deadline: float,
        segments: Sequence[SegmentJob],
        now: float,
        is_admitted: bool = False,
    ) -> int:
        """Queue the segments of a request and return its number; raise `RefusedError` if it would wait long.

        Segments whose result is known are answered at once. A further part of a request that has been
        admitted is not refused.
        """
        cached = [self.cache.get(segment.key) for segment in segments]
        new = {
            segment.key: segment
            for segment, result in zip(segments, cached, strict=True)
            if result is None and segment.key not in self._jobs
        }
        seconds = {key: self.cost_model(key.batch_key).per_token * new[key].tokens for key in new}
        if new and not is_admitted:
            self._admit(client, deadline, math.fsum(seconds.values()), len(new), now)
        number = next(self._request_numbers)
        request = self._requests[number] = _Request(client, deadline)
        for index, (segment, result) in enumerate(zip(segments, cached, strict=True)):
            if result is not None:
                self._answers.append(Answer(number, index, result))
                continue
            job = self._jobs.get(segment.key)
            if job is None:
                job = self._jobs[segment.key] = _Job(segment)
                self._own(job, (client, number), seconds[segment.key])
            else:
                self.counts.coalesced += 1
            job.waiters[number, index] = None
            request.open[index] = job
            if not job.running and job.attempt == 0:
                self._queue.add(client, segment.key.batch_key, QueueEntry(number, index, segment.tokens))
        self._close_if_answered(number)
        return number

    def cancel(self, number: int) -> None:
        """Drop a request whose client has gone; what already runs for it is finished and cached."""
        request = self._requests.get(number)
        if request is None:
            return
        self.counts.skipped += sum(not job.running for job in request.open.values())
        for index, job in request.open.items():
            self._leave(job, number, index)
        del self._requests[number]
        self._queue.remove_request(number)

    def pull(self, now: float) -> Batch | None:
        """Return the next batch for a free slot; None if nothing can start."""
        if len(self._running) >= self.slots:
            return None
        retry = self._pull_retry(now)
        if retry is not None:
            return retry
        used = Counter(number for each in self._running.values() for number in each.requests)
        most = max(1, self.slots - 1)
        started: list[_Job] = []

        def accept(entry: QueueEntry) -> bool:
            job = self._startable(entry.request, entry.position, now)
            if job is None or job.attempt:  # those that are tried again have a queue of their own
                return False
            job.running = True  # an equal segment further on is then dropped
            started.append(job)
            return True

        taken = self._queue.take_batch(self._limits_of, accept, lambda number: used[number] < most)
        return None if taken is None else self._start(taken[0], started)

    def complete(self, batch_id: int, results: Sequence[ResultT], seconds: float) -> None:
        """Pass the results of a batch to all who wait, and learn its time."""
        running = self._running.pop(batch_id, None)
        if running is None:
            return
        tokens = sum(job.segment.tokens for job in running.jobs)
        self.cost_model(running.batch.key).observe(tokens, seconds)
        self.counts.batches += 1
        self.counts.segments += len(running.jobs)
        self.counts.tokens += tokens
        self.counts.batch_sizes[1 << (len(running.jobs) - 1).bit_length()] += 1
        for job, result in zip(running.jobs, results, strict=True):
            key = job.segment.key
            self.cache.put(
                key, result, self._size_of(result) + len(key.text) + 4 * len(key.batch_key.options)
            )
            self._end(job, result)

    def fail(self, batch_id: int, message: str) -> None:
        """Try each segment of a failed batch once more alone; answer those that have been."""
        self._retry(batch_id, message, lambda _: ALONE)

    def lose(self, batch_id: int, message: str) -> None:
        """Try the segments of a batch whose process died once more in a small batch, then alone."""
        self._retry(batch_id, message, lambda attempt: attempt + 1)

    def take_answers(self) -> list[Answer[ResultT]]:
        """Return the answers since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def _admit(self, client: str, deadline: float, seconds: float, segments: int, now: float) -> None:
        wait = self._backlog.predict_wait(client, seconds) / self.slots
        limit = min(self.limits.max_wait_seconds, max(deadline - now, 0.0))
        too_many = self.queued_segments + segments > self.limits.queued_segments and self.queued_segments > 0
        if wait > limit or too_many:
            self.counts.refused += 1
            raise RefusedError(wait, max(1.0, wait - self.limits.max_wait_seconds / 2))

    def _limits_of(self, key: BatchKey) -> BatchLimits:
        within = self.cost_model(key).tokens_within(self.limits.batch_seconds)
        tokens = min(max(within, MIN_BATCH_TOKENS), self._batch_tokens(key))
        return BatchLimits(tokens, self.limits.batch_segments)

    def _startable(self, number: int, index: int, now: float) -> _Job | None:
        """Return the job of a waiting segment, unless it is not needed; answer an expired one."""
        request = self._requests.get(number)
        job = None if request is None else request.open.get(index)
        if request is None or job is None or job.running:
            return None
        if request.deadline <= now:
            self.counts.skipped += 1
            self._answer(number, index, None, "expired")
            self._leave(job, number, index)
            return None
        return job

    def _start(self, key: BatchKey, jobs: list[_Job], attempt: int = 0) -> Batch:
        for job in jobs:
            job.running = True
            self._own(job, None, 0.0)
        segments = tuple(job.segment for job in jobs)
        predicted = self.cost_model(key).predict(sum(segment.tokens for segment in segments))
        batch = Batch(next(self._batch_numbers), key, segments, predicted, attempt)
        requests = frozenset(number for job in jobs for number, _ in job.waiters)
        self._running[batch.id] = _Running(batch, jobs, requests)
        return batch

    def _pull_retry(self, now: float) -> Batch | None:
        """Return a batch of segments that are tried again; one such batch runs at a time.

        So the one segment that ends the process takes no other along that has been tried before.
        """
        if not self._retries or any(each.batch.attempt for each in self._running.values()):
            return None
        group: list[_Job] = []
        while self._retries:
            job = self._retries[0]
            if group and (
                job.attempt != group[0].attempt
                or job.segment.key.batch_key != group[0].segment.key.batch_key
                or len(group) >= RETRY_GROUP_SIZES[job.attempt]
            ):
                break
            self._retries.popleft()
            waiting = [self._startable(*waiter, now) for waiter in list(job.waiters)]
            if any(each is not None for each in waiting):
                group.append(job)
        if not group:
            return None
        return self._start(group[0].segment.key.batch_key, group, group[0].attempt)

    def _retry(self, batch_id: int, message: str, next_attempt: Callable[[int], int]) -> None:
        running = self._running.pop(batch_id, None)
        for job in running.jobs if running is not None else ():
            job.running = False
            if not job.waiters:
                self._jobs.pop(job.segment.key, None)
            elif job.attempt >= ALONE:
                self._end(job, None, "failed", message)
            else:
                job.attempt = next_attempt(job.attempt)
                self._retries.append(job)

    def _end(
        self, job: _Job, result: ResultT | None, failure: FailureKind | None = None, message: str = ""
    ) -> None:
        """Answer all who wait for a job."""
        self._jobs.pop(job.segment.key, None)
        waiters, job.waiters = job.waiters, {}
        for number, index in waiters:
            self._answer(number, index, result, failure, message)

    def _answer(
        self,
        number: int,
        index: int,
        result: ResultT | None,
        failure: FailureKind | None = None,
        message: str = "",
    ) -> None:
        self._requests[number].open.pop(index)
        self._answers.append(Answer(number, index, result, failure, message))
        self._close_if_answered(number)

    def _close_if_answered(self, number: int) -> None:
        request = self._requests.get(number)
        if request is not None and not request.open:
            del self._requests[number]
            self._queue.remove_request(number)

    def _leave(self, job: _Job, number: int, index: int) -> None:
        """Take one waiter from a job; its work then belongs to the next, or is dropped."""
        job.waiters.pop((number, index), None)
        if job.running:
            return
        if not job.waiters:
            self._own(job, None, 0.0)
            self._jobs.pop(job.segment.key, None)
            if job.attempt:
                self._retries = deque(each for each in self._retries if each is not job)
        elif job.owner is not None and job.owner[1] == number:
            heir = next(iter(job.waiters))[0]
            self._own(job, (self._requests[heir].client, heir), job.seconds)

    def _own(self, job: _Job, owner: tuple[str, int] | None, seconds: float) -> None:
        """Move the work of a job to the backlog of a request."""
        if job.owner is not None:
            self._backlog.change(*job.owner, -job.seconds)
        job.owner, job.seconds = owner, seconds
        if owner is not None:
            self._backlog.change(*owner, seconds)

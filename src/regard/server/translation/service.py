"""Translation service of the server: requests in, results out, over the scheduler and the model processes."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from functools import lru_cache

from regard.errors import RegardError
from regard.server.scheduling.fair_queue import BatchKey
from regard.server.scheduling.scheduler import (
    Answer,
    Batch,
    BatchScheduler,
    RefusedError,
    SchedulerLimits,
    SegmentJob,
)
from regard.server.scheduling.sentence_cache import SentenceCache
from regard.server.translation.model_registry import ModelRegistry
from regard.server.translation.request_call import (
    PREPARE_IN_THREAD_CHARACTERS,
    CallInbox,
    RequestCall,
)
from regard.server.translation.request_progress import RequestProgress, check_request
from regard.server.translation.requests import (
    DeadlineExceededError,
    DetectedLanguage,
    InvalidRequestError,
    OverloadedError,
    ReloadResult,
    ServedLanguage,
    ServedModel,
    ServiceMetrics,
    ServiceState,
    StreamEvent,
    TextEvent,
    TextRequest,
    TextResult,
    TextTooLongError,
    TranslateRequestError,
    TranslationFailedError,
    UnavailableError,
    UnsupportedLanguageError,
    UnsureLanguageError,
)
from regard.server.translation.serve_settings import ServeSettings
from regard.server.translation.served_models import (
    ModelVersion,
    has_changed,
    read_model_version,
)
from regard.server.worker.protocol import (
    BatchDone,
    BatchFailed,
    BatchRequest,
    SegmentOptions,
    SegmentTranslation,
    decode_options,
)
from regard.server.worker.supervisor import WorkerEvents, WorkerLimits, WorkerSupervisor

REFUSALS: tuple[tuple[type[TranslateRequestError], str], ...] = (
    (OverloadedError, "overloaded"),
    (DeadlineExceededError, "deadline"),
    (UnsupportedLanguageError, "language"),
    (UnsureLanguageError, "unsure"),
    (TextTooLongError, "too_long"),
    (InvalidRequestError, "invalid"),
    (UnavailableError, "unavailable"),
    (TranslationFailedError, "failed"),
)
"""The reasons in the metrics."""
DRAIN_POLL_SECONDS = 0.02
ENTRY_BYTES = 400
"""Memory of a cache entry besides its text."""

decode_cached_options: Callable[[str], SegmentOptions] = lru_cache(maxsize=64)(decode_options)


class ScheduledTranslationService:
    """Implements `TranslationService` with a scheduler and one model process per device."""

    def __init__(self, settings: ServeSettings, cores: int | None = None) -> None:
        self.settings = settings
        self._cores = cores or _available_cores()
        self._state: ServiceState = "starting"
        limits = settings.limits
        self._scheduler = BatchScheduler[SegmentTranslation](
            SchedulerLimits(limits.batch_seconds, limits.max_wait_seconds),
            SentenceCache(limits.cache_megabytes * 2**20),
            self._batch_tokens,
            _size_of,
        )
        self._worker_limits = WorkerLimits(limits.hang_seconds, limits.batch_timeout_seconds)
        self._workers: list[WorkerSupervisor] = []
        self._batch_workers: dict[int, WorkerSupervisor] = {}
        self._models = ModelRegistry(settings.search)
        self._inboxes: dict[int, CallInbox] = {}
        self._refused: Counter[str] = Counter()
        self._requests = self._target_tokens = self._reloads = self._failed_reloads = 0
        self._reloading = asyncio.Lock()
        self._is_pump_scheduled = self._is_paused = False
        self._tasks: set[asyncio.Future[object]] = set()

    @property
    def state(self) -> ServiceState:
        return self._state

    @property
    def ready(self) -> bool:
        return self._state == "ready" and any(worker.is_responding for worker in self._workers)

    async def start(self) -> None:
        """Start the model processes and load every model; raise `RegardError` if one cannot be loaded."""
        versions = {}
        for name, settings in self.settings.models.items():
            versions[name] = await asyncio.to_thread(read_model_version, name, settings)
        self._models.use(versions)
        gpus = self.settings.search.gpus
        environments = [{"CUDA_VISIBLE_DEVICES": str(gpu)} for gpu in gpus] or [{}]
        for environment in environments:
            worker = WorkerSupervisor(self._events_of(), self._cores, self._worker_limits, environment)
            self._workers.append(worker)
        specs = [version.to_spec() for version in versions.values()]
        try:
            await asyncio.gather(*(worker.start(specs) for worker in self._workers))
        except BaseException:
            await self._stop_workers()
            raise
        self._learn_from_workers()
        self._state = "ready"
        self._run_in_background(asyncio.to_thread(self._models.detector.load))

    async def drain(self) -> None:
        """Refuse new requests, finish those accepted within the drain time, and stop."""
        if self._state in ("ready", "starting"):
            self._state = "draining"
        end = time.monotonic() + self.settings.limits.drain_seconds
        while self._inboxes and time.monotonic() < end:
            await asyncio.sleep(DRAIN_POLL_SECONDS)
        for inbox in self._inboxes.values():
            inbox.put_nowait(UnavailableError("the server has stopped", "stopped"))
        await self._stop_workers()
        for task in list(self._tasks):
            task.cancel()
        self._state = "stopped"

    async def translate(self, request: TextRequest) -> list[TextResult]:
        """Return a result for each text, in order."""
        results: dict[int, TextResult] = {}
        with self._counting_refusals():
            async with aclosing(self._stream(request)) as events:
                async for event in events:
                    if isinstance(event, TextEvent):
                        results[event.text_index] = event.result
        return [results[index] for index in range(len(request.texts))]

    async def stream(self, request: TextRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield segments as they finish, and each text once its segments are."""
        with self._counting_refusals():
            async with aclosing(self._stream(request)) as events:
                async for event in events:
                    yield event

    def languages(self) -> list[ServedLanguage]:
        self._require_models()
        return self._models.router.languages()

    def models(self) -> list[ServedModel]:
        engines: dict[str, str] = {}
        for worker in self._workers:
            engines |= {handle: ready.engine for handle, ready in worker.ready.items()}
        return [
            version.to_served(engines.get(version.handle, "")) for version in self._models.versions.values()
        ]

    def detect(self, text: str) -> list[DetectedLanguage]:
        self._require_models()
        return self._models.detector.rank(text)

    def _require_models(self) -> None:
        """Raise before the models are read: without them every language would be an unknown one."""
        if not self._models.versions:
            raise UnavailableError(f"the server is {self._state}", self._state)

    async def reload(self) -> ReloadResult:
        """Load the models whose folders have changed beside the old ones, check them, and switch."""
        async with self._reloading:
            changed: list[str] = []
            failed: dict[str, str] = {}
            for name, version in list(self._models.versions.items()):
                is_loaded = all(version.handle in worker.specs for worker in self._workers)
                if is_loaded and not await asyncio.to_thread(has_changed, version):
                    continue
                try:
                    await self._replace(name, version)
                    changed.append(name)
                except (RegardError, OSError) as error:
                    failed[name] = str(error)
            self._reloads += len(changed)
            self._failed_reloads += len(failed)
            return ReloadResult(tuple(changed), failed)

    def metrics(self) -> ServiceMetrics:
        scheduler, counts = self._scheduler, self._scheduler.counts
        return ServiceMetrics(
            self._state,
            scheduler.queued_segments,
            scheduler.queued_seconds,
            scheduler.running_segments,
            scheduler.running_batches,
            self._requests,
            counts.segments,
            counts.tokens,
            self._target_tokens,
            counts.batches,
            dict(counts.batch_sizes),
            scheduler.cache.hits,
            scheduler.cache.misses,
            scheduler.cache.bytes,
            counts.coalesced,
            counts.skipped,
            dict(self._refused),
            sum(worker.restarts for worker in self._workers),
            sum(worker.memory_bytes for worker in self._workers),
            self._reloads,
            self._failed_reloads,
            tuple(self.models()),
        )

    @contextmanager
    def _counting_refusals(self) -> Iterator[None]:
        try:
            yield
        except TranslateRequestError as error:
            self._refused[next(reason for kind, reason in REFUSALS if isinstance(error, kind))] += 1
            raise

    def process_ids(self) -> list[int]:
        """Return the numbers of the model processes that run."""
        return [worker.process_id for worker in self._workers if worker.process_id is not None]

    async def _stream(self, request: TextRequest) -> AsyncGenerator[StreamEvent, None]:
        self._requests += 1
        if self._state != "ready":
            raise UnavailableError(f"the server is {self._state}", self._state)
        check_request(request, self.settings.limits)
        limit = self.settings.limits.deadline_seconds
        deadline = time.monotonic() + min(request.deadline_seconds or limit, limit)
        routes = self._models.find_routes(request)
        if sum(map(len, request.texts)) > PREPARE_IN_THREAD_CHARACTERS:
            progress = await asyncio.to_thread(RequestProgress, request, routes, self.settings.search)
        else:
            progress = RequestProgress(request, routes, self.settings.search)
        call = RequestCall(self, request, progress, deadline)
        try:
            async for event in call.run():
                yield event
        finally:
            call.close()

    def submit_jobs(
        self, client: str, deadline: float, jobs: Sequence[SegmentJob], inbox: CallInbox, is_admitted: bool
    ) -> int:
        """Queue jobs whose answers go to the inbox; raise `OverloadedError` if they would wait too long."""
        try:
            number = self._scheduler.submit(client, deadline, jobs, time.monotonic(), is_admitted)
        except RefusedError as error:
            raise OverloadedError(
                f"the queue is {error.wait:.0f} s long; try again later", max(1, round(error.retry_after))
            ) from None
        self._inboxes[number] = inbox
        self._deliver()
        self._schedule_pump()
        return number

    def close_call(self, number: int) -> None:
        """Drop what is left of a submission."""
        self._inboxes.pop(number, None)
        self._scheduler.cancel(number)

    def current_versions(self) -> Mapping[str, ModelVersion]:
        return self._models.versions

    def _deliver(self) -> None:
        """Pass answers to the calls that wait for them."""
        by_call: dict[int, list[Answer[SegmentTranslation]]] = {}
        for answer in self._scheduler.take_answers():
            by_call.setdefault(answer.request, []).append(answer)
        for number, answers in by_call.items():
            inbox = self._inboxes.get(number)
            if inbox is not None:
                inbox.put_nowait(answers)

    def _schedule_pump(self) -> None:
        """Give out batches after everything that arrives in this turn of the event loop."""
        if not self._is_pump_scheduled:
            self._is_pump_scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        """Give batches to free slots."""
        self._is_pump_scheduled = False
        while not self._is_paused:
            free = [worker for worker in self._workers if worker.is_available and self._has_slot(worker)]
            batch = self._scheduler.pull(time.monotonic()) if free else None
            if batch is None:
                break
            self._send(min(free, key=lambda worker: worker.running), batch)
        self._deliver()

    def _has_slot(self, worker: WorkerSupervisor) -> bool:
        return worker.running < max(1, self._scheduler.slots // len(self._workers))

    def _send(self, worker: WorkerSupervisor, batch: Batch) -> None:
        options = decode_cached_options(batch.key.options)
        self._batch_workers[batch.id] = worker
        texts = [job.key.text for job in batch.jobs]
        worker.send(BatchRequest(batch.id, batch.key.model, options, texts))

    def _events_of(self) -> WorkerEvents:
        return WorkerEvents(self._on_done, self._on_failed, self._on_lost, self._schedule_pump, self._on_gone)

    def _on_done(self, done: BatchDone) -> None:
        self._batch_workers.pop(done.id, None)
        self._target_tokens += sum(each.target_tokens for each in done.translations)
        self._scheduler.complete(done.id, done.translations, done.seconds)
        self._pump()

    def _on_failed(self, failed: BatchFailed) -> None:
        self._batch_workers.pop(failed.id, None)
        self._scheduler.fail(failed.id, failed.message)
        self._pump()

    def _on_lost(self, batches: Sequence[int]) -> None:
        for batch in batches:
            self._batch_workers.pop(batch, None)
            self._scheduler.lose(batch, "the model process ended while it translated this")
        self._deliver()

    def _on_gone(self, _handle: str, _reason: str) -> None:
        """After a restart a folder held another model: load that before anything else is translated."""
        self._is_paused = True
        self._run_in_background(self._reload_and_resume())

    async def _reload_and_resume(self) -> None:
        try:
            await self.reload()
        finally:
            self._is_paused = False
            self._schedule_pump()

    async def _replace(self, name: str, old: ModelVersion) -> None:
        """Load the new version of a model in every process and use it; unload the old one when it is idle."""
        new = await asyncio.to_thread(read_model_version, name, old.settings)
        loaded: list[WorkerSupervisor] = []
        try:
            for worker in self._workers:
                await worker.load(new.to_spec())
                loaded.append(worker)
            self._models.use({**self._models.versions, name: new})
        except BaseException:
            for worker in loaded:
                worker.unload(new.handle)
            raise
        self._learn_from_workers()
        self._run_in_background(self._unload_when_idle(old.handle))

    async def _unload_when_idle(self, handle: str) -> None:
        while self._scheduler.uses_model(handle):
            await asyncio.sleep(DRAIN_POLL_SECONDS)
        if handle not in {version.handle for version in self._models.versions.values()}:
            for worker in self._workers:
                worker.unload(handle)
            self._scheduler.forget_model(handle)

    def _learn_from_workers(self) -> None:
        """Take the number of slots and the first measurements from what the model processes said."""
        answers = [ready for worker in self._workers for ready in worker.ready.values()]
        self._scheduler.slots = min(ready.slots for ready in answers) * len(self._workers)
        for ready in answers:
            kind = f"beam {self.settings.search.beam}"
            model = self._scheduler.cost_model(BatchKey(ready.handle, "", kind))
            for tokens, seconds in ready.timings if not model.measured else ():
                model.observe(tokens, seconds)

    def _batch_tokens(self, key: BatchKey) -> int:
        """Return the token budget of an engine; that of beam search is for the paper's beam of 4."""
        beam = decode_cached_options(key.options).beam if key.options else 4
        for worker in self._workers:
            if (ready := worker.ready.get(key.model)) is not None:
                return ready.greedy_tokens if beam == 1 else max(ready.beam_tokens * 4 // max(beam, 4), 1)
        return 1024

    def _run_in_background(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _stop_workers(self) -> None:
        await asyncio.gather(*(worker.stop() for worker in self._workers))


def _size_of(translation: SegmentTranslation) -> int:
    """Return about how much memory a result takes in the cache."""
    texts = (translation.text, *translation.alternatives, *translation.misplaced_terms)
    words = 0 if translation.words is None else 150 * len(translation.words)
    links = 0 if translation.alignment is None else 80 * len(translation.alignment)
    return ENTRY_BYTES + sum(2 * len(text) + 60 for text in texts) + words + links


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

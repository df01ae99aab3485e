"""Supervisor of a model process: starts it, watches its heartbeat, restarts it, and passes batches."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from regard.errors import RegardError
from regard.server.worker.protocol import (
    HEADER,
    BatchDone,
    BatchFailed,
    BatchRequest,
    Heartbeat,
    LoadRequest,
    ModelReady,
    ModelRefused,
    ModelSpec,
    UnloadRequest,
    decode_worker_message,
    encode_frame,
    frame_length,
)

WORKER_MODULE = "regard.server.worker.model_process"
MATRIX_CACHE_LIMITS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""Matrix shapes for which torch on a CPU caches kernels: a server would fill a thousand entries."""
WATCH_SECONDS = 0.25
FIRST_BACKOFF, MAX_BACKOFF = 0.05, 10.0
"""Seconds before a restart; they double while processes end without having answered a batch."""


@dataclass(frozen=True)
class WorkerLimits:
    """When a model process counts as hung."""

    hang_seconds: float = 10.0
    """Without a heartbeat."""
    batch_seconds: float = 60.0
    """For one batch."""
    stale_seconds: float = 3.0
    """Without a heartbeat, until the server reports that it is not ready."""


@dataclass
class WorkerEvents:
    """What the supervisor calls, always from the event loop."""

    done: Callable[[BatchDone], None]
    failed: Callable[[BatchFailed], None]
    lost: Callable[[Sequence[int]], None]
    """The batches that were running when the process ended."""
    available: Callable[[], None]
    """The models are loaded, at first or again."""
    gone: Callable[[str, str], None]
    """A model could not be loaded again after a restart: its handle and the reason."""


@dataclass
class _Process:
    """One life of the model process."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    last_heard: float
    has_answered: bool = False
    sent: dict[int, float] = field(default_factory=dict)
    """When each running batch was sent."""
    loads: dict[str, asyncio.Future[ModelReady]] = field(default_factory=dict)


class WorkerSupervisor:
    """Keeps one model process alive with the models of `specs` loaded."""

    def __init__(
        self,
        events: WorkerEvents,
        cores: int,
        limits: WorkerLimits,
        environment: dict[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-P", "-m", WORKER_MODULE),
    ) -> None:
        self.specs: dict[str, ModelSpec] = {}
        self.ready: dict[str, ModelReady] = {}
        """What each loaded model said of itself, also while the process restarts."""
        self.restarts = 0
        self.memory_bytes = 0
        self.last_error = ""
        self._events, self._cores, self._limits = events, cores, limits
        self._environment, self._command = environment or {}, tuple(command)
        self._current: _Process | None = None
        self._is_loaded = False
        self._keeper: asyncio.Task[None] | None = None

    @property
    def is_available(self) -> bool:
        """Whether batches can be sent."""
        return self._current is not None and self._is_loaded

    @property
    def is_responding(self) -> bool:
        """Whether the process is available and was heard of lately."""
        current = self._current
        if current is None or not self._is_loaded:
            return False
        return time.monotonic() - current.last_heard < self._limits.stale_seconds

    @property
    def running(self) -> int:
        """The number of batches that were sent and not answered."""
        return 0 if self._current is None else len(self._current.sent)

    @property
    def process_id(self) -> int | None:
        return None if self._current is None else self._current.process.pid

    async def start(self, specs: Sequence[ModelSpec]) -> None:
        """Start the process and load the models; raise the reason if one cannot be loaded."""
        self.specs = {spec.handle: spec for spec in specs}
        current = await self._spawn()
        watcher = asyncio.create_task(self._watch(current))
        try:
            refused = await self._load_all(current, watcher)
            if refused:
                raise RegardError(next(iter(refused.values())))
            if watcher.done():
                raise RegardError(f"the model process ended while it loaded: {self.last_error}")
        except BaseException:
            await self._end(current, watcher)
            raise
        self._keeper = asyncio.create_task(self._keep_alive(current, watcher))

    def send(self, batch: BatchRequest) -> None:
        """Send a batch; its end is one of the events."""
        assert self._current is not None
        self._current.sent[batch.id] = time.monotonic()
        self._current.writer.write(encode_frame(batch))

    async def load(self, spec: ModelSpec) -> ModelReady:
        """Load a further model, also after a restart; raise `RegardError` if it cannot be used."""
        if self._current is None:
            raise RegardError("the model process is restarting")
        ready = await self._request_load(self._current, spec)
        self.specs[spec.handle] = spec
        self._is_loaded = True  # it was not if every model was refused after a restart
        self._events.available()
        return ready

    def unload(self, handle: str) -> None:
        self.specs.pop(handle, None)
        self.ready.pop(handle, None)
        if self._current is not None:
            self._current.writer.write(encode_frame(UnloadRequest(handle)))

    async def stop(self) -> None:
        """End the process; what it is working on is lost."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None

    async def _spawn(self) -> _Process:
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                f"--socket={theirs.fileno()}",
                f"--cores={self._cores}",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in the terminal is for the server
                env={**os.environ, **MATRIX_CACHE_LIMITS, **self._environment},
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        self._current = _Process(process, reader, writer, time.monotonic())
        self._is_loaded = False
        return self._current

    async def _load_all(self, current: _Process, watcher: asyncio.Task[None]) -> dict[str, str]:
        """Load every model; return those that were refused, with the reason."""
        refused: dict[str, str] = {}
        for spec in list(self.specs.values()):
            loading = asyncio.create_task(self._request_load(current, spec))
            await asyncio.wait((loading, watcher), return_when=asyncio.FIRST_COMPLETED)
            if not loading.done():
                loading.cancel()
                return refused
            if isinstance(error := loading.exception(), RegardError):
                refused[spec.handle] = str(error)
            elif error is not None:
                raise error
        if not refused or len(refused) < len(self.specs):
            self._is_loaded = True
            self._events.available()
        return refused

    async def _request_load(self, current: _Process, spec: ModelSpec) -> ModelReady:
        future: asyncio.Future[ModelReady] = asyncio.get_running_loop().create_future()
        current.loads[spec.handle] = future
        current.writer.write(encode_frame(LoadRequest(spec)))
        ready = await future
        self.ready[spec.handle] = ready
        return ready

    async def _keep_alive(self, current: _Process, watcher: asyncio.Task[None]) -> None:
        """Restart the process whenever it ends or hangs, until cancelled."""
        backoff = FIRST_BACKOFF
        try:
            while True:
                await asyncio.wait((watcher,))
                await self._end(current, watcher)
                backoff = FIRST_BACKOFF if current.has_answered else min(backoff * 2, MAX_BACKOFF)
                await asyncio.sleep(backoff)
                self.restarts += 1
                while (started := await self._try_spawn()) is None:
                    backoff = min(backoff * 2, MAX_BACKOFF)
                    await asyncio.sleep(backoff)
                current = started
                watcher = asyncio.create_task(self._watch(current))
                for handle, reason in (await self._load_all(current, watcher)).items():
                    self.specs.pop(handle, None)
                    self.ready.pop(handle, None)
                    self._events.gone(handle, reason)
        finally:
            await self._end(current, watcher)

    async def _try_spawn(self) -> _Process | None:
        """Start a process; None where the system has no memory or files for it at the moment."""
        try:
            return await self._spawn()
        except OSError as error:
            self.last_error = f"it cannot be started: {error.strerror}"
            return None

    async def _watch(self, current: _Process) -> None:
        """Pass on messages; return once the process has ended or hangs."""
        receiver = asyncio.create_task(self._receive(current))
        try:
            checked = time.monotonic()
            while not receiver.done():
                await asyncio.wait((receiver,), timeout=WATCH_SECONDS)
                now = time.monotonic()
                if now - checked > 4 * WATCH_SECONDS:  # this process was stopped, or is very busy
                    current.last_heard = max(current.last_heard, now - self._limits.stale_seconds)
                elif self._find_hang(current, now):
                    return
                checked = now
            self.last_error = "it ended by itself"
            receiver.result()
        finally:
            receiver.cancel()

    def _find_hang(self, current: _Process, now: float) -> bool:
        """Return whether the process hangs, and note why it is thought to."""
        if now - current.last_heard > self._limits.hang_seconds:
            self.last_error = f"no heartbeat for {self._limits.hang_seconds:g} s"
        elif now - min(current.sent.values(), default=now) > self._limits.batch_seconds:
            self.last_error = f"a batch took more than {self._limits.batch_seconds:g} s"
        else:
            return False
        return True

    async def _receive(self, current: _Process) -> None:
        """Pass on messages until the process closes its end."""
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                header = await current.reader.readexactly(HEADER.size)
                content = await current.reader.readexactly(frame_length(header))
                current.last_heard = time.monotonic()
                self._dispatch(current, content)

    def _dispatch(self, current: _Process, content: bytes) -> None:
        match decode_worker_message(content):
            case Heartbeat(memory_bytes=memory):
                self.memory_bytes = memory
            case BatchDone() as done:
                current.has_answered = True
                current.sent.pop(done.id, None)
                self._events.done(done)
            case BatchFailed() as failed:
                current.sent.pop(failed.id, None)
                self._events.failed(failed)
            case ModelReady() as ready:
                _resolve(current.loads.pop(ready.handle, None), ready)
            case ModelRefused(handle=handle, message=message):
                _resolve(current.loads.pop(handle, None), RegardError(message))

    async def _end(self, current: _Process, watcher: asyncio.Task[None]) -> None:
        """Kill a process if it still runs, and report its batches as lost."""
        if self._current is current:
            self._current, self._is_loaded = None, False
        with suppress(ProcessLookupError):
            current.process.kill()
        await current.process.wait()
        watcher.cancel()
        for error in await asyncio.gather(watcher, return_exceptions=True):
            if isinstance(error, Exception):  # a message that no model process of ours sends
                self.last_error = f"{type(error).__name__}: {error}"
        current.writer.close()
        for future in current.loads.values():
            _resolve(future, RegardError("the model process ended while it loaded"))
        lost, current.sent = list(current.sent), {}
        if lost:
            self._events.lost(lost)


def _resolve(future: asyncio.Future[ModelReady] | None, outcome: ModelReady | RegardError) -> None:
    """Set a future that may have been cancelled."""
    if future is None or future.done():
        return
    if isinstance(outcome, ModelReady):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
        future.exception()  # it may have no reader any more

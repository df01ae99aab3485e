"""Signal handling of a training: the first signal saves and stops, the second stops at once."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType

STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C; system shutdown; the warning that batch queues send before they end a job; a closed terminal."""
HANGUP = getattr(signal, "SIGHUP", None)
"""Ignored under nohup, and often sent twice, by the system and by the shell."""
STDERR_FD = 2
STOPPING_MESSAGE = (
    b"\n  stopping after this step; the model is saved first (Ctrl-C again leaves at once, without)\n"
)


class WorkAbandoned(BaseException):
    """Raised at the first signal in work that may be abandoned; no Exception, so that it is not swallowed."""


class InterruptHandler:
    """While entered, the first stop signal sets `requested`.

    Python handles signals in the main thread only; in another thread, no signal is caught.
    """

    def __init__(self) -> None:
        self.requested = False
        self._is_abandonable = False
        self._old_handlers: dict[signal.Signals, object] = {}

    def __enter__(self) -> "InterruptHandler":
        if threading.current_thread() is threading.main_thread():
            numbers = [number for number in STOP_SIGNALS if not _is_ignored_hangup(number)]
            self._old_handlers = {number: signal.signal(number, self._handle) for number in numbers}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old_handlers.items():
            if handler is not None:  # None is a handler that Python did not set and cannot restore
                signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    @contextmanager
    def raise_on_signal(self) -> Iterator[None]:
        """While entered, the first signal raises `WorkAbandoned`."""
        self._is_abandonable = True
        try:
            if self.requested:
                raise WorkAbandoned
            yield
        finally:
            self._is_abandonable = False

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Write to the file descriptor itself: a pipe we print to may have been closed by the same Ctrl-C."""
        if self.requested and number == HANGUP:
            return
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        with suppress(OSError):
            os.write(STDERR_FD, STOPPING_MESSAGE)
        if self._is_abandonable:
            raise WorkAbandoned


def _is_ignored_hangup(number: signal.Signals) -> bool:
    return number == HANGUP and signal.getsignal(number) == signal.SIG_IGN

"""Signals that save: the first asks the loop to stop, the second leaves at once."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType

STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name)
)
"""Ctrl-C; what a system that shuts down sends; what a queue sends some time before it takes the machine."""
STDERR_FD = 2
STOPPING_MESSAGE = (
    b"\n  stopping after this step; the model is saved first (Ctrl-C again leaves at once, without)\n"
)


class WorkAbandoned(BaseException):
    """Raised at the first signal in what may be abandoned; not an Exception, so that nothing swallows it."""


class InterruptHandler:
    """While entered, `asked` turns true at the first of the signals.

    Python lets only the main thread listen for signals; in another one, nothing is caught.
    """

    def __init__(self) -> None:
        self.requested = False
        self._abandoning = False
        self._before: list[object] = []

    def __enter__(self) -> "InterruptHandler":
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(number, self._handle) for number in STOP_SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in zip(STOP_SIGNALS, self._before, strict=False):
            if handler is not None:  # None is a handler that Python did not set, and cannot set again
                signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    @contextmanager
    def raise_on_signal(self) -> Iterator[None]:
        """While entered, the first signal raises `Abandoned`: for work that can be thrown away."""
        self._abandoning = True
        try:
            if self.requested:
                raise WorkAbandoned
            yield
        finally:
            self._abandoning = False

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Prints by the shortest road: the pipe we print to may have died of the same Ctrl-C."""
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        with suppress(OSError):
            os.write(STDERR_FD, STOPPING_MESSAGE)
        if self._abandoning:
            raise WorkAbandoned

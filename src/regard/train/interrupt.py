"""Ctrl-C that saves: the first asks the loop to stop, the second leaves at once."""

import os
import signal
import threading
from contextlib import suppress
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STANDARD_ERROR = 2
STOPPING = b"\n  stopping after this step; the model is saved first (Ctrl-C again leaves at once, without)\n"


class Interrupt:
    """While entered, `asked` turns true at the first SIGINT or SIGTERM.

    Python lets only the main thread listen for signals; in another one, nothing is caught.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: list[object] = []

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(number, self._handle) for number in SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in zip(SIGNALS, self._before, strict=False):
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Raises nothing the first time: the pipe we print to may have died of the same Ctrl-C."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        with suppress(OSError):
            os.write(STANDARD_ERROR, STOPPING)

"""Ctrl-C that saves: the first asks the loop to stop, the second leaves at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """While entered, `asked` turns true at the first SIGINT or SIGTERM, and `on_asked` is called.

    Python lets only the main thread listen for signals; in another one, nothing is caught.
    """

    def __init__(self, on_asked: Callable[[], None]) -> None:
        self.asked = False
        self._on_asked = on_asked
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
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._on_asked()

"""Pauses of Python's garbage collector while a large document is read or written.

A collection stops all threads while it looks at every object: the million of a large document take a second,
in which nobody else is answered. They are freed without it.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class CollectionPause:
    """Counts the threads that make many objects; while there are any, nothing is collected."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Collect nothing until the block ends, and leave its objects out until `include_all`."""
        with self._lock:
            self._threads += 1
            gc.disable()
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                gc.freeze()
                if not self._threads:
                    gc.enable()

    def include_all(self) -> None:
        """Include all objects in collections again."""
        gc.unfreeze()


COLLECTION_PAUSE = CollectionPause()

"""Prefetching: items are produced in a background thread ahead of their use."""

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")


def prefetch_items(items: Iterator[Item], buffer_size: int) -> Iterator[Item]:
    """Yield the same items in the same order, up to `buffer_size` of them produced ahead."""
    buffer: queue.Queue[Item | BaseException] = queue.Queue(buffer_size)
    stopped = threading.Event()

    def produce() -> None:
        try:
            for item in items:
                if not _put_until_stopped(buffer, item, stopped):
                    return
            end: BaseException = StopIteration()
        except BaseException as error:  # raised again in the consumer
            end = error
        _put_until_stopped(buffer, end, stopped)

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        while True:
            item = buffer.get()
            if isinstance(item, StopIteration):
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()


def _put_until_stopped(buffer: "queue.Queue[Item]", item: Item, stopped: threading.Event) -> bool:
    """Wait for room in the buffer or for the consumer to stop; return whether the item was put."""
    while not stopped.is_set():
        try:
            buffer.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False

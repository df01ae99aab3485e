"""Work that runs ahead of whoever waits for it."""

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")


def prefetch_items(items: Iterator[Item], buffer_size: int) -> Iterator[Item]:
    """The same items in the same order, up to `count` of them made before they are asked for."""
    made: queue.Queue[Item | BaseException] = queue.Queue(buffer_size)
    unwanted = threading.Event()

    def make() -> None:
        try:
            for item in items:
                if not _put_until_stopped(made, item, unwanted):
                    return
            end: BaseException = StopIteration()
        except BaseException as error:  # whoever waits shall hear of it
            end = error
        _put_until_stopped(made, end, unwanted)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            item = made.get()
            if isinstance(item, StopIteration):
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        unwanted.set()
        thread.join()


def _put_until_stopped(made: "queue.Queue[Item]", item: Item, unwanted: threading.Event) -> bool:
    """Waits for room, or until nobody wants more; whether it was put."""
    while not unwanted.is_set():
        try:
            made.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False

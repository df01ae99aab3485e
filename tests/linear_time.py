"""A check that the time of a call grows with the size of its input, and not with its square."""

import gc
import time
from collections.abc import Callable


def assert_linear(call: Callable[[int], object], size: int) -> None:
    """Four times the size takes four times as long; sixteen times if the time were quadratic."""
    runs = [(_seconds(call, size), _seconds(call, 4 * size)) for _ in range(3)]
    assert min(run[1] for run in runs) < 8 * min(run[0] for run in runs)


def _seconds(call: Callable[[int], object], size: int) -> float:
    gc.collect()
    gc.disable()  # its share depends on all other objects that are alive
    try:
        start = time.process_time()
        call(size)
        return time.process_time() - start
    finally:
        gc.enable()

"""The process and its installation: limits of threads and processes, memory allocator, optional packages."""

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping

MAX_INT32, MMAP_THRESHOLD, TRIM_THRESHOLD, ARENA_MAX = 2**31 - 1, -3, -1, -8
LARGE_BLOCK_BYTES, KEPT_BYTES = 2**25, 2**26
"""A process that runs for days returns larger blocks at once, and keeps so much at the end of its heap."""

MIN_PARALLEL, PARALLEL_PER_CORE = 16, 4
"""More threads or processes than a few per core only take memory, and very many end the process."""


def max_parallel() -> int:
    """Return how many threads or processes may be asked for on this machine."""
    return max(MIN_PARALLEL, PARALLEL_PER_CORE * (os.cpu_count() or 1))


def keep_freed_memory() -> None:
    """Make glibc reuse large blocks of memory instead of returning them to the system.

    Otherwise the pages of each large tensor are mapped again, which took nearly half the time of a training
    step on a CPU and a tenth of that of a translation. It affects the whole process: only commands and
    trainings call it.
    """
    _set_malloc_options({MMAP_THRESHOLD: MAX_INT32, TRIM_THRESHOLD: MAX_INT32})


def bound_freed_memory(arenas: int = 4) -> None:
    """Make glibc reuse blocks of memory, as `keep_freed_memory`, but return what is large.

    For a process that runs for days: one large request does not raise its memory for good. The heaps of many
    threads would each keep memory of their own, so they share a few.
    """
    _set_malloc_options({MMAP_THRESHOLD: LARGE_BLOCK_BYTES, TRIM_THRESHOLD: KEPT_BYTES, ARENA_MAX: arenas})


def trim_freed_memory() -> None:
    """Return freed memory to the system; takes a few milliseconds."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)


def _set_malloc_options(options: Mapping[int, int]) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            for option, value in options.items():
                libc.mallopt(option, value)


def missing_package(package: str, extra: str) -> str | None:
    """Return how to install an optional package of Python, or None if it is installed."""
    if importlib.util.find_spec(package) is not None:
        return None
    return f'it needs the package {package}: pip install "regard[{extra}]"'

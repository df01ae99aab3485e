"""The process and its installation: limits of threads and processes, memory allocator, optional packages."""

import ctypes
import importlib.util
import os
import sys

MAX_INT32, MMAP_THRESHOLD, TRIM_THRESHOLD = 2**31 - 1, -3, -1


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
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            libc.mallopt(MMAP_THRESHOLD, MAX_INT32)
            libc.mallopt(TRIM_THRESHOLD, MAX_INT32)


def missing_package(package: str, extra: str) -> str | None:
    """Return how to install an optional package of Python, or None if it is installed."""
    if importlib.util.find_spec(package) is not None:
        return None
    return f'it needs the package {package}: pip install "regard[{extra}]"'

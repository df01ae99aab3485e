"""The process and its installation: settings of the memory allocator, and optional packages."""

import ctypes
import importlib.util
import sys

MAX_INT32, MMAP_THRESHOLD, TRIM_THRESHOLD = 2**31 - 1, -3, -1


def keep_freed_memory() -> None:
    """Make glibc reuse large blocks of memory instead of returning them to the system.

    Otherwise the pages of each large tensor are mapped again, which took nearly half the time of a training
    step on a CPU and a tenth of that of a translation. Only commands call it: it affects the whole process.
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

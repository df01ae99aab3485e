"""What becomes of memory that is no longer needed, where glibc is asked for it."""

import ctypes
import sys

MAX_INT32, MMAP_THRESHOLD, TRIM_THRESHOLD = 2**31 - 1, -3, -1


def keep_freed_memory() -> None:
    """Tells glibc to reuse large blocks rather than return them to the system after every tensor.

    Otherwise each batch of logits is paged in anew, which took nearly half the time of a training step on a
    CPU, and a tenth of that of a translation. It is the whole process's setting, so only commands call it.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            libc.mallopt(MMAP_THRESHOLD, MAX_INT32)
            libc.mallopt(TRIM_THRESHOLD, MAX_INT32)

"""A folder for the files of a process, which the next process removes if this one was killed."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

LOCK_NAME = "lock"


class ScratchFolder:
    """A new folder among the temporary files of this machine, locked as long as the process lives."""

    def __init__(self, prefix: str) -> None:
        remove_abandoned(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock = os.open(self.path / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned(prefix: str) -> None:
    """Delete the folders whose process has ended without doing so; those of other users stay."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)

"""Simulated disk faults: crashes and full disks at any call that changes a folder."""

import errno
import io
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from regard.training.logs.metrics_file import METRICS_FILE

DISK_CALLS = ("fsync", "rename", "replace", "mkdir", "rmdir", "unlink")


class SimulatedCrash(BaseException):
    """The process dies: no code after this point changes the disk."""


class FaultyDisk:
    """Counts the calls that change `root`, and runs `at` before and after each of them."""

    def __init__(self, root, at):
        self.root = str(root)
        self.calls = 0
        self.unsynced = set()
        """Files written and not yet flushed, which a power cut can truncate."""
        self._at = at

    @contextmanager
    def intercept(self):
        patched_open = self._open(io.open)
        with mock.patch("io.open", patched_open), mock.patch("builtins.open", patched_open):
            patches = [
                mock.patch(f"os.{name}", self._wrapped(name, getattr(os, name))) for name in DISK_CALLS
            ]
            for patch in patches:
                patch.start()
            try:
                yield
            finally:
                for patch in patches:
                    patch.stop()

    def count_call(self, name, function):
        self.calls += 1
        self._at(self.calls, name, "before")
        number = self.calls
        try:
            return function()
        finally:
            self._at(number, name, "after")

    def _wrapped(self, name, function):
        def wrapper(*arguments, **options):
            if name == "fsync":
                path = os.readlink(f"/proc/self/fd/{arguments[0]}")
                self.unsynced.discard(path)
            elif name in ("rename", "replace"):
                self._renamed(os.path.abspath(arguments[0]), os.path.abspath(arguments[1]))
            return self.count_call(name, lambda: function(*arguments, **options))

        return wrapper

    def _renamed(self, before, after):
        self.unsynced = {path.replace(before, after, 1) for path in self.unsynced}

    def _open(self, function):
        def wrapper(path, mode="r", *arguments, **options):
            name = path if isinstance(path, int) else Path(path).name
            if mode[0] == "r" or name == METRICS_FILE or not str(path).startswith(self.root):
                return function(path, mode, *arguments, **options)
            self.unsynced.add(os.path.abspath(path))
            opened = []
            try:
                self.count_call("open", lambda: opened.append(function(path, mode, *arguments, **options)))
            except BaseException:
                for file in opened:
                    file.close()
                raise
            return _File(opened[0], self)

        return wrapper

    def lose_unsynced(self):
        """Truncate the files that were not flushed, as a power cut may do."""
        for path in self.unsynced:
            if os.path.isfile(path):
                os.truncate(path, os.path.getsize(path) // 2)


class _File:
    def __init__(self, file, disk):
        self._file = file
        self._disk = disk

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, content):
        return self._disk.count_call("write", lambda: self._file.write(content))


def crash_at(number, when):
    """Crash at that call; the calls of `finally` blocks after it fail, too."""
    crashed = []

    def at(call, _, moment):
        if crashed or (call, moment) == (number, when):
            crashed.append(True)
            raise SimulatedCrash

    return at


def disk_full_from(number, error=errno.ENOSPC, until=lambda: False):
    """Fail every call that needs disk space, from that call on, until `until()` is true."""

    def at(call, name, when):
        needs_space = name in ("open", "write", "mkdir", "fsync")
        if needs_space and when == "before" and number <= call and not until():
            raise OSError(error, os.strerror(error))

    return at


def copy_folder(folder, path):
    """Copy a folder to `path`, replacing what is there."""
    shutil.rmtree(path, ignore_errors=True)
    return Path(shutil.copytree(folder, path))

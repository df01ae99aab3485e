"""Disk cache of prepared data: folders named by the hash of their inputs, and facts about text files."""

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from regard.checkpoint import parse_manifest, read_manifest, write_folder_atomically
from regard.errors import CheckpointError, DataError
from regard.strict_json import parse_sealed_json, seal_json
from regard.text.compression import ChunkCallback, wrap_read_errors
from regard.text.lines import count_lines

ABANDONED_SECONDS = 24 * 3600.0
"""A temporary folder that was not written to for so long was left by a killed process."""
SETTLED_SECONDS = 0.1
"""A file that changed less than this before it was read could change again with the same time stamp."""

FillFolder = Callable[[Path], dict[str, Any]]
CheckFolder = Callable[[Path], object]


@dataclass(frozen=True)
class FileFacts:
    """Hash and size of a text file."""

    sha256: str
    lines: int
    bytes: int
    """Size of the text, decompressed."""


class DiskCache:
    """A folder of folders; each is complete or absent, and a damaged one is made again."""

    def __init__(self, root: str | None, report: Callable[[str], object]) -> None:
        self._root = default_cache_folder() if root is None else Path(root)
        self._report = report

    def scratch_folder(self) -> Path:
        """Return a folder for temporary files on the disk of the cache."""
        self._make_folder(self._root)
        return self._root

    def get_or_create(
        self, kind: str, key: Mapping[str, Any], fill: FillFolder, check: CheckFolder | None = None
    ) -> tuple[Path, dict[str, Any]]:
        """Return the folder for a key and its manifest; create it if it does not exist.

        `fill` writes the files and returns facts for the manifest. `check` raises a `CheckpointError` for an
        existing folder that cannot be used, in which case it is created again.
        """
        self._make_folder(self._root / kind)
        path = self._root / kind / _hash_json(key)
        manifest = self._read_valid_manifest(path, check)
        if manifest is None:
            _delete_abandoned(path.parent)
            manifest = _write_folder(path, fill)
        return path, manifest

    def file_facts(self, path: Path, on_chunk: ChunkCallback | None = None) -> FileFacts:
        """Return the facts of a file: remembered if its size, times and inode are unchanged, or read now."""
        with wrap_read_errors(path):
            before = path.stat()
        if not stat.S_ISREG(before.st_mode) and not path.is_dir():
            raise DataError(f"{path} is not a regular file and must be read more than once; save it as one")
        facts_path = self._root / "files" / f"{_hash_json(str(path.resolve()))}.json"
        identity = _file_identity(before)
        if (remembered := _read_file_facts(facts_path, identity)) is not None:
            return remembered
        started, digest = time.time(), hashlib.sha256()
        count = count_lines(path, _call_both(digest.update, on_chunk))
        facts = FileFacts(digest.hexdigest(), count.lines, count.bytes)
        is_settled = started - max(before.st_mtime, before.st_ctime) > SETTLED_SECONDS
        if is_settled and identity == _file_identity(path.stat()):
            self._make_folder(facts_path.parent)
            _write_file_facts(
                facts_path, {"path": str(path.resolve()), "identity": identity, **asdict(facts)}
            )
        return facts

    def reject_changed_files(self, files: Mapping[Path, FileFacts]) -> None:
        """Raise an error if a file changed while it was processed: results would have a wrong key."""
        for path, facts in files.items():
            if self.file_facts(path) != facts:
                raise DataError(f"{path} changed while it was read; start again")

    def _read_valid_manifest(self, path: Path, check: CheckFolder | None) -> dict[str, Any] | None:
        """Return the manifest of a folder that exists and is undamaged."""
        if not path.exists():
            return None
        try:
            manifest = _read_unmodified_manifest(path) or read_manifest(path)
            if check is not None:
                check(path)
        except CheckpointError as error:
            self._report(f"{str(error).partition(';')[0]}; it is created again")
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return None
        return manifest

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"{folder} cannot be written: {error.strerror}; set data.cache to another folder"
            ) from None


def default_cache_folder() -> Path:
    """Return the folder `regard` in the user's cache folder; on Linux XDG_CACHE_HOME is honoured."""
    return platformdirs.user_cache_path("regard", appauthor=False)


def _delete_abandoned(folder: Path) -> None:
    """Delete temporary folders of killed processes once no process can be writing to them.

    Process ids do not tell, since several machines may share the cache.
    """
    for temporary in folder.glob(".*.writing-*"):
        with suppress(OSError):  # another process may be deleting it as well
            last = max(path.stat().st_mtime for path in (temporary, *temporary.iterdir()))
            if time.time() - last > ABANDONED_SECONDS:
                shutil.rmtree(temporary, ignore_errors=True)


def _write_folder(path: Path, fill: FillFolder) -> dict[str, Any]:
    def fill_with_times(folder: Path) -> dict[str, Any]:
        facts = fill(folder)
        return {**facts, "written": {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}}

    try:
        write_folder_atomically(path, fill_with_times)
    except CheckpointError:
        if not path.exists():
            raise
        # another process was faster
    return _read_unmodified_manifest(path) or read_manifest(path)


def _read_unmodified_manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest if every file has the size and the time that it was written with.

    Hashing the files would take longer the larger they are, and every write changes the time.
    """
    manifest = parse_manifest(path)
    try:
        for name, expected in manifest["files"].items():
            now = (path / name).stat()
            if (now.st_size, now.st_mtime_ns) != (expected["bytes"], manifest["written"][name]):
                return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return manifest


def _read_file_facts(facts_path: Path, identity: Sequence[int]) -> FileFacts | None:
    """Return remembered facts; None for a file that has changed, or facts that are damaged."""
    try:
        known = parse_sealed_json(facts_path.read_bytes())
        if known["identity"] != list(identity):
            return None
        return FileFacts(known["sha256"], known["lines"], known["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_file_facts(facts_path: Path, facts: Mapping[str, Any]) -> None:
    temporary = facts_path.with_suffix(f".{os.getpid()}")
    temporary.write_text(seal_json(dict(facts)), encoding="utf-8", newline="\n")
    temporary.replace(facts_path)


def _file_identity(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def _call_both(first: ChunkCallback, second: ChunkCallback | None) -> ChunkCallback:
    def on_chunk(chunk: bytes) -> None:
        first(chunk)
        if second is not None:
            second(chunk)

    return on_chunk


def _hash_json(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

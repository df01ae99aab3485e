"""What is prepared once and found again: whole folders, named by the hash of what they were made from."""

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

from regard.checkpoint import MANIFEST_FILE, read_manifest, write_folder_atomically
from regard.errors import CheckpointError, DataError
from regard.text.compression import ChunkCallback, wrap_read_errors
from regard.text.lines import count_lines

ABANDONED_SECONDS = (
    24 * 3600.0
)  # seconds; what was not written to for so long was left by a process that was killed
SETTLED_SECONDS = 0.1  # seconds; a file changed later than that before it was read could change again unseen

FillFolder = Callable[[Path], dict[str, Any]]


@dataclass(frozen=True)
class FileFacts:
    """What a file holds, without the text."""

    sha256: str
    lines: int
    bytes: int
    """Of its text, unpacked."""


class DiskCache:
    """A folder of folders; each is whole or absent, and a damaged one is made again."""

    def __init__(self, root: str | None, report: Callable[[str], object]) -> None:
        self._root = default_cache_folder() if root is None else Path(root)
        self._say = report

    def scratch_folder(self) -> Path:
        """Where files without a name may lie: on the same disk."""
        self._make_folder(self._root)
        return self._root

    def get_or_create(
        self, kind: str, key: Mapping[str, Any], fill: FillFolder
    ) -> tuple[Path, dict[str, Any]]:
        """The folder made from those facts, filled now if it is not there, and what its manifest says.

        `fill` writes the files and returns what should be remembered of them.
        """
        self._make_folder(self._root / kind)
        path = self._root / kind / _hash_json(key)
        manifest = self._read_valid_manifest(path)
        if manifest is None:
            _delete_abandoned(path.parent)
            manifest = _write_folder(path, fill)
        return path, manifest

    def file_facts(self, path: Path, on_chunk: ChunkCallback | None = None) -> FileFacts:
        """The facts of a file: remembered, if its size, times and place on the disk are still the same."""
        with wrap_read_errors(path):
            before = path.stat()
        if not stat.S_ISREG(before.st_mode) and not path.is_dir():
            raise DataError(f"{path} is no plain file, and must be read more than once; save it as one first")
        note = self._root / "files" / f"{_hash_json(str(path.resolve()))}.json"
        identity = _file_identity(before)
        if (remembered := _read_file_facts(note, identity)) is not None:
            return remembered
        began, digest = time.time(), hashlib.sha256()
        counted = count_lines(path, _call_both(digest.update, on_chunk))
        facts = FileFacts(digest.hexdigest(), counted.lines, counted.bytes)
        if began - max(before.st_mtime, before.st_ctime) > SETTLED_SECONDS and identity == _file_identity(
            path.stat()
        ):
            self._make_folder(note.parent)
            _write_file_facts(note, {"path": str(path.resolve()), "identity": identity, **asdict(facts)})
        return facts

    def reject_changed_files(self, files: Mapping[Path, FileFacts]) -> None:
        """Refuses what was made of files that have changed meanwhile: it would be kept under a wrong name."""
        for path, facts in files.items():
            if self.file_facts(path) != facts:
                raise DataError(f"{path} has changed while it was read; start again")

    def _read_valid_manifest(self, path: Path) -> dict[str, Any] | None:
        """The manifest of a folder that is there and sound."""
        if not path.exists():
            return None
        try:
            manifest = _read_unmodified_manifest(path) or read_manifest(path)
        except CheckpointError as error:
            self._say(f"{str(error).partition(';')[0]}; it is made again")
            shutil.rmtree(path, ignore_errors=True)
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
    """`regard` in the user's cache folder, as the XDG specification finds it."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "regard"


def _delete_abandoned(folder: Path) -> None:
    """Deletes what a process that was killed had begun to write, once nobody can be at it any more.

    Process numbers do not tell: the folder may be shared by several machines.
    """
    for begun in folder.glob(".*.writing-*"):
        with suppress(OSError):  # another process may be deleting it as well
            last = max(path.stat().st_mtime for path in (begun, *begun.iterdir()))
            if time.time() - last > ABANDONED_SECONDS:
                shutil.rmtree(begun, ignore_errors=True)


def _write_folder(path: Path, fill: FillFolder) -> dict[str, Any]:
    def fill_and_note(place: Path) -> dict[str, Any]:
        facts = fill(place)
        return {**facts, "written": {each.name: each.stat().st_mtime_ns for each in place.iterdir()}}

    try:
        write_folder_atomically(path, fill_and_note)
    except CheckpointError:
        if not path.exists():
            raise
        # another process was quicker
    return _read_unmodified_manifest(path) or read_manifest(path)


def _read_unmodified_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest, if every file still has the size and the time it was written with.

    Reading them all would take longer the larger they are; whatever writes to a file changes its time.
    """
    try:
        manifest = json.loads((path / MANIFEST_FILE).read_bytes())
        for name, expected in manifest["files"].items():
            now = (path / name).stat()
            if (now.st_size, now.st_mtime_ns) != (expected["bytes"], manifest["written"][name]):
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return manifest


def _read_file_facts(note: Path, identity: Sequence[int]) -> FileFacts | None:
    try:
        known = json.loads(note.read_bytes())
        if known["identity"] != list(identity):
            return None
        return FileFacts(known["sha256"], known["lines"], known["bytes"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write_file_facts(note: Path, facts: Mapping[str, Any]) -> None:
    temporary = note.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(facts), encoding="utf-8")
    temporary.replace(note)


def _file_identity(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def _call_both(first: ChunkCallback, second: ChunkCallback | None) -> ChunkCallback:
    def seen(piece: bytes) -> None:
        first(piece)
        if second is not None:
            second(piece)

    return seen


def _hash_json(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

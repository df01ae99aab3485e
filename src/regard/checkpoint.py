"""A folder that appears whole or not at all, and that knows when it was damaged."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import CheckpointError, FormatError, SaveError

FORMAT_VERSION = 2
"""Since 2 the manifest is sealed itself: `seal` is the SHA-256 of the rest of it.

Every later format must be sealed in the same way, or this regard takes it for damaged.
"""
MANIFEST_FILE = "manifest.json"
WEIGHTS_FILE = "model.safetensors"


def write_folder_atomically(
    folder: Path, write_files: Callable[[Path], dict[str, Any]], overwrite: bool = False
) -> None:
    """Fills a temporary folder beside `folder`, seals it with a manifest, and renames it into place.

    `fill` writes the files and returns what the manifest should say of them. Whatever goes
    wrong before the rename leaves no `folder` behind, and no temporary one. `over` allows one that
    is there already: it goes when the new one is whole, and not before.
    """
    if folder.exists() and not overwrite:
        raise CheckpointError(f"{folder} exists already; a model folder is written once")
    temporary = folder.with_name(f".{folder.name}.writing-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        _write_manifest(temporary, write_files(temporary))
        if overwrite and folder.exists():
            remove_folder_atomically(folder)
        temporary.rename(folder)
        _fsync(folder.parent)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise SaveError(f"{folder} cannot be written: {error.strerror or error}") from error
        raise


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """A file to be filled that appears whole or stays as it was before; it keeps its permissions."""
    temporary = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _fsync(path.parent)


def write_file_atomically(path: Path, content: str) -> None:
    """One file, whole or as it was before."""
    with open_atomically(path) as file:
        file.write(content.encode("utf-8"))


def remove_folder_atomically(folder: Path) -> None:
    """Takes a folder away under another name first, so that no half of it is ever found under its own."""
    leaving = folder.with_name(f".{folder.name}.deleting-{os.getpid()}")
    folder.rename(leaving)
    shutil.rmtree(leaving)


def remove_leftovers(run: Path) -> None:
    """Deletes what a process that was killed had begun to write or to delete."""
    for path in run.glob(".*"):
        if ".writing-" in path.name or ".deleting-" in path.name:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def publish_model(
    checkpoint: Path,
    folder: Path,
    exclude: Collection[str] = (),
    metadata: Mapping[str, Any] | None = None,
    extra_files: Mapping[str, str] | None = None,
) -> None:
    """Another whole folder with the same files but those, one that no later step will delete.

    `facts` are put into its manifest; `beside` has texts that go with the files, by name, and are sealed
    with them. A folder that was published before is replaced.
    """

    def fill(place: Path) -> dict[str, Any]:
        manifest = read_manifest(checkpoint)
        for name in manifest["files"]:
            if name not in exclude:
                shutil.copyfile(checkpoint / name, place / name)
        for name, text in (extra_files or {}).items():
            (place / name).write_text(text, "utf-8", newline="\n")
        kept = {key: value for key, value in manifest.items() if key not in ("format", "files")}
        return kept | dict(metadata or {})

    write_folder_atomically(folder, fill, overwrite=True)


def read_manifest(folder: Path, size_only: Collection[str] = ()) -> dict[str, Any]:
    """What the folder says of itself, after checking that every file is what it was when written.

    Of those that will stay `unread` only the size is looked at: hashing takes long where they are large.
    """
    manifest = _parse_manifest(folder)
    for name, expected in manifest["files"].items():
        _check_file(folder, name, expected, name in size_only)
    return manifest


def find_model_folder(path: Path) -> Path:
    """The model folder meant by `path`: itself, a run's `model`, or the last checkpoint of one cut short."""
    for folder in (path, path / "model", *reversed(list_checkpoints(path))):
        if (folder / MANIFEST_FILE).is_file():
            return folder
    if not path.exists():
        raise CheckpointError(f"{path} does not exist; give the folder that `regard train --out` wrote")
    raise CheckpointError(
        f"{path} is not a model folder: it has no {MANIFEST_FILE}; give the folder that `regard train --out` wrote"
    )


def list_checkpoints(run: Path) -> list[Path]:
    """The folders `step-N` of a run, the last step last."""
    found = [path for path in run.glob("step-*") if path.name.removeprefix("step-").isdecimal()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("step-")))


def file_sha256(path: Path) -> str:
    """The file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
        for path in sorted(folder.iterdir())
    }
    manifest = {"format": FORMAT_VERSION, **facts, "files": files}
    (folder / MANIFEST_FILE).write_text(_with_seal(manifest), "utf-8", newline="\n")
    for path in (*folder.iterdir(), folder):
        _fsync(path)


def _with_seal(manifest: dict[str, Any]) -> str:
    seal = hashlib.sha256(_json(manifest).encode()).hexdigest()
    return _json({**manifest, "seal": seal})


def _is_sealed(manifest: dict[str, Any], content: bytes) -> bool:
    try:
        return _with_seal(manifest).encode() == content
    except (ValueError, RecursionError):  # what we never write
        return False


def _json(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _parse_manifest(folder: Path) -> dict[str, Any]:
    try:
        content = (folder / MANIFEST_FILE).read_bytes()
        manifest = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder / MANIFEST_FILE} cannot be read: {error}") from None
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or not isinstance(manifest.get("format"), int):
        raise CheckpointError(f"{folder / MANIFEST_FILE} is not a model's manifest")
    rest = {key: value for key, value in manifest.items() if key != "seal"}
    if manifest["format"] != 1 and not _is_sealed(rest, content):
        raise CheckpointError(
            f"{folder} is damaged: {MANIFEST_FILE} is not what was written (seal differs); copy the folder again"
        )
    if manifest["format"] > FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format {manifest['format']}, this regard reads up to {FORMAT_VERSION}; upgrade regard"
        )
    return rest


def _check_file(folder: Path, name: str, expected: Any, unread: bool) -> None:
    if Path(name).name != name or not isinstance(expected, dict):
        raise CheckpointError(f"{folder / MANIFEST_FILE} is damaged: it names a file {name!r}")
    path = folder / name
    if not path.is_file():
        raise CheckpointError(f"{folder} is damaged: {name} is missing; copy the whole folder again")
    same = path.stat().st_size == expected.get("bytes")
    if not same or not (unread or file_sha256(path) == expected.get("sha256")):
        raise CheckpointError(
            f"{folder} is damaged: {name} is not what was written (SHA-256 differs); copy the folder again"
        )


def _fsync(path: Path) -> None:
    if os.name == "nt":  # which cannot open a folder, nor flush what is open for reading
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Model folders written atomically, with a manifest of file hashes that detects damage; atomic files."""

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import CheckpointError, FormatError, SaveError
from regard.strict_json import (
    MAX_JSON_BYTES,
    is_link_to_system_file,
    is_sealed,
    parse_json,
    read_bytes_within,
    seal_json,
    without_seal,
)

FORMAT_VERSION = 2
"""Since version 2 the manifest has a `seal`: the SHA-256 of its other content.

Every later version must keep this seal, or this version reports the manifest as damaged.
"""
MANIFEST_FILE = "manifest.json"
WEIGHTS_FILE = "model.safetensors"
CONFIG_FILE = "config.toml"
"""Settings of a run, in its folder and in that of each of its models."""


def write_folder_atomically(
    folder: Path, write_files: Callable[[Path], dict[str, Any]], overwrite: bool = False
) -> None:
    """Write a folder with a manifest so that it appears complete or not at all.

    `write_files` fills a temporary folder and returns the metadata for the manifest. An error leaves
    neither `folder` nor the temporary folder. With `overwrite`, an existing folder is removed once the new
    one is complete.
    """
    if folder.exists() and not overwrite:
        raise CheckpointError(f"{folder} exists already; a model folder is written once")
    with _atomic_folder(folder) as temporary:
        _write_manifest(temporary, write_files(temporary))


@contextmanager
def _atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `folder` at the end."""
    temporary = folder.with_name(f".{folder.name}.writing-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if folder.exists():
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
    """Open a file for writing that is replaced as a whole at the end, keeping its permissions."""
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
    """Replace the content of a file as a whole."""
    with open_atomically(path) as file:
        file.write(content.encode("utf-8"))


def remove_folder_atomically(folder: Path) -> None:
    """Delete a folder after renaming it, so that no incomplete folder is left under its name."""
    leaving = folder.with_name(f".{folder.name}.deleting-{os.getpid()}")
    folder.rename(leaving)
    shutil.rmtree(leaving)


def remove_leftovers(run: Path) -> None:
    """Delete temporary files and folders of processes that were killed."""
    for path in run.glob(".*"):
        if ".writing-" in path.name or ".deleting-" in path.name:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def publish_model(
    checkpoint: Path,
    folder: Path,
    exclude: Collection[str] = (),
    metadata: Mapping[str, Any] | None = None,
    build_extra_files: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None,
) -> None:
    """Copy the files of a checkpoint, but for those in `exclude`, to a model folder; replace an older one.

    `metadata` is added to the manifest. `build_extra_files` gets that manifest and returns further text files
    by name. Damage is detected by the hashes of the copies, so that large files are hashed once.
    """
    manifest = parse_manifest(checkpoint)
    for name, entry in manifest["files"].items():
        _check_file(checkpoint, name, entry, size_only=True)
    copied = {name: entry for name, entry in manifest["files"].items() if name not in exclude}
    metadata = {**manifest, **(metadata or {})}
    with _atomic_folder(folder) as temporary:
        for name in copied:
            shutil.copyfile(checkpoint / name, temporary / name)
        for name, text in (build_extra_files(metadata) if build_extra_files else {}).items():
            (temporary / name).write_text(text, "utf-8", newline="\n")
        kept = {key: value for key, value in metadata.items() if key not in ("format", "files")}
        files = _write_manifest(temporary, kept)
        for name, entry in copied.items():
            if files[name]["sha256"] != entry.get("sha256"):
                raise _changed_file_error(checkpoint, name)


def read_manifest(folder: Path, size_only: Collection[str] = ()) -> dict[str, Any]:
    """Return the manifest of a folder after checking that no file has changed since it was written.

    Of the files in `size_only` only the size is checked, since hashing large files takes long.
    """
    manifest = parse_manifest(folder)
    for name, entry in manifest["files"].items():
        _check_file(folder, name, entry, name in size_only)
    return manifest


def parse_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder after checking its seal; the files are not looked at."""
    try:
        content = read_bytes_within(folder / MANIFEST_FILE, MAX_JSON_BYTES)
        manifest = parse_json(content)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder / MANIFEST_FILE} cannot be read: {error}") from None
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or type(manifest.get("format")) is not int:
        raise CheckpointError(f"{folder / MANIFEST_FILE} is not a model's manifest")
    if manifest["format"] != 1 and not is_sealed(manifest, content):
        raise CheckpointError(
            f"{folder} is damaged: {MANIFEST_FILE} is not what was written (seal differs); "
            "copy the folder again"
        )
    if manifest["format"] > FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format {manifest['format']}, this regard reads up to {FORMAT_VERSION}; "
            "upgrade regard"
        )
    return without_seal(manifest)


def verify_file(folder: Path, manifest: Mapping[str, Any], name: str) -> None:
    """Check one file of a folder against its manifest, by SHA-256."""
    _check_file(folder, name, manifest["files"][name], size_only=False)


def find_model_folder(path: Path) -> Path:
    """Return the model folder that a path leads to: itself, `model` of a run, or a run's last checkpoint."""
    for folder in (path, path / "model", *reversed(list_checkpoints(path))):
        if (folder / MANIFEST_FILE).is_file():
            return folder
    if not path.exists():
        raise CheckpointError(f"{path} does not exist; give the folder that `regard train --out` wrote")
    runs = list_seed_runs(path)
    known = f"it holds the runs of --seeds; give one of them, as in {runs[0]}" if runs else ""
    raise CheckpointError(
        f"{path} is not a model folder: "
        + (known or f"it has no {MANIFEST_FILE}; give the folder that `regard train --out` wrote")
    )


def list_checkpoints(run: Path) -> list[Path]:
    """Return the checkpoint folders `step-N` of a run in the order of their steps."""
    folders = [path for path in run.glob("step-*") if path.name.removeprefix("step-").isdecimal()]
    return sorted(folders, key=lambda path: int(path.name.removeprefix("step-")))


def list_seed_runs(out: Path) -> list[Path]:
    """Return the runs that `regard train --seeds` has trained into a folder, in the order of seeds."""
    runs = [path for path in out.glob("seed-*") if path.name.removeprefix("seed-").isdecimal()]
    return sorted(
        (path for path in runs if (path / CONFIG_FILE).is_file()),
        key=lambda path: int(path.name.removeprefix("seed-")),
    )


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(folder: Path, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Write the manifest of a folder and flush its files to disk; return size and hash of each file."""
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
        for path in sorted(folder.iterdir())
    }
    manifest = {"format": FORMAT_VERSION, **metadata, "files": files}
    (folder / MANIFEST_FILE).write_text(seal_json(manifest), "utf-8", newline="\n")
    for path in (*folder.iterdir(), folder):
        _fsync(path)
    return files


def _check_file(folder: Path, name: str, entry: Any, size_only: bool) -> None:
    if not _is_file_name(name) or not isinstance(entry, dict):
        raise CheckpointError(f"{folder / MANIFEST_FILE} is damaged: it names a file {name!r}")
    path = folder / name
    if not path.is_file():
        raise CheckpointError(f"{folder} is damaged: {name} is missing; copy the whole folder again")
    if path.stat().st_size != entry.get("bytes") or is_link_to_system_file(path):
        raise _changed_file_error(folder, name)
    if not size_only and file_sha256(path) != entry.get("sha256"):
        raise _changed_file_error(folder, name)


def _is_file_name(name: str) -> bool:
    """Return whether a name stays in its folder and can be shown in one line."""
    return Path(name).name == name and name.isprintable() and len(name.encode("utf-8", "replace")) <= 255


def _changed_file_error(folder: Path, name: str) -> CheckpointError:
    return CheckpointError(
        f"{folder} is damaged: {name} is not what was written (SHA-256 differs); copy the folder again"
    )


def _fsync(path: Path) -> None:
    if os.name == "nt":  # Windows can neither open a folder nor flush a file open for reading
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""metrics.jsonl: writing and reading the record of a run, one JSON object per line."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.checkpoint import write_file_atomically
from regard.errors import DataError
from regard.strict_json import read_bytes_within

METRICS_FILE = "metrics.jsonl"
MAX_METRICS_BYTES = 2**29
"""About two million rows."""
MetricsRow = Mapping[str, Any]


class MetricsWriter:
    """Appends rows to metrics.jsonl, unbuffered. A full disk is reported once and does not end the training.

    `resumed_step` is the step that a training resumes from: rows of later steps, which will be computed
    again, and a line cut short by a kill are removed. 0 starts with an empty file.
    """

    def __init__(self, path: Path, notify: Callable[[str], None], resumed_step: int = 0) -> None:
        _truncate_after(path, resumed_step)
        self._path = path
        self._file = path.open("ab", buffering=0)
        self._notify = notify
        self._has_failed = False

    def close(self) -> None:
        with suppress(OSError):  # the disk may be gone
            self._file.close()

    def write(self, row: MetricsRow) -> None:
        """Append a row."""
        try:
            self._append(_format_line(row))
        except OSError as error:
            if not self._has_failed:
                self._notify(
                    f"{self._file.name} cannot be written: {error.strerror}; training continues without it"
                )
            self._has_failed = True

    def write_once(self, row: MetricsRow) -> None:
        """Append a row unless the file has the same one already, as after a resume."""
        if _format_line(row) not in self._path.read_bytes():
            self.write(row)

    def _append(self, line: bytes) -> None:
        """Write the whole line or nothing: half a line would spoil the next one, too."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(end)
            raise


class MetricsReader:
    """Reads metrics.jsonl incrementally while a training writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file_id, self._offset = (0, 0), 0

    def read_new_rows(self) -> tuple[bool, list[MetricsRow]]:
        """Return whether the file was replaced since the last call, and the rows added since then.

        After a replacement the rows are all those of the new file. A line is read once it is complete.
        """
        try:
            with self._path.open("rb") as file:
                status = self._path.stat()
                file_id = (status.st_dev, status.st_ino)
                is_replaced = file_id != self._file_id or status.st_size < self._offset
                if is_replaced:
                    self._file_id, self._offset = file_id, 0
                file.seek(self._offset)
                content = file.read()
        except OSError:  # not written yet
            return False, []
        complete = content[: content.rfind(b"\n") + 1]
        self._offset += len(complete)
        return is_replaced, [row for line in complete.splitlines() if (row := parse_metrics_line(line))]


def parse_metrics_line(line: bytes) -> dict[str, Any]:
    """Return the row of a line; an empty one where it is not what is written, or cut short by a kill."""
    try:
        row = json.loads(line, parse_int=_parse_bounded_int)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def read_metrics(path: Path) -> list[MetricsRow]:
    """Return all rows of the file."""
    try:
        content = read_bytes_within(path, MAX_METRICS_BYTES)
    except ValueError as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    return [row for line in content.split(b"\n") if (row := parse_metrics_line(line))]


def read_losses(path: Path) -> dict[int, float | None]:
    """Return the exact training loss of each logged step; None where it was not finite."""
    return {row["step"]: row["loss"] for row in read_metrics(path) if row.get("kind") == "train"}


def find_validation(path: Path, step: int) -> MetricsRow:
    """Return the last validation row of that step; an empty one if there is none."""
    rows = [row for row in read_metrics(path) if row.get("kind") == "valid" and row.get("step") == step]
    return rows[-1] if rows else {}


def find_metrics_folder(path: Path) -> Path | None:
    """Return the run folder of a path: itself, or the parent of a model, checkpoint or metrics.jsonl."""
    for folder in (path, path.resolve().parent):
        if (folder / METRICS_FILE).is_file():
            return folder
    return None


def _truncate_after(path: Path, step: int) -> None:
    """Keep the rows up to a step. The file is replaced in one operation, so that a kill loses no row."""
    if not path.exists():
        return
    content = path.read_bytes()
    head = b"".join(_lines_up_to(step, content)) if step else b""
    if head != content:
        write_file_atomically(path, head.decode("utf-8"))


def _parse_bounded_int(text: str) -> int:
    number = int(text)
    if abs(number) >= 2**63:
        raise ValueError(f"{text[:20]} is too large")
    return number


def _lines_up_to(step: int, content: bytes) -> Iterator[bytes]:
    for line in content.splitlines(keepends=True):
        row = parse_metrics_line(line)
        if line.endswith(b"\n") and row and row.get("step", 0) <= step:
            yield line


def _format_line(row: MetricsRow) -> bytes:
    text = json.dumps(_nan_to_null(row), ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _nan_to_null(value: object) -> object:
    """Replace NaN and infinity, which JSON cannot express, by null."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: _nan_to_null(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_nan_to_null(inner) for inner in value]
        case _:
            return value

"""metrics.jsonl: what stays of a training, one JSON object a line, each whole or absent."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.checkpoint import write_file_atomically


class MetricsWriter:
    """Appends to `path` and flushes. On a full disk it says so once, and the training goes on.

    `after` is the step that a training resumes from; what was recorded later is dropped, since it
    happens again, and so is a line that a kill cut short. 0 starts from nothing.
    """

    def __init__(self, path: Path, notify: Callable[[str], None], resumed_step: int = 0) -> None:
        _truncate_after(path, resumed_step)
        self._path = path
        self._file = path.open("ab", buffering=0)
        self._say = notify
        self._lost = 0

    def close(self) -> None:
        with suppress(OSError):  # there may be no disk any more
            self._file.close()

    def write(self, facts: Mapping[str, object]) -> None:
        try:
            self._append(_format_line(facts))
        except OSError as error:
            if not self._lost:
                self._say(
                    f"{self._file.name} cannot be written: {error.strerror}; training goes on without it"
                )
            self._lost += 1

    def write_once(self, facts: Mapping[str, object]) -> None:
        """What stays true: a training that goes on does not say it again."""
        if _format_line(facts) not in self._path.read_bytes():
            self.write(facts)

    def _append(self, line: bytes) -> None:
        """The whole line or nothing of it: half a line would spoil the next one, too."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(end)
            raise


def find_validation(path: Path, step: int) -> Mapping[str, Any]:
    """What was recorded of the last validation at that step; nothing if none was."""
    found: Mapping[str, Any] = {}
    for line in path.read_bytes().splitlines():
        if b'"valid"' in line and (facts := _parse_line(line)).get("step") == step:
            found = facts
    return found


def _truncate_after(path: Path, after: int) -> None:
    """Leaves the lines up to a step. The file is replaced at once, so that a kill loses neither half."""
    if not path.exists():
        return
    content = path.read_bytes()
    kept = b"".join(_lines_up_to(after, content)) if after else b""
    if kept != content:
        write_file_atomically(path, kept.decode("utf-8"))


def _lines_up_to(after: int, content: bytes) -> Iterator[bytes]:
    for line in content.splitlines(keepends=True):
        facts = _parse_line(line)
        if line.endswith(b"\n") and facts and facts.get("step", 0) <= after:
            yield line


def _parse_line(line: bytes) -> dict[str, Any]:
    """Nothing if it is no event: a kill may have cut it short."""
    try:
        facts = json.loads(line)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _format_line(facts: Mapping[str, object]) -> bytes:
    text = json.dumps(_nan_to_null(facts), ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _nan_to_null(value: object) -> object:
    """JSON has no word for NaN and infinity: null."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: _nan_to_null(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_nan_to_null(inner) for inner in value]
        case _:
            return value

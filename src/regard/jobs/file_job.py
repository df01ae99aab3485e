"""A file translated in parts that survive: killed and started again, it goes on where it was."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint import MANIFEST, clean, find_model, sha256, write_file, writing
from regard.errors import RegardError, SaveError
from regard.jobs.line_batches import Size, file_windows
from regard.jobs.line_report import Trouble
from regard.jobs.worker import Answered, Worker
from regard.jobs.worker_pool import alone, together
from regard.text.compression import readable

FORMAT = 1
JOB, LOCK = "job.json", ".lock"
PART = re.compile(r"[0-9]{8,}")
"""The name of a part: its number."""
OURS = re.compile(rf"^{PART.pattern}$|\.writing-|\.deleting-")
"""Names of parts that are there, or were to be when somebody killed us."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A file to translate, where its translation goes, and with what."""

    source: Path
    output: Path
    worker: Worker
    size: Size
    workers: int

    @property
    def folder(self) -> Path:
        """Where finished parts lie until all are there."""
        return self.output.with_name(f"{self.output.name}.parts")

    @contextmanager
    def opened(self, anew: bool = False) -> Iterator[None]:
        """While nobody else may work on it. What another file, model or options left unfinished is refused.

        Where the work is to begin `anew`, it is deleted.
        """
        if self.folder.exists():
            _refuse_strange(self)
        with _saying(self), _locked(self):
            try:
                _begin(self, anew)
                yield
            finally:
                if not _parts(self):  # nothing that would be lost
                    _put_away(self)

    def answers(self, on_done: Callable[[int], None] | None = None) -> Iterator[Answered]:
        """Translates what is not finished; an answer is on disk when it is given, and so without its text."""
        finished = {int(part.name) for part in _parts(self)}
        windows = file_windows(self.source, self.size)
        left = (window for window in windows if window.number not in finished)
        keep = _Keep(self.folder)
        if self.workers > 1:
            return together(self.worker, left, self.workers, keep)
        return alone(self.worker, left, keep, on_done)

    def finished(self) -> Iterator[Answered]:
        """The answers that are on disk, without their texts, in order."""
        return map(_header, _parts(self))

    def join(self) -> None:
        """Makes one file of all parts; they go when it is there."""
        parts = _parts(self)
        assert [int(part.name) for part in parts] == list(range(len(parts)))
        with writing(self.output.resolve()) as output:
            for part in parts:
                with part.open("rb") as file:
                    file.readline()
                    shutil.copyfileobj(file, output)
        for path in (self.folder / JOB, *parts):  # without the first, the others are nobody's
            path.unlink()


@dataclass(frozen=True)
class _Keep:
    """Writes an answer to its part, at once and where it was made, so that no kill can lose it later."""

    folder: Path

    def __call__(self, answered: Answered) -> Answered:
        header = {**answered._asdict(), "text": "", "bytes": len(answered.text.encode())}
        try:
            write_file(
                self.folder / f"{answered.number:08}",
                json.dumps(header, ensure_ascii=False) + "\n" + answered.text,
            )
        except OSError as error:
            raise SaveError(_unwritable(self.folder, error)) from None
        return answered._replace(text="")


def _parts(job: Job) -> list[Path]:
    return sorted(path for path in job.folder.glob("*") if PART.fullmatch(path.name))


def _header(part: Path) -> Answered:
    """All of an answer but its text."""
    with part.open("rb") as file:
        known = json.loads(file.readline())
    del known["bytes"]
    return Answered(**{**known, "troubles": [Trouble(*trouble) for trouble in known["troubles"]]})


def _refuse_strange(job: Job) -> None:
    """A folder of that name may be somebody's own."""
    names = [path.name for path in job.folder.glob("*")]
    strange = [name for name in names if name not in (JOB, LOCK) and not OURS.search(name)]
    if strange:
        raise RegardError(
            f"{job.folder} is where unfinished work is kept, and holds {min(strange)}, which is none; "
            "move the folder, or give another --output"
        )


def _put_away(job: Job) -> None:
    """Deletes the folder and what we have put there; what somebody else has, stays."""
    for name in (JOB, LOCK):
        (job.folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        job.folder.rmdir()


def _begin(job: Job, anew: bool) -> None:
    """A new folder, or one that holds parts of the same work."""
    clean(job.folder)
    place, facts = job.folder / JOB, _facts(job)
    if anew or not place.exists():
        for path in (place, *_parts(job)):
            path.unlink(missing_ok=True)
    if place.exists():
        _refuse_other(job, json.loads(place.read_text(encoding="utf-8")), facts)
    else:
        write_file(place, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    for part in _parts(job):
        if not _is_whole(part):
            part.unlink()


def _is_whole(part: Path) -> bool:
    """A disk may lose what a power cut found half written."""
    try:
        with part.open("rb") as file:
            header = file.readline()
            return part.stat().st_size == len(header) + json.loads(header)["bytes"]
    except (ValueError, KeyError, TypeError):
        return False


def _facts(job: Job) -> Facts:
    """All that decides what the parts hold; the number of workers does not."""
    with readable(job.source):
        source = sha256(job.source)
    model, *others = job.worker.models()
    return {
        "format": FORMAT,
        "input": source,
        "model": sha256(find_model(model) / MANIFEST),
        "window": list(job.size),
        **job.worker.options(),
        "also": [sha256(find_model(path) / MANIFEST) for path in others],
    }


def _refuse_other(job: Job, before: Facts, now: Facts) -> None:
    differ = [name for name in now if now[name] != before.get(name)]
    if differ:
        raise RegardError(
            f"{job.folder} holds unfinished work with another {', '.join(differ)}; to go on with it give "
            "the same command as then, to begin again --anew"
        )


@contextmanager
def _locked(job: Job) -> Iterator[None]:
    """One process at a time; the lock dies with it."""
    job.folder.mkdir(exist_ok=True)
    if os.name == "nt":
        yield
        return
    import fcntl

    with (job.folder / LOCK).open("a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RegardError(
                f"{job.output} is being written by another process; wait until it has ended"
            ) from None
        yield


@contextmanager
def _saying(job: Job) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SaveError(_unwritable(job.folder, error)) from None


def _unwritable(folder: Path, error: OSError) -> str:
    why = error.strerror or str(error)
    return f"{folder} cannot be written: {why}; what is finished is kept there, and the same command goes on"

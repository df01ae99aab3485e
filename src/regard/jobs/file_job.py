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

from regard.checkpoint import (
    MANIFEST_FILE,
    file_sha256,
    find_model_folder,
    open_atomically,
    remove_leftovers,
    write_file_atomically,
)
from regard.errors import RegardError, SaveError
from regard.jobs.line_batches import LineBatchLimits, batch_file_lines
from regard.jobs.line_report import LineIssue
from regard.jobs.worker import BatchResult, Worker
from regard.jobs.worker_pool import run_in_worker_pool, run_sequentially
from regard.text.compression import wrap_read_errors

JOB_FORMAT = 1
JOB_FILE, JOB_LOCK_FILE = "job.json", ".lock"
PART_NAME = re.compile(r"[0-9]{8,}")
"""The name of a part: its number."""
OWN_FILE_NAME = re.compile(rf"^{PART_NAME.pattern}$|\.writing-|\.deleting-")
"""Names of parts that are there, or were to be when somebody killed us."""

JobFacts = dict[str, Any]


@dataclass(frozen=True)
class FileJob:
    """A file to translate, where its translation goes, and with what."""

    input_path: Path
    output_path: Path
    worker: Worker
    limits: LineBatchLimits
    workers: int

    @property
    def parts_folder(self) -> Path:
        """Where finished parts lie until all are there."""
        return self.output_path.with_name(f"{self.output_path.name}.parts")

    @contextmanager
    def open(self, restart: bool = False) -> Iterator[None]:
        """While nobody else may work on it. What another file, model or options left unfinished is refused.

        Where the work is to begin `anew`, it is deleted.
        """
        if self.parts_folder.exists():
            _reject_foreign_files(self)
        with _os_errors_as_save_errors(self), _locked(self):
            try:
                _prepare_folder(self, restart)
                yield
            finally:
                if not _list_parts(self):  # nothing that would be lost
                    _remove_folder(self)

    def run(self, on_done: Callable[[int], None] | None = None) -> Iterator[BatchResult]:
        """Translates what is not finished; an answer is on disk when it is given, and so without its text."""
        finished = {int(part.name) for part in _list_parts(self)}
        windows = batch_file_lines(self.input_path, self.limits)
        left = (window for window in windows if window.number not in finished)
        keep = _PartWriter(self.parts_folder)
        if self.workers > 1:
            return run_in_worker_pool(self.worker, left, self.workers, keep)
        return run_sequentially(self.worker, left, keep, on_done)

    def finished_results(self) -> Iterator[BatchResult]:
        """The answers that are on disk, without their texts, in order."""
        return map(_read_part_header, _list_parts(self))

    def merge_parts(self) -> None:
        """Makes one file of all parts; they go when it is there."""
        parts = _list_parts(self)
        assert [int(part.name) for part in parts] == list(range(len(parts)))
        with open_atomically(self.output_path.resolve()) as output:
            for part in parts:
                with part.open("rb") as file:
                    file.readline()
                    shutil.copyfileobj(file, output)
        for path in (self.parts_folder / JOB_FILE, *parts):  # without the first, the others are nobody's
            path.unlink()


@dataclass(frozen=True)
class _PartWriter:
    """Writes an answer to its part, at once and where it was made, so that no kill can lose it later."""

    folder: Path

    def __call__(self, answered: BatchResult) -> BatchResult:
        header = {**answered._asdict(), "text": "", "bytes": len(answered.text.encode())}
        try:
            write_file_atomically(
                self.folder / f"{answered.number:08}",
                json.dumps(header, ensure_ascii=False) + "\n" + answered.text,
            )
        except OSError as error:
            raise SaveError(_unwritable_message(self.folder, error)) from None
        return answered._replace(text="")


def _list_parts(job: FileJob) -> list[Path]:
    return sorted(path for path in job.parts_folder.glob("*") if PART_NAME.fullmatch(path.name))


def _read_part_header(part: Path) -> BatchResult:
    """All of an answer but its text."""
    with part.open("rb") as file:
        known = json.loads(file.readline())
    del known["bytes"]
    return BatchResult(**{**known, "troubles": [LineIssue(*trouble) for trouble in known["troubles"]]})


def _reject_foreign_files(job: FileJob) -> None:
    """A folder of that name may be somebody's own."""
    names = [path.name for path in job.parts_folder.glob("*")]
    strange = [
        name for name in names if name not in (JOB_FILE, JOB_LOCK_FILE) and not OWN_FILE_NAME.search(name)
    ]
    if strange:
        raise RegardError(
            f"{job.parts_folder} is where unfinished work is kept, and holds {min(strange)}, which is none; "
            "move the folder, or give another --output"
        )


def _remove_folder(job: FileJob) -> None:
    """Deletes the folder and what we have put there; what somebody else has, stays."""
    for name in (JOB_FILE, JOB_LOCK_FILE):
        (job.parts_folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        job.parts_folder.rmdir()


def _prepare_folder(job: FileJob, anew: bool) -> None:
    """A new folder, or one that holds parts of the same work."""
    remove_leftovers(job.parts_folder)
    place, facts = job.parts_folder / JOB_FILE, _job_facts(job)
    if anew or not place.exists():
        for path in (place, *_list_parts(job)):
            path.unlink(missing_ok=True)
    if place.exists():
        _reject_different_job(job, json.loads(place.read_text(encoding="utf-8")), facts)
    else:
        write_file_atomically(place, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    for part in _list_parts(job):
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


def _job_facts(job: FileJob) -> JobFacts:
    """All that decides what the parts hold; the number of workers does not."""
    with wrap_read_errors(job.input_path):
        source = file_sha256(job.input_path)
    model, *others = job.worker.models()
    return {
        "format": JOB_FORMAT,
        "input": source,
        "model": file_sha256(find_model_folder(model) / MANIFEST_FILE),
        "window": list(job.limits),
        **job.worker.output_settings(),
        "also": [file_sha256(find_model_folder(path) / MANIFEST_FILE) for path in others],
    }


def _reject_different_job(job: FileJob, before: JobFacts, now: JobFacts) -> None:
    differ = [name for name in now if now[name] != before.get(name)]
    if differ:
        raise RegardError(
            f"{job.parts_folder} holds unfinished work with another {', '.join(differ)}; to go on with it give "
            "the same command as then, to begin again --anew"
        )


@contextmanager
def _locked(job: FileJob) -> Iterator[None]:
    """One process at a time; the lock dies with it."""
    job.parts_folder.mkdir(exist_ok=True)
    if os.name == "nt":
        yield
        return
    import fcntl

    with (job.parts_folder / JOB_LOCK_FILE).open("a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RegardError(
                f"{job.output_path} is being written by another process; wait until it has ended"
            ) from None
        yield


@contextmanager
def _os_errors_as_save_errors(job: FileJob) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SaveError(_unwritable_message(job.parts_folder, error)) from None


def _unwritable_message(folder: Path, error: OSError) -> str:
    why = error.strerror or str(error)
    return f"{folder} cannot be written: {why}; what is finished is kept there, and the same command goes on"

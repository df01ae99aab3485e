"""Resumable jobs on a file: finished parts are kept on disk, so that a killed job can resume."""

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from regard.checkpoint import file_sha256, open_atomically, remove_leftovers, write_file_atomically
from regard.errors import RegardError, SaveError
from regard.jobs.line_batches import LineBatchLimits, batch_file_lines
from regard.jobs.line_report import LineIssue
from regard.jobs.worker import BatchResult, Worker
from regard.jobs.worker_pool import run_in_worker_pool, run_sequentially
from regard.strict_json import parse_sealed_json, seal_json
from regard.text.compression import wrap_read_errors

JOB_FORMAT = 3
JOB_FILE, JOB_LOCK_FILE = "job.json", ".lock"
PART_NAME = re.compile(r"[0-9]{8,}")
"""Name of a part: the number of its batch."""
OWN_FILE_NAME = re.compile(rf"^{PART_NAME.pattern}$|\.writing-|\.deleting-")
"""Parts, and temporary files that a killed process left behind."""

JobFacts = dict[str, Any]


def _write_to_stderr(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{message}\n")


@dataclass(frozen=True)
class FileJob:
    """An input file, its output file, and the worker that processes it."""

    input_path: Path
    output_path: Path
    worker: Worker
    limits: LineBatchLimits
    workers: int
    report: Callable[[str], object] = _write_to_stderr
    """Told in one line what is damaged and done again."""

    @property
    def parts_folder(self) -> Path:
        """The folder of finished parts, until the output file is complete."""
        return self.output_path.with_name(f"{self.output_path.name}.parts")

    @contextmanager
    def open(self, restart: bool = False) -> Iterator[None]:
        """Hold the job's lock; refuse unfinished work with another input, model or options.

        With `restart`, unfinished work is deleted.
        """
        if self.parts_folder.exists():
            _reject_foreign_files(self)
        with _os_errors_as_save_errors(self):
            self.parts_folder.mkdir(exist_ok=True)
            try:
                with _locked(self):
                    try:
                        _prepare_folder(self, restart)
                        yield
                    finally:
                        if not _list_parts(self):  # no finished work would be lost
                            _remove_folder(self)
            finally:
                with suppress(OSError):  # on Windows the lock file can be deleted only now
                    self.parts_folder.rmdir()

    def run(self, on_done: Callable[[int], None] | None = None) -> Iterator[BatchResult]:
        """Process the batches that are not finished; yield each without its text once it is on disk."""
        finished = {int(part.name) for part in _list_parts(self)}
        batches = batch_file_lines(self.input_path, self.limits)
        open_batches = (batch for batch in batches if batch.number not in finished)
        part_writer = _PartWriter(self.parts_folder, file_sha256(self.parts_folder / JOB_FILE))
        if self.workers > 1:
            return run_in_worker_pool(self.worker, open_batches, self.workers, part_writer)
        return run_sequentially(self.worker, open_batches, part_writer, on_done)

    def finished_results(self) -> Iterator[BatchResult]:
        """Yield the results that are on disk, without their texts, in order."""
        return map(_read_part_header, _list_parts(self))

    def merge_parts(self) -> None:
        """Write the output file from all parts, then delete them."""
        parts = _list_parts(self)
        assert [int(part.name) for part in parts] == list(range(len(parts)))
        with open_atomically(self.output_path.resolve()) as output:
            for part in parts:
                with part.open("rb") as file:
                    file.readline()
                    shutil.copyfileobj(file, output)
        for path in (
            self.parts_folder / JOB_FILE,
            *parts,
        ):  # the job file first: parts without it are ignored
            path.unlink()


@dataclass(frozen=True)
class _PartWriter:
    """Writes a result to its part in the process that computed it, so that no kill can lose it later."""

    folder: Path
    job_sha256: str
    """The SHA-256 of the job file."""

    def __call__(self, result: BatchResult) -> BatchResult:
        header = {**result._asdict(), "text": ""}
        header["seal"] = _part_seal(self.job_sha256, header, result.text.encode())
        try:
            write_file_atomically(
                self.folder / f"{result.number:08}",
                json.dumps(header, ensure_ascii=False) + "\n" + result.text,
            )
        except OSError as error:
            raise SaveError(_unwritable_message(self.folder, error)) from None
        return result._replace(text="")


def _list_parts(job: FileJob) -> list[Path]:
    return sorted(path for path in job.parts_folder.glob("*") if PART_NAME.fullmatch(path.name))


def _read_part_header(part: Path) -> BatchResult:
    """Return the result of a part without its text."""
    with part.open("rb") as file:
        header = json.loads(file.readline())
    del header["seal"]
    return BatchResult(**{**header, "issues": [LineIssue(*issue) for issue in header["issues"]]})


def _reject_foreign_files(job: FileJob) -> None:
    """Refuse a folder of that name that holds other files: it may belong to the user."""
    names = [path.name for path in job.parts_folder.glob("*")]
    foreign = [
        name for name in names if name not in (JOB_FILE, JOB_LOCK_FILE) and not OWN_FILE_NAME.search(name)
    ]
    if foreign:
        raise RegardError(
            f"{job.parts_folder} is the folder for unfinished work, and {min(foreign)} in it is not part of "
            "any; move the folder, or give another --out"
        )


def _remove_folder(job: FileJob) -> None:
    """Delete the folder with our own files; any other file stays."""
    (job.parts_folder / JOB_FILE).unlink(missing_ok=True)
    with suppress(OSError):
        (job.parts_folder / JOB_LOCK_FILE).unlink(missing_ok=True)
        job.parts_folder.rmdir()


def _prepare_folder(job: FileJob, restart: bool) -> None:
    """Write the job file, or check it against this job; delete parts that are damaged or not wanted."""
    remove_leftovers(job.parts_folder)
    path, facts = job.parts_folder / JOB_FILE, _job_facts(job)
    if restart or not path.exists():
        for old in (path, *_list_parts(job)):
            old.unlink(missing_ok=True)
    is_new = not path.exists()
    if (before := _read_job_file(path)) is not None:
        _reject_different_job(job, before, facts)
    else:
        write_file_atomically(path, seal_json(facts))
    sha256, parts = file_sha256(path), _list_parts(job)
    kept = [part for part in parts if _is_intact(part, sha256)]
    for part in set(parts) - set(kept):
        part.unlink()
    if before is None and not is_new:
        job.report(
            f"{path} is damaged; the job starts over, with the {len(kept)} of {len(parts)} finished parts "
            "that are of this input, model and options"
        )


def _read_job_file(path: Path) -> JobFacts | None:
    """Return the facts of the job file; None without one, or if it is damaged."""
    try:
        return parse_sealed_json(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _is_intact(part: Path, job_sha256: str) -> bool:
    """Return whether a part is what was written for this job: a power cut can truncate it."""
    try:
        line, _, text = part.read_bytes().partition(b"\n")
        header = json.loads(line)
        return header.pop("seal") == _part_seal(job_sha256, header, text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _part_seal(job_sha256: str, header: Mapping[str, Any], text: bytes) -> str:
    """Return the SHA-256 of the job, of the other fields of a part's header, and of its text."""
    fields = json.dumps(header, ensure_ascii=False)
    return hashlib.sha256(f"{job_sha256} {fields}\n".encode() + text).hexdigest()


def _job_facts(job: FileJob) -> JobFacts:
    """Return everything the parts depend on; the number of workers is not among it."""
    with wrap_read_errors(job.input_path):
        input_sha256 = file_sha256(job.input_path)
    return {
        "format": JOB_FORMAT,
        "input": input_sha256,
        "batch_limits": list(job.limits),
        **job.worker.job_facts(),
    }


def _reject_different_job(job: FileJob, before: JobFacts, now: JobFacts) -> None:
    different = [name for name in now if now[name] != before.get(name)]
    if different:
        raise RegardError(
            f"{job.parts_folder} holds unfinished work with another {', '.join(different)}; give the "
            "same command as then to resume it, or add --restart to start over"
        )


@contextmanager
def _locked(job: FileJob) -> Iterator[None]:
    """Keep other processes out; the lock ends with the process."""
    lock = FileLock(job.parts_folder / JOB_LOCK_FILE, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RegardError(
            f"{job.output_path} is being written by another process; wait until it has ended"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _os_errors_as_save_errors(job: FileJob) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SaveError(_unwritable_message(job.parts_folder, error)) from None


def _unwritable_message(folder: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return (
        f"{folder} cannot be written: {reason}; finished parts are kept there, and the same command resumes"
    )

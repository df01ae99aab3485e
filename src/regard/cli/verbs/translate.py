"""`regard translate`: translate lines, one in and one out, or the text of a document."""

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from regard.cli.args.input_args import split_inputs
from regard.cli.args.model_args import reject_unused_flags
from regard.cli.args.path_args import reject_replaced_input
from regard.cli.args.translate_args import add_translate_arguments, parse_line_translator
from regard.cli.documents import (
    open_input_document,
    reject_stream_of_other_type,
    translate_document,
)
from regard.cli.output import is_stream_path, open_output
from regard.errors import RegardError
from regard.runtime import keep_freed_memory

if TYPE_CHECKING:
    from regard.cli.translate_progress import TranslateSession
    from regard.documents.document import Document
    from regard.jobs.line_batches import LineBatch, LineBatchLimits, StreamInspector
    from regard.jobs.worker import Worker
    from regard.translation.line_worker import LineTranslator

LARGE_INPUT_BYTES = 2**18
"""Size of the input from which finished parts are kept, and several processes are worth their start-up."""
WORKER_MEMORY_BYTES = 2**29
"""Memory of a worker process besides the model."""
WEIGHTS_MEMORY_FACTOR = 4
"""Memory that a worker needs for the model, as a multiple of the size of its files."""
ONEDNN_CACHE_LIMITS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""Matrix shapes for which torch on a CPU caches kernels: a large file would fill a thousand entries."""

DESCRIPTION = """\
Translate each line of the input: the output has as many lines, in the same
order. A line that cannot be translated becomes an empty line and is reported
at the end.
"""

EPILOG = """\
exit codes
  0  all lines are translated
  1  error: the message says what to change
  3  the output cannot be written (disk full, no permission); finished parts
     are kept
  4  finished, but some lines could not be translated: they are empty in the
     output and listed on stderr and in --report

examples
  regard translate runs/demo --text "Jane visits Africa in September."
  regard translate runs/demo new.en.gz -o new.fr
  regard translate runs/demo < new.en > new.fr
  regard translate runs/demo page.html -o page.fr.html
  regard translate runs/demo a.docx b.docx -o translated/    into a folder
  regard translate runs/demo big.en -o big.fr                repeat to resume
  regard translate runs/demo new.en --beam 1                 greedy search
  regard translate runs/demo new.en --n-best 4 --json        details as JSON
  regard translate runs/demo new.en --glossary terms.tsv     station<TAB>gare
"""


def add_translate_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "translate",
        help="translate text line by line, or a document",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_translate_arguments(parser)
    parser.set_defaults(run=run_translate)


def run_translate(options: argparse.Namespace) -> None:
    for name, limit in ONEDNN_CACHE_LIMITS.items():
        os.environ.setdefault(name, limit)  # read when torch is loaded, here and in workers
    keep_freed_memory()
    requests = split_inputs(options, "translate")
    if len(requests) > 1:
        reject_unused_flags(options, ("report",), "is for one file; give several commands")
    translator = parse_line_translator(options)
    inputs = [_open_input(request) for request in requests]
    from regard.jobs.line_report import UntranslatedError
    from regard.jobs.worker import KeepLoaded
    from regard.translation.engines import report_engine_choice, uses_gpu

    gpu = uses_gpu(options.device)
    engine = replace(translator.engine, device="cuda" if gpu else "cpu")
    translator, choice = replace(translator, engine=engine).with_engine_chosen()
    report_engine_choice(choice, always=options.verbose)
    uses_all_cores = gpu or choice.name == "ctranslate2"  # in one process
    one_process = KeepLoaded(replace(translator, engine=replace(engine, threads=options.threads)))
    failures = []
    for each in inputs:
        workers = options.workers or (1 if uses_all_cores else _default_workers(each.source, translator))
        worker = one_process
        if workers > 1:
            worker = replace(translator, engine=replace(engine, threads=options.threads or 1))
        try:
            _translate_input(each, worker, workers, gpu)
        except UntranslatedError as error:  # the other files are translated, too
            failures.append(f"{each.options.input}: {error}" if len(inputs) > 1 else str(error))
    if failures:
        raise UntranslatedError("; ".join(failures))


class _Input(NamedTuple):
    """An input of the command with its options."""

    options: argparse.Namespace
    source: "_InputSource"
    document: "Document | None"


def _open_input(options: argparse.Namespace) -> _Input:
    """Open an input and check its flags, before a model is loaded."""
    source = _open_source(options)
    document = open_input_document(options)
    if document is None:  # a document may be translated in place
        reject_replaced_input(options.output, options.input)
    _reject_idle_flags(options, source)
    return _Input(options, source, document)


def _translate_input(each: _Input, worker: "Worker", workers: int, gpu: bool) -> None:
    from regard.cli.translate_progress import TranslateSession, TranslationProgress
    from regard.jobs.line_batches import CPU_BATCH_LIMITS, GPU_BATCH_LIMITS
    from regard.jobs.line_report import JobReport

    options, source, document = each
    limits = GPU_BATCH_LIMITS if gpu else CPU_BATCH_LIMITS
    report = JobReport() if document is None else JobReport("sentence", "as it is")
    shown = options.output is not None or not sys.stdout.isatty()  # else the bar would mix with the output
    with TranslationProgress(_total_bytes(source, document), shown=shown) as progress:
        session = TranslateSession(worker, limits, workers, progress, report)
        if document is not None:
            translate_document(document, options, session)
        elif _needs_file_job(options, source):
            _translate_file_job(options, session)
        else:
            with _warn_on_interrupted_pipe(options, source):
                _translate_stream(options, source, session)
    if not source.is_interactive:
        sys.stderr.write("".join(f"{line}\n" for line in report.summary_lines()))
    report.raise_if_untranslated()


class _InputSource(NamedTuple):
    """The input of the command."""

    path: Path | None
    """None: stdin."""
    size: int | None
    """In bytes, if it is known before the end."""
    is_pipe: bool = True
    """Whether it can be read only once."""
    is_interactive: bool = False
    """Whether a person types it and reads the answers."""
    texts: tuple[str, ...] = ()
    """Texts of the command line, instead of a file or stdin."""

    def line_batches(
        self, limits: "LineBatchLimits", workers: int, inspect: "StreamInspector"
    ) -> "Iterator[LineBatch]":
        from regard.jobs.line_batches import (
            batch_file_lines,
            batch_pipe_lines,
            batch_stream_lines,
            batch_texts,
        )
        from regard.text.compression import COMPRESSED_SUFFIXES

        wait_until_full = self.size is not None or workers > 1
        if self.texts:
            return batch_texts(self.texts, limits)
        if self.path is None:
            inspector = None if self.is_interactive else inspect
            return batch_stream_lines(sys.stdin.fileno(), limits, wait_until_full, inspect=inspector)
        if self.is_pipe and self.path.suffix not in COMPRESSED_SUFFIXES:
            return batch_pipe_lines(self.path, limits, wait_until_full, inspect)
        return batch_file_lines(self.path, limits)


def _open_source(options: argparse.Namespace) -> _InputSource:
    path: Path | None = options.input
    if options.text:
        texts = tuple(text.rstrip("\n") for text in options.text)
        return _InputSource(None, sum(len(text.encode("utf-8")) for text in texts), texts=texts)
    if path is not None:
        from regard.text.compression import wrap_read_errors

        with wrap_read_errors(path):
            status = path.stat()
            if not stat.S_ISFIFO(status.st_mode):  # the writer of a FIFO would notice the close
                path.open("rb").close()
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        return _InputSource(path, size, is_stream_path(path))
    if sys.stdin is None:
        raise RegardError("there is no stdin to read; give a FILE")
    if sys.stdin.isatty():
        sys.stderr.write("Type a sentence and press Enter; Ctrl-D ends.\n")
        return _InputSource(None, None, is_interactive=True)
    status = os.fstat(sys.stdin.fileno())
    return _InputSource(None, status.st_size if stat.S_ISREG(status.st_mode) else None)


def _reject_idle_flags(options: argparse.Namespace, source: _InputSource) -> None:
    """Reject flags that have no effect with this input and output."""
    if not _is_resumable(options, source):
        reject_unused_flags(options, ("restart",), "is for a FILE with -o OUT; nothing else is resumable")
    if source.texts and (options.workers or 1) > 1:
        raise RegardError("--workers is for files and pipes; --text is translated by one process")
    if source.is_interactive and (options.workers or 1) > 1:
        raise RegardError("--workers is for files and pipes; typed input is translated by one process")


def _total_bytes(source: _InputSource, document: "Document | None") -> int | None:
    """Return the number of bytes to translate, if it is known."""
    if document is None:
        return source.size
    return sum(len(text.encode("utf-8")) for text in document.segments)


def _default_workers(source: _InputSource, translator: "LineTranslator") -> int:
    """Return one worker per core for a large input, as far as the memory allows."""
    if source.size is None or source.size < LARGE_INPUT_BYTES:
        return 1
    import torch

    from regard.training.memory import free_memory

    weights = sum(path.stat().st_size for path in translator.folder.path.iterdir() if path.is_file())
    free = free_memory(torch.device("cpu"))
    fit = None if free is None else free // (WORKER_MEMORY_BYTES + WEIGHTS_MEMORY_FACTOR * weights)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if fit is None else max(1, min(cores, fit))


def _is_resumable(options: argparse.Namespace, source: _InputSource) -> bool:
    """Whether finished parts can be kept and found again: from file to file."""
    return not source.is_pipe and options.output is not None and not is_stream_path(options.output)


def _needs_file_job(options: argparse.Namespace, source: _InputSource) -> bool:
    """Whether to keep finished parts: the input is large, or parts of an earlier run exist."""
    if not _is_resumable(options, source):
        return False
    parts_folder = options.output.with_name(f"{options.output.name}.parts")
    return (source.size or 0) >= LARGE_INPUT_BYTES or parts_folder.exists()


def _translate_stream(options: argparse.Namespace, source: _InputSource, session: "TranslateSession") -> None:
    """Translate batch by batch and write each result at once."""
    with ExitStack() as stack:
        output: BinaryIO = (
            sys.stdout.buffer if options.output is None else stack.enter_context(open_output(options.output))
        )
        report_file = None if options.report is None else stack.enter_context(open_output(options.report))
        batches = source.line_batches(
            session.limits, session.workers, lambda head: reject_stream_of_other_type(options, head)
        )
        for result in session.translate_batches(batches):
            output.write(result.text.encode("utf-8"))
            output.flush()
            session.record(result, result.issues, report_file)
            for issue in result.issues if source.is_interactive else ():
                sys.stderr.write(f"regard: line {issue.line}: {issue.message}\n")


@contextmanager
def _warn_on_interrupted_pipe(options: argparse.Namespace, source: _InputSource) -> Iterator[None]:
    """Tell the user on Ctrl-C that the translation of a pipe cannot be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        if source.texts:
            raise
        if source.is_pipe and options.output is not None and not is_stream_path(options.output):
            name = source.path or "stdin"
            sys.stderr.write(f"\nstopped; {name} is a pipe: nothing is kept, and it cannot be resumed\n")
        raise


def _translate_file_job(options: argparse.Namespace, session: "TranslateSession") -> None:
    """Translate in parts that are kept on disk, and merge them at the end."""
    from regard.jobs.file_job import FileJob

    job = FileJob(options.input, options.output, session.worker, session.limits, session.workers)
    progress = session.progress
    try:
        with job.open(options.restart):
            progress.resume_at(max((result.byte_offset for result in job.finished_results()), default=0))
            for result in job.run(progress.add_lines):
                progress.add_batch(result.lines, result.tokens, result.byte_offset)
            with ExitStack() as stack:
                report_file = (
                    None if options.report is None else stack.enter_context(open_output(options.report))
                )
                for result in job.finished_results():
                    session.record(result, result.issues, report_file)
            job.merge_parts()
    except KeyboardInterrupt:
        if job.parts_folder.exists():
            sys.stderr.write(
                f"\nstopped; finished parts are in {job.parts_folder}, and the same command resumes\n"
            )
        raise

"""`regard translate`: one line in, one line out."""

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from regard.cli.args.model_args import reject_unused_flags
from regard.cli.args.translate_args import add_translate_arguments, parse_line_translator
from regard.cli.documents import open_input_document, translate_document
from regard.cli.output import (
    is_stream_path,
    open_output,
    reject_same_file,
    reject_unwritable,
    write_line_report,
)
from regard.errors import RegardError
from regard.runtime import keep_freed_memory

if TYPE_CHECKING:
    from regard.cli.translate_progress import TranslationProgress
    from regard.documents.formats import Document
    from regard.jobs.line_batches import LineBatch, LineBatchLimits
    from regard.jobs.line_report import JobReport
    from regard.translation.line_worker import LineTranslator

LARGE_INPUT_BYTES = 2**18
"""Bytes of input from which on finished parts are kept, and several processes pay for their start."""
WORKER_MEMORY_BYTES = 2**29
"""Bytes of memory that a process takes besides the model."""
WEIGHTS_MEMORY_FACTOR = 4
"""How many times the size of the model's file a process takes for it."""
ONEDNN_CACHE_LIMITS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""Of products, for which torch on a CPU keeps code: some for each step, not a thousand from a large file."""

DESCRIPTION = """\
Translate each line of the input: as many lines come out as went in, in the same order, whatever is in
them. A line that cannot be translated becomes an empty one and is reported at the end.
"""

EPILOG = """\
exit codes
  0  every line is translated
  1  refused: something must be put right first
  3  the disk is full, or may not be written to; what is finished is kept
  4  done, but some lines could not be translated: they are empty, and named on stderr and in --report

examples
  echo "Jane visits Africa in September." | regard translate runs/demo
  regard translate runs/demo --input new.en.gz --output new.fr
  regard translate runs/demo --beam 1 < new.en
  regard translate runs/demo --input big.en --output big.fr     killed? the same command goes on
  regard translate runs/demo --n-best 4 --json < new.en         all that is known, for programs
  regard translate runs/demo --input page.html --output page.fr.html   documents keep their structure
  regard translate runs/demo --glossary terms.tsv < new.en      station<TAB>gare, one on each line
"""


def add_translate_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "translate",
        help="translate text, one line in, one line out",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    add_translate_arguments(parser)
    parser.set_defaults(run=run_translate)


def run_translate(options: argparse.Namespace) -> None:
    for name, most in ONEDNN_CACHE_LIMITS.items():
        os.environ.setdefault(name, most)  # read when torch is loaded, here and by workers
    keep_freed_memory()
    for path in (options.output, options.report):
        if path is not None:
            reject_unwritable(path)
    source = _open_source(options.input)
    asked = parse_line_translator(options)
    paper = open_input_document(options)
    reject_same_file({"--input": options.input, "--report": options.report})
    reject_same_file({"--output": options.output, "--report": options.report})
    if paper is None:  # a document may be finished in its place
        reject_same_file({"--input": options.input, "--output": options.output})
    _reject_idle_flags(options, source)
    from regard.cli.translate_progress import TranslationProgress
    from regard.jobs.line_batches import CPU_BATCH_LIMITS, GPU_BATCH_LIMITS
    from regard.jobs.line_report import JobReport
    from regard.translation.engines import report_engine_choice, uses_gpu

    gpu, choice = uses_gpu(options.device), asked.select_engine()
    report_engine_choice(choice)
    all_cores = gpu or choice.name == "ctranslate2"  # without more processes
    workers = options.workers or (1 if all_cores else _default_workers(source, asked))
    asked = replace(
        asked,
        device="cuda" if gpu else "cpu",
        engine=choice.name,  # the same for all workers, and when it goes on
        threads=options.threads or (1 if workers > 1 else None),
    )
    work = _TranslationWork(asked, GPU_BATCH_LIMITS if gpu else CPU_BATCH_LIMITS, workers)
    report = JobReport() if paper is None else JobReport("sentence", "as it is")
    with TranslationProgress(_total_bytes(source, paper), shown=not _writes_to_terminal(options)) as watch:
        if paper is not None:
            with ExitStack() as stack:
                said = None if options.report is None else stack.enter_context(open_output(options.report))
                translate_document(
                    paper, options, work.translator, work.batch_size, workers, watch, report, said
                )
        elif _needs_file_job(options, source):
            _translate_file_job(options, work, watch, report)
        else:
            with _warn_on_interrupted_pipe(options, source):
                _translate_stream(options, source, work, watch, report)
    if not source.is_interactive:
        sys.stderr.write("".join(f"{line}\n" for line in report.summary_lines()))
    report.raise_if_untranslated()


class _InputSource(NamedTuple):
    """Where the text comes from."""

    path: Path | None
    """None: stdin."""
    size: int | None
    """In bytes, where that is known before the end."""
    is_pipe: bool = True
    """Whether it can be read only once, as it comes."""
    is_interactive: bool = False
    """Who types, and reads the answers."""


class _TranslationWork(NamedTuple):
    """How it is translated."""

    translator: "LineTranslator"
    batch_size: "LineBatchLimits"
    workers: int

    def line_batches(self, source: _InputSource) -> "Iterator[LineBatch]":
        from regard.jobs.line_batches import batch_file_lines, batch_pipe_lines, batch_stream_lines
        from regard.text.compression import COMPRESSED_SUFFIXES

        whole = source.size is not None or self.workers > 1
        if source.path is None:
            return batch_stream_lines(sys.stdin.fileno(), self.batch_size, wait_until_full=whole)
        if (
            source.is_pipe and source.path.suffix not in COMPRESSED_SUFFIXES
        ):  # what is unpacked is not answered as it goes
            return batch_pipe_lines(source.path, self.batch_size, wait_until_full=whole)
        return batch_file_lines(source.path, self.batch_size)


def _open_source(path: Path | None) -> _InputSource:
    if path is not None:
        from regard.text.compression import wrap_read_errors

        with wrap_read_errors(path):
            known = path.stat()
            if not stat.S_ISFIFO(known.st_mode):  # whoever writes into one would see us leave
                path.open("rb").close()
        return _InputSource(
            path, known.st_size if stat.S_ISREG(known.st_mode) else None, is_stream_path(path)
        )
    if sys.stdin is None:
        raise RegardError("there is no stdin to read; give --input FILE")
    if sys.stdin.isatty():
        sys.stderr.write("Type a sentence and press Enter; Ctrl-D ends.\n")
        return _InputSource(None, None, is_interactive=True)
    found = os.fstat(sys.stdin.fileno())
    return _InputSource(None, found.st_size if stat.S_ISREG(found.st_mode) else None)


def _reject_idle_flags(options: argparse.Namespace, source: _InputSource) -> None:
    """What has nothing to do with where the text comes from and goes to."""
    if not _is_resumable(options, source):
        reject_unused_flags(
            options, ("restart",), "is for --input FILE and --output FILE; else nothing is kept"
        )
    if source.is_interactive and (options.workers or 1) > 1:
        raise RegardError("--workers is for files and pipes; who types is answered by one")


def _total_bytes(source: _InputSource, paper: "Document | None") -> int | None:
    """Bytes to translate."""
    return source.size if paper is None else sum(len(text.encode("utf-8")) for text in paper.segments)


def _writes_to_terminal(options: argparse.Namespace) -> bool:
    """Whether answers go to the terminal, where a bar would lie among them."""
    return options.output is None and sys.stdout.isatty()


def _default_workers(source: _InputSource, asked: "LineTranslator") -> int:
    """One for each core, if there is enough to do and memory for all."""
    if source.size is None or source.size < LARGE_INPUT_BYTES:
        return 1
    import torch

    from regard.train.memory import free_memory

    weights = sum(path.stat().st_size for path in asked.model.iterdir() if path.is_file())
    free = free_memory(torch.device("cpu"))
    fit = None if free is None else free // (WORKER_MEMORY_BYTES + WEIGHTS_MEMORY_FACTOR * weights)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if fit is None else max(1, min(cores, fit))


def _is_resumable(options: argparse.Namespace, source: _InputSource) -> bool:
    """Whether finished parts can be kept and found again: from file to file."""
    return not source.is_pipe and options.output is not None and not is_stream_path(options.output)


def _needs_file_job(options: argparse.Namespace, source: _InputSource) -> bool:
    """Large enough for a kill to hurt; or begun as one."""
    if not _is_resumable(options, source):
        return False
    return (source.size or 0) >= LARGE_INPUT_BYTES or options.output.with_name(
        f"{options.output.name}.parts"
    ).exists()


def _translate_stream(
    options: argparse.Namespace,
    source: _InputSource,
    work: _TranslationWork,
    watch: "TranslationProgress",
    report: "JobReport",
) -> None:
    """Answers as they are found, each window at once."""
    from regard.jobs.worker_pool import run_in_worker_pool, run_sequentially

    windows = work.line_batches(source)
    if work.workers > 1:
        answers = run_in_worker_pool(work.translator, windows, work.workers)
    else:
        answers = run_sequentially(work.translator, windows, on_done=watch.add_lines)
    with ExitStack() as stack:
        output: BinaryIO = (
            sys.stdout.buffer if options.output is None else stack.enter_context(open_output(options.output))
        )
        said = None if options.report is None else stack.enter_context(open_output(options.report))
        for answer in answers:
            output.write(answer.text.encode("utf-8"))
            output.flush()
            report.add(answer.lines, answer.issues)
            watch.add_batch(answer.lines, answer.tokens, answer.byte_offset)
            write_line_report(answer.issues, said)
            for trouble in answer.issues if source.is_interactive else ():
                sys.stderr.write(f"regard: line {trouble.line}: {trouble.message}\n")


@contextmanager
def _warn_on_interrupted_pipe(options: argparse.Namespace, source: _InputSource) -> Iterator[None]:
    """Whoever stops a pipe on its way to a file learns that nothing of it is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if source.is_pipe and options.output is not None and not is_stream_path(options.output):
            name = source.path or "stdin"
            sys.stderr.write(f"\nstopped; {name} is a pipe, so nothing is kept: it would begin again\n")
        raise


def _translate_file_job(
    options: argparse.Namespace, work: _TranslationWork, watch: "TranslationProgress", report: "JobReport"
) -> None:
    """Part by part, each kept as soon as it is done."""
    from regard.jobs.file_job import FileJob

    job = FileJob(options.input, options.output, work.translator, work.batch_size, work.workers)
    try:
        with job.open(options.restart):
            watch.resume_at(max((answer.byte_offset for answer in job.finished_results()), default=0))
            for answer in job.run(watch.add_lines):
                watch.add_batch(answer.lines, answer.tokens, answer.byte_offset)
            with ExitStack() as stack:
                said = None if options.report is None else stack.enter_context(open_output(options.report))
                for answer in job.finished_results():
                    report.add(answer.lines, answer.issues)
                    write_line_report(answer.issues, said)
            job.merge_parts()
    except KeyboardInterrupt:
        if job.parts_folder.exists():
            sys.stderr.write(
                f"\nstopped; what is finished is in {job.parts_folder}, and the same command goes on\n"
            )
        raise

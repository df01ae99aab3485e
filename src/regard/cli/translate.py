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

from regard.cli.args.model_args import refuse_unused
from regard.cli.args.translate_args import add_flags, commission
from regard.cli.documents import document, translate_document
from regard.cli.output import is_stream, opened, refuse_same, refuse_unwritable, write_down
from regard.errors import RegardError
from regard.runtime import keep_freed_memory

if TYPE_CHECKING:
    from regard.cli.translate_progress import Watch
    from regard.documents.formats import Document
    from regard.jobs.line_batches import Size, Window
    from regard.jobs.line_report import Report
    from regard.translation.line_worker import Commission

LARGE = 2**18
"""Bytes of input from which on finished parts are kept, and several processes pay for their start."""
WORKER = 2**29
"""Bytes of memory that a process takes besides the model."""
WEIGHTS = 4
"""How many times the size of the model's file a process takes for it."""
SHAPES_KEPT = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
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


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "translate",
        help="translate text, one line in, one line out",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    add_flags(parser)
    parser.set_defaults(run=run_translate)


def run_translate(options: argparse.Namespace) -> None:
    for name, most in SHAPES_KEPT.items():
        os.environ.setdefault(name, most)  # read when torch is loaded, here and by workers
    keep_freed_memory()
    for path in (options.output, options.report):
        if path is not None:
            refuse_unwritable(path)
    source = _source(options.input)
    asked = commission(options)
    paper = document(options)
    refuse_same({"--input": options.input, "--report": options.report})
    refuse_same({"--output": options.output, "--report": options.report})
    if paper is None:  # a document may be finished in its place
        refuse_same({"--input": options.input, "--output": options.output})
    _refuse_idle(options, source)
    from regard.cli.translate_progress import Watch
    from regard.jobs.line_batches import GPU_SIZE, SIZE
    from regard.jobs.line_report import Report
    from regard.translation.engines import on_gpu, say

    gpu, choice = on_gpu(options.device), asked.choice()
    say(choice)
    all_cores = gpu or choice.name == "ctranslate2"  # without more processes
    workers = options.workers or (1 if all_cores else _workers(source, asked))
    asked = replace(
        asked,
        device="cuda" if gpu else "cpu",
        engine=choice.name,  # the same for all workers, and when it goes on
        threads=options.threads or (1 if workers > 1 else None),
    )
    work = _Work(asked, GPU_SIZE if gpu else SIZE, workers)
    report = Report() if paper is None else Report("sentence", "as it is")
    with Watch(_total(source, paper), shown=not _talks(options)) as watch:
        if paper is not None:
            with ExitStack() as stack:
                said = None if options.report is None else stack.enter_context(opened(options.report))
                translate_document(paper, options, work.commission, work.size, workers, watch, report, said)
        elif _is_job(options, source):
            _as_job(options, work, watch, report)
        else:
            with _saying_what_is_lost(options, source):
                _as_stream(options, source, work, watch, report)
    if not source.person:
        sys.stderr.write("".join(f"{line}\n" for line in report.said()))
    report.refuse_untranslated()


class _Source(NamedTuple):
    """Where the text comes from."""

    path: Path | None
    """None: stdin."""
    size: int | None
    """In bytes, where that is known before the end."""
    pipe: bool = True
    """Whether it can be read only once, as it comes."""
    person: bool = False
    """Who types, and reads the answers."""


class _Work(NamedTuple):
    """How it is translated."""

    commission: "Commission"
    size: "Size"
    workers: int

    def windows(self, source: _Source) -> "Iterator[Window]":
        from regard.jobs.line_batches import file_windows, pipe_windows, stream_windows
        from regard.text.compression import PACKED

        whole = source.size is not None or self.workers > 1
        if source.path is None:
            return stream_windows(sys.stdin.fileno(), self.size, full=whole)
        if source.pipe and source.path.suffix not in PACKED:  # what is unpacked is not answered as it goes
            return pipe_windows(source.path, self.size, full=whole)
        return file_windows(source.path, self.size)


def _source(path: Path | None) -> _Source:
    if path is not None:
        from regard.text.compression import readable

        with readable(path):
            known = path.stat()
            if not stat.S_ISFIFO(known.st_mode):  # whoever writes into one would see us leave
                path.open("rb").close()
        return _Source(path, known.st_size if stat.S_ISREG(known.st_mode) else None, is_stream(path))
    if sys.stdin is None:
        raise RegardError("there is no stdin to read; give --input FILE")
    if sys.stdin.isatty():
        sys.stderr.write("Type a sentence and press Enter; Ctrl-D ends.\n")
        return _Source(None, None, person=True)
    found = os.fstat(sys.stdin.fileno())
    return _Source(None, found.st_size if stat.S_ISREG(found.st_mode) else None)


def _refuse_idle(options: argparse.Namespace, source: _Source) -> None:
    """What has nothing to do with where the text comes from and goes to."""
    if not _can_go_on(options, source):
        refuse_unused(options, ("anew",), "is for --input FILE and --output FILE; else nothing is kept")
    if source.person and (options.workers or 1) > 1:
        raise RegardError("--workers is for files and pipes; who types is answered by one")


def _total(source: _Source, paper: "Document | None") -> int | None:
    """Bytes to translate."""
    return source.size if paper is None else sum(len(text.encode("utf-8")) for text in paper.segments)


def _talks(options: argparse.Namespace) -> bool:
    """Whether answers go to the terminal, where a bar would lie among them."""
    return options.output is None and sys.stdout.isatty()


def _workers(source: _Source, asked: "Commission") -> int:
    """One for each core, if there is enough to do and memory for all."""
    if source.size is None or source.size < LARGE:
        return 1
    import torch

    from regard.train.memory import free_memory

    weights = sum(path.stat().st_size for path in asked.model.iterdir() if path.is_file())
    free = free_memory(torch.device("cpu"))
    fit = None if free is None else free // (WORKER + WEIGHTS * weights)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if fit is None else max(1, min(cores, fit))


def _can_go_on(options: argparse.Namespace, source: _Source) -> bool:
    """Whether finished parts can be kept and found again: from file to file."""
    return not source.pipe and options.output is not None and not is_stream(options.output)


def _is_job(options: argparse.Namespace, source: _Source) -> bool:
    """Large enough for a kill to hurt; or begun as one."""
    if not _can_go_on(options, source):
        return False
    return (source.size or 0) >= LARGE or options.output.with_name(f"{options.output.name}.parts").exists()


def _as_stream(
    options: argparse.Namespace, source: _Source, work: _Work, watch: "Watch", report: "Report"
) -> None:
    """Answers as they are found, each window at once."""
    from regard.jobs.worker_pool import alone, together

    windows = work.windows(source)
    if work.workers > 1:
        answers = together(work.commission, windows, work.workers)
    else:
        answers = alone(work.commission, windows, on_done=watch.lines)
    with ExitStack() as stack:
        output: BinaryIO = (
            sys.stdout.buffer if options.output is None else stack.enter_context(opened(options.output))
        )
        said = None if options.report is None else stack.enter_context(opened(options.report))
        for answer in answers:
            output.write(answer.text.encode("utf-8"))
            output.flush()
            report.add(answer.lines, answer.troubles)
            watch.window(answer.lines, answer.tokens, answer.position)
            write_down(answer.troubles, said)
            for trouble in answer.troubles if source.person else ():
                sys.stderr.write(f"regard: line {trouble.line}: {trouble.said}\n")


@contextmanager
def _saying_what_is_lost(options: argparse.Namespace, source: _Source) -> Iterator[None]:
    """Whoever stops a pipe on its way to a file learns that nothing of it is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if source.pipe and options.output is not None and not is_stream(options.output):
            name = source.path or "stdin"
            sys.stderr.write(f"\nstopped; {name} is a pipe, so nothing is kept: it would begin again\n")
        raise


def _as_job(options: argparse.Namespace, work: _Work, watch: "Watch", report: "Report") -> None:
    """Part by part, each kept as soon as it is done."""
    from regard.jobs.file_job import Job

    job = Job(options.input, options.output, work.commission, work.size, work.workers)
    try:
        with job.opened(options.anew):
            watch.begin(max((answer.position for answer in job.finished()), default=0))
            for answer in job.answers(watch.lines):
                watch.window(answer.lines, answer.tokens, answer.position)
            with ExitStack() as stack:
                said = None if options.report is None else stack.enter_context(opened(options.report))
                for answer in job.finished():
                    report.add(answer.lines, answer.troubles)
                    write_down(answer.troubles, said)
            job.join()
    except KeyboardInterrupt:
        if job.folder.exists():
            sys.stderr.write(
                f"\nstopped; what is finished is in {job.folder}, and the same command goes on\n"
            )
        raise

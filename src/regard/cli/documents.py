"""`regard translate` on a document: its text is taken out, translated, and put back where it was."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from regard.cli.args.model_args import refuse_unused_by_document, refuse_unused_by_lines
from regard.cli.output import write_down, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.cli.translate_progress import Watch
    from regard.documents.formats import Document
    from regard.jobs.line_batches import Size
    from regard.jobs.line_report import Report, Trouble
    from regard.translation.line_worker import Commission

SHOWN = 60
"""Characters of a sentence that say which it is."""
LINES = "lines"
"""The format of what is no document, and of a document that is to be read as if it were none."""


def add_format(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "documents",
        "A file whose name ends in .tsv, .jsonl, .srt, .po, .tmx, .xliff, .html or .md keeps its structure:\n"
        "only its text is translated, and every other byte comes back as it was (docs/documents.md).",
    )
    group.add_argument(
        "--format",
        metavar="FORMAT",
        help="read the input as that: html, po, ...; or line by line: lines (default: by its name)",
    )
    group.add_argument(
        "--column", metavar="NAME", help="of a .tsv the column, of a .jsonl the field, with the text"
    )
    group.add_argument(
        "--overwrite", action="store_true", help="translate again what has a translation already"
    )
    group.add_argument("--language", metavar="CODE", help="of a .tmx: the language to translate into")


def document(options: argparse.Namespace) -> "Document | None":
    """The input as a document, if it is one; read before any model is, so that what is wrong is said soon."""
    from regard.documents.formats import FORMATS, Reading, open_document
    from regard.text.compression import PACKED

    if options.input is None:
        if options.format not in (None, LINES):
            raise RegardError("--format is for a document in a file; give --input FILE")
        refuse_unused_by_lines(options)
        return None
    ending = options.input.suffix.lower() if options.format is None else f".{options.format.lower()}"
    inside = Path(options.input.stem).suffix.lower() if options.format is None else ending
    if options.input.suffix.lower() in PACKED and inside in FORMATS and inside != ".txt":
        raise RegardError(
            f"{options.input} is a packed document; unpack it first, or translate its lines: --format lines"
        )
    if ending == f".{LINES}" or (options.format is None and (ending not in FORMATS or ending == ".txt")):
        refuse_unused_by_lines(options)
        return None
    if ending not in FORMATS:
        known = ", ".join(name.removeprefix(".") for name in FORMATS)
        raise RegardError(f"--format {options.format} is not known; it may be {LINES}, {known}")
    refuse_unused_by_document(options, ending)
    reading = Reading(options.column, options.overwrite, options.language)
    return open_document(options.input, f"{options.input}{'' if options.format is None else ending}", reading)


def translate_document(
    found: "Document",
    options: argparse.Namespace,
    commission: "Commission",
    size: "Size",
    workers: int,
    watch: "Watch",
    report: "Report",
    said: "BinaryIO | None",
) -> None:
    """Sentence by sentence, as models learn; one that cannot be translated stays as it is, reported."""
    from regard.jobs.line_batches import text_windows
    from regard.jobs.worker_pool import alone, together
    from regard.text.sentences import rejoin, sentences

    if not found.segments:
        sys.stderr.write(f"regard: there is nothing to translate in {options.input}\n")
    parts = [sentences(segment) for segment in found.segments]
    texts = [part.strip() for some in parts for part in some]
    windows = text_windows(texts, size)
    if workers > 1:
        answers = together(commission, windows, workers)
    else:
        answers = alone(commission, windows, on_done=watch.lines)
    written: list[str] = []
    for done in answers:
        written += done.text.split("\n")[:-1]
        report.add(done.lines, done.troubles)
        write_down([_with_text(trouble, texts[trouble.line - 1]) for trouble in done.troubles], said)
        watch.window(done.lines, done.tokens, done.position)
    answer = iter(written)
    translations = [[next(answer) or part.strip() for part in some] for some in parts]
    content = found.written([rejoin(*each) for each in zip(parts, translations, strict=True)])
    if options.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_output(options.output, content)


def _with_text(trouble: "Trouble", text: str) -> "Trouble":
    """Nobody can count the sentences of a document, so the report says which it is."""
    return trouble._replace(said=f"{trouble.said}: {text[:SHOWN]}{'...' if len(text) > SHOWN else ''}")

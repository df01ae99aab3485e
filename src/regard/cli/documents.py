"""`regard translate` on a document: its text is taken out, translated, and put back where it was."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from regard.cli.args.model_args import reject_document_flags, reject_line_flags
from regard.cli.output import write_line_report, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.cli.translate_progress import TranslationProgress
    from regard.documents.formats import Document
    from regard.jobs.line_batches import LineBatchLimits
    from regard.jobs.line_report import JobReport, LineIssue
    from regard.translation.line_worker import LineTranslator

EXCERPT_LENGTH = 60
"""Characters of a sentence that say which it is."""
LINES_FORMAT = "lines"
"""The format of what is no document, and of a document that is to be read as if it were none."""


def add_document_arguments(parser: argparse.ArgumentParser) -> None:
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
    group.add_argument("--target-language", metavar="CODE", help="of a .tmx: the language to translate into")


def open_input_document(options: argparse.Namespace) -> "Document | None":
    """The input as a document, if it is one; read before any model is, so that what is wrong is said soon."""
    from regard.documents.formats import DOCUMENT_FORMATS, DocumentOptions, open_document
    from regard.text.compression import COMPRESSED_SUFFIXES

    if options.input is None:
        if options.format not in (None, LINES_FORMAT):
            raise RegardError("--format is for a document in a file; give --input FILE")
        reject_document_flags(options)
        return None
    ending = options.input.suffix.lower() if options.format is None else f".{options.format.lower()}"
    inside = Path(options.input.stem).suffix.lower() if options.format is None else ending
    if (
        options.input.suffix.lower() in COMPRESSED_SUFFIXES
        and inside in DOCUMENT_FORMATS
        and inside != ".txt"
    ):
        raise RegardError(
            f"{options.input} is a packed document; unpack it first, or translate its lines: --format lines"
        )
    if ending == f".{LINES_FORMAT}" or (
        options.format is None and (ending not in DOCUMENT_FORMATS or ending == ".txt")
    ):
        reject_document_flags(options)
        return None
    if ending not in DOCUMENT_FORMATS:
        known = ", ".join(name.removeprefix(".") for name in DOCUMENT_FORMATS)
        raise RegardError(f"--format {options.format} is not known; it may be {LINES_FORMAT}, {known}")
    reject_line_flags(options, ending)
    reading = DocumentOptions(options.column, options.overwrite, options.target_language)
    return open_document(options.input, f"{options.input}{'' if options.format is None else ending}", reading)


def translate_document(
    document: "Document",
    options: argparse.Namespace,
    translator: "LineTranslator",
    size: "LineBatchLimits",
    workers: int,
    progress: "TranslationProgress",
    report: "JobReport",
    report_file: "BinaryIO | None",
) -> None:
    """Sentence by sentence, as models learn; one that cannot be translated stays as it is, reported."""
    from regard.jobs.line_batches import batch_texts
    from regard.jobs.worker_pool import run_in_worker_pool, run_sequentially
    from regard.text.sentences import join_with_source_spacing, split_sentences

    if not document.segments:
        sys.stderr.write(f"regard: there is nothing to translate in {options.input}\n")
    parts = [split_sentences(segment) for segment in document.segments]
    texts = [part.strip() for some in parts for part in some]
    windows = batch_texts(texts, size)
    if workers > 1:
        answers = run_in_worker_pool(translator, windows, workers)
    else:
        answers = run_sequentially(translator, windows, on_done=progress.add_lines)
    written: list[str] = []
    for done in answers:
        written += done.text.split("\n")[:-1]
        report.add(done.lines, done.issues)
        write_line_report(
            [_add_excerpt(trouble, texts[trouble.line - 1]) for trouble in done.issues], report_file
        )
        progress.add_batch(done.lines, done.tokens, done.byte_offset)
    answer = iter(written)
    translations = [[next(answer) or part.strip() for part in some] for some in parts]
    content = document.render(
        [join_with_source_spacing(*each) for each in zip(parts, translations, strict=True)]
    )
    if options.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_output(options.output, content)


def _add_excerpt(trouble: "LineIssue", text: str) -> "LineIssue":
    """Nobody can count the sentences of a document, so the report says which it is."""
    return trouble._replace(
        message=f"{trouble.message}: {text[:EXCERPT_LENGTH]}{'...' if len(text) > EXCERPT_LENGTH else ''}"
    )

"""Documents in `regard translate`: extract the text, translate it, and write it back in place."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import reject_unused_flags
from regard.cli.output import open_output, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.cli.translate_progress import TranslateSession
    from regard.documents.formats import Document
    from regard.jobs.line_report import LineIssue

EXCERPT_LENGTH = 60
"""Characters of a sentence that the report quotes."""
LINES_FORMAT = "lines"
"""The value of --format that reads any file line by line."""


def add_document_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "documents",
        "A file named .tsv, .jsonl, .srt, .po, .tmx, .xliff, .html or .md keeps its\n"
        "structure: only its text is translated, every other byte is unchanged\n"
        "(docs/documents.md).",
    )
    group.add_argument(
        "--format",
        metavar="FORMAT",
        help="format of the input: html, po, ...; or lines, line by line (default: by the file name)",
    )
    group.add_argument("--column", metavar="NAME", help="text column of a .tsv, or text field of a .jsonl")
    group.add_argument("--overwrite", action="store_true", help="replace existing translations")
    group.add_argument(
        "--target-language",
        metavar="CODE",
        help="language to translate a .tmx into, or of the terms in a glossary with several",
    )


def open_input_document(options: argparse.Namespace) -> "Document | None":
    """Return the input as a document, if it is one; opened before the model, so that errors come first."""
    from regard.documents.formats import DOCUMENT_FORMATS, DocumentOptions, open_document
    from regard.text.compression import COMPRESSED_SUFFIXES

    if options.input is None:
        if options.format not in (None, LINES_FORMAT):
            raise RegardError("--format is for a document in a file; give --input FILE")
        _reject_document_flags(options)
        return None
    own_suffix = options.input.suffix.lower()
    suffix = own_suffix if options.format is None else f".{options.format.lower()}"
    inner_suffix = Path(options.input.stem).suffix.lower() if options.format is None else suffix
    if own_suffix in COMPRESSED_SUFFIXES and inner_suffix in DOCUMENT_FORMATS and inner_suffix != ".txt":
        raise RegardError(
            f"{options.input} is a compressed document; decompress it first, or translate its lines: "
            "--format lines"
        )
    is_text = options.format is None and (suffix not in DOCUMENT_FORMATS or suffix == ".txt")
    if suffix == f".{LINES_FORMAT}" or is_text:
        _reject_document_flags(options)
        return None
    if suffix not in DOCUMENT_FORMATS:
        known = ", ".join(name.removeprefix(".") for name in DOCUMENT_FORMATS)
        raise RegardError(f"--format {options.format} is unknown; choose {LINES_FORMAT}, {known}")
    _reject_line_flags(options, suffix)
    document_options = DocumentOptions(options.column, options.overwrite, options.target_language)
    name = f"{options.input}{'' if options.format is None else suffix}"
    return open_document(options.input, name, document_options)


def translate_document(
    document: "Document", options: argparse.Namespace, session: "TranslateSession"
) -> None:
    """Translate a document sentence by sentence; a sentence that cannot be translated stays unchanged."""
    from regard.jobs.line_batches import batch_texts
    from regard.text.sentences import join_with_source_spacing, split_sentences

    if not document.segments:
        sys.stderr.write(f"regard: there is nothing to translate in {options.input}\n")
    segments = [split_sentences(segment) for segment in document.segments]
    texts = [sentence.strip() for sentences in segments for sentence in sentences]
    lines: list[str] = []
    with ExitStack() as stack:
        report_file = None if options.report is None else stack.enter_context(open_output(options.report))
        for result in session.translate_batches(batch_texts(texts, session.limits)):
            lines += result.text.split("\n")[:-1]
            issues = [_add_excerpt(issue, texts[issue.line - 1]) for issue in result.issues]
            session.record(result, issues, report_file)
        line = iter(lines)
        translations = [[next(line) or part.strip() for part in sentences] for sentences in segments]
        content = document.render(
            [join_with_source_spacing(*pair) for pair in zip(segments, translations, strict=True)]
        )
        if options.output is None:
            sys.stdout.buffer.write(content)
        else:
            write_output(options.output, content)


def _add_excerpt(issue: "LineIssue", text: str) -> "LineIssue":
    """Quote the sentence in the report: a document has no sentence numbers to look up."""
    excerpt = f"{text[:EXCERPT_LENGTH]}{'...' if len(text) > EXCERPT_LENGTH else ''}"
    return issue._replace(message=f"{issue.message}: {excerpt}")


def _reject_document_flags(options: argparse.Namespace) -> None:
    """Reject flags that have no effect on input that is translated line by line."""
    from regard.documents.formats import SUFFIXES_BY_OPTION

    name = "stdin" if options.input is None else options.input
    names = [flag for flag in SUFFIXES_BY_OPTION if not _is_for_glossary(options, flag)]
    reject_unused_flags(options, names, f"is for documents; {name} is translated line by line")
    if not options.json:
        reject_unused_flags(options, ("confidences",), "are written as JSON only; add --json")


def _reject_line_flags(options: argparse.Namespace, suffix: str) -> None:
    """Reject flags that have no effect on documents, or on documents of this format."""
    from regard.documents.formats import SUFFIXES_BY_OPTION

    if options.prefix:
        raise RegardError("--prefix is for lines; a document has sentences with different beginnings")
    if options.json or options.scores or options.alignments or options.confidences or options.n_best > 1:
        raise RegardError(
            f"{options.input} is a document, which cannot hold --scores, --alignments, --confidences, --json "
            "or --n-best; leave them out, or translate it line by line: --format lines"
        )
    reject_unused_flags(options, ("restart",), "is for lines; a document is always translated as a whole")
    for name, suffixes in SUFFIXES_BY_OPTION.items():
        if suffix not in suffixes and not _is_for_glossary(options, name):
            reject_unused_flags(options, (name,), f"is for {', '.join(suffixes)}, not for {suffix}")


def _is_for_glossary(options: argparse.Namespace, flag: str) -> bool:
    """Whether a flag of documents chooses a language of the glossary."""
    return flag == "target_language" and options.glossary is not None

"""Documents in `regard translate`: extract the text, translate it, and write it back in place."""

import argparse
import sys
from contextlib import ExitStack
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from regard.cli.args.model_args import reject_unused_flags
from regard.cli.output import open_output, write_line_report, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.cli.translate_progress import TranslateSession
    from regard.documents.document import Document
    from regard.jobs.line_report import JobReport, LineIssue

EXCERPT_LENGTH = 60
"""Characters of a sentence that the report quotes."""
LINES_FORMAT = "lines"
"""The value of --format that reads any file line by line."""


def add_document_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "documents",
        "A file named .tsv, .csv, .jsonl, .srt, .vtt, .po, .tmx, .xliff, .xml (Android),\n"
        ".resx, .stringsdict, .json, .arb, .yml, .strings, .properties, .html, .md,\n"
        ".docx, .pptx, .xlsx, .odt, .ods, .odp or .epub keeps its structure: only its\n"
        "text is translated, everything else is unchanged (docs/documents.md). A file\n"
        "of any other type than plain text is refused, unless --format lines is given.",
    )
    group.add_argument(
        "--format",
        metavar="FORMAT",
        help="format of the input, also of stdin: html, po, ...; or lines, line by line, whatever it is "
        "(default: by the file name)",
    )
    group.add_argument(
        "--column",
        metavar="NAME",
        help="text column of a .tsv or .csv, by name or number, or text field of a .jsonl",
    )
    group.add_argument("--overwrite", action="store_true", help="replace existing translations")
    group.add_argument(
        "--target-language",
        metavar="CODE",
        help="language of the translation: which one of a .tmx or glossary, and what .html, .xliff, .arb, "
        ".yml and .epub declare",
    )


def open_input_document(options: argparse.Namespace) -> "Document | None":
    """Return the input as a document, if it is one; opened before the model, so that errors come first."""
    from regard.documents.formats import ARCHIVE_SUFFIXES, DocumentOptions, open_document, read_document

    suffix = _document_suffix(options)
    if suffix is None:
        _reject_document_flags(options)
        return None
    _reject_line_flags(options, suffix)
    if suffix in ARCHIVE_SUFFIXES and options.output is None and sys.stdout.isatty():
        raise RegardError(f"{_input_name(options)} is not text for a terminal; give -o FILE")
    document_options = DocumentOptions(
        options.column, options.overwrite, options.target_language, any_content=options.format is not None
    )
    name = f"{_input_name(options)}{'' if options.format is None else suffix}"
    if options.text:
        raise RegardError(f"--format {options.format} is for files and stdin; --text is translated as it is")
    if options.input is None:
        return read_document(sys.stdin.buffer.read(), name, document_options)
    return open_document(options.input, name, document_options)


def _document_suffix(options: argparse.Namespace) -> str | None:
    """Return the suffix that stands for the format of the document; None if lines are translated."""
    from regard.documents.formats import DOCUMENT_FORMATS, PLAIN_TEXT_SUFFIX, require_plain_text
    from regard.text.compression import COMPRESSED_SUFFIXES

    if options.format is None:
        suffix = None if options.input is None else options.input.suffix.lower()
        if suffix in DOCUMENT_FORMATS and suffix != PLAIN_TEXT_SUFFIX:
            return suffix
        if options.input is not None:
            require_plain_text(options.input)
        return None
    suffix = f".{options.format.lower()}"
    if suffix == f".{LINES_FORMAT}":
        return None
    if suffix not in DOCUMENT_FORMATS:
        known = ", ".join(name.removeprefix(".") for name in DOCUMENT_FORMATS)
        raise RegardError(f"--format {options.format} is unknown; choose {LINES_FORMAT}, {known}")
    if options.input is not None and options.input.suffix.lower() in COMPRESSED_SUFFIXES:
        raise RegardError(f"{options.input} is a compressed document; decompress it first")
    return suffix


def reject_stream_of_other_type(options: argparse.Namespace, head: bytes) -> None:
    """Reject a pipe whose first bytes show a document, unless its lines are asked for."""
    from regard.documents.formats import reject_file_type
    from regard.text.file_types import file_type_by_content

    if options.format is None:
        reject_file_type(_input_name(options), file_type_by_content(head, options.input))


def _input_name(options: argparse.Namespace) -> str:
    if options.text:
        return "--text"
    return "stdin" if options.input is None else str(options.input)


def translate_document(
    document: "Document", options: argparse.Namespace, session: "TranslateSession"
) -> None:
    """Translate a document sentence by sentence; a sentence that cannot be translated stays unchanged."""
    from regard.jobs.line_batches import batch_texts
    from regard.text.sentences import join_with_source_spacing, split_sentences

    if not document.segments:
        sys.stderr.write(f"regard: there is nothing to translate in {_input_name(options)}\n")
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
        joined = [join_with_source_spacing(*pair) for pair in zip(segments, translations, strict=True)]
        _report_guesses(document, segments, joined, session.report, report_file)
        broken = _broken_messages(document, segments, joined)
        session.report.add(0, broken)
        if report_file is not None:
            write_line_report(broken, report_file)
        content = document.render(joined, report=lambda message: sys.stderr.write(f"regard: {message}\n"))
        if options.output is None:
            sys.stdout.buffer.write(content)
        else:
            write_output(options.output, content)


def _report_guesses(
    document: "Document",
    segments: "Sequence[Sequence[str]]",
    translations: "Sequence[str]",
    report: "JobReport",
    report_file: BinaryIO | None,
) -> None:
    """Report the placeholders that are put back by guess, at the first sentence of their text."""
    from regard.jobs.line_report import GUESSED_LINE, LineIssue

    issues: list[LineIssue] = []
    first = 1
    missing = document.find_missing_placeholders(translations)
    for sentences, placeholders in zip(segments, missing, strict=False):
        if placeholders:
            message = f"placeholder put back by guess: {_shorten_text(', '.join(placeholders))}"
            issues.append(_add_excerpt(LineIssue(first, GUESSED_LINE, message), "".join(sentences)))
        first += len(sentences)
    report.add(0, issues)
    if report_file is not None:
        write_line_report(issues, report_file)


def _broken_messages(
    document: "Document", segments: "Sequence[Sequence[str]]", translations: "Sequence[str]"
) -> "list[LineIssue]":
    """Return an issue for each text that keeps its source because the translation would break its message."""
    from regard.jobs.line_report import BROKEN_LINE, LineIssue

    first_sentences = list(accumulate(map(len, segments), initial=1))
    message = "the translation lost a placeholder or brace of its message"
    return [
        _add_excerpt(LineIssue(first_sentences[at], BROKEN_LINE, message), document.segments[at])
        for at in document.unsafe_segments(translations)
    ]


def _add_excerpt(issue: "LineIssue", text: str) -> "LineIssue":
    """Quote the sentence in the report: a document has no sentence numbers to look up."""
    return issue._replace(message=f"{issue.message}: {_shorten_text(text)}")


def _shorten_text(text: str) -> str:
    return f"{text[:EXCERPT_LENGTH]}{'...' if len(text) > EXCERPT_LENGTH else ''}"


def _reject_document_flags(options: argparse.Namespace) -> None:
    """Reject flags that have no effect on input that is translated line by line."""
    from regard.documents.formats import SUFFIXES_BY_OPTION

    why = f"is for documents; {_input_name(options)} is translated line by line"
    names = [flag for flag in SUFFIXES_BY_OPTION if not _is_for_glossary(options, flag)]
    reject_unused_flags(options, names, why)
    if not options.json:
        reject_unused_flags(options, ("confidences",), "are written as JSON only; add --json")


def _reject_line_flags(options: argparse.Namespace, suffix: str) -> None:
    """Reject flags that have no effect on documents, or on documents of this format."""
    from regard.documents.formats import SUFFIXES_BY_OPTION

    if options.prefix:
        raise RegardError("--prefix is for lines; a document has sentences with different beginnings")
    if options.json or options.scores or options.alignments or options.confidences or options.n_best > 1:
        raise RegardError(
            f"{_input_name(options)} is a document, which cannot hold --scores, --alignments, --confidences, "
            "--json or --n-best; leave them out, or translate it line by line: --format lines"
        )
    reject_unused_flags(options, ("restart",), "is for lines; a document is always translated as a whole")
    for name, suffixes in SUFFIXES_BY_OPTION.items():
        if suffix not in suffixes and not _is_for_glossary(options, name):
            reject_unused_flags(options, (name,), f"is for {', '.join(suffixes)}, not for {suffix}")


def _is_for_glossary(options: argparse.Namespace, flag: str) -> bool:
    """Whether a flag of documents chooses a language of the glossary."""
    return flag == "target_language" and options.glossary is not None

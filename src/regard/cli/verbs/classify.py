"""`regard classify`: label texts, one line in and one label out."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.input_args import add_input_arguments, split_inputs
from regard.cli.args.model_args import reject_unused_flags, resolve_model_folder
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import INPUT_PATH, OUTPUT_FOR_FILES
from regard.cli.output import open_output
from regard.errors import RegardError
from regard.runtime import max_parallel

if TYPE_CHECKING:
    from regard.classification.input_tables import InputTable
    from regard.classification.label_predictor import Classification, LabelPredictor
    from regard.jobs.line_batches import LineBatch
    from regard.jobs.line_report import JobReport

TABLE_BLOCK_ROWS = 512
"""Rows of a table that are classified at once."""
DESCRIPTION = """\
Classify each line of the input, or each row of a .csv, .tsv or .jsonl file: the
output has as many lines, in the same order. A blank line stays blank; a line
that is not UTF-8 gets no label and is reported at the end.
"""

EPILOG = """\
output
  default           the label
  --probabilities   the label, a tab, and its probability
  --top-k N         the N most probable labels with their probabilities
  --json            an object with the text, its label and all probabilities

The output of a .csv, .tsv or .jsonl file is the same file with the columns
label (with --probabilities, probability; with --top-k, label_2, probability_2
and so on). --column names the column of the texts, unless the header has one
usual name for it, such as text; with a number, the first row is a text too,
unless it has such a name.

Probabilities are calibrated with a temperature fitted to the validation set at
the end of training: of the labels with probability 0.8, about eight in ten are
right, on texts like the training data.

exit codes
  0  all lines are classified
  1  error: the message says what to change
  4  finished, but some lines are not UTF-8: they are empty in the output and
     listed on stderr

examples
  regard classify runs/trec --text "What is an atom ?"
  regard classify runs/trec new.txt --probabilities -o labels.tsv
  regard classify runs/trec --top-k 3 < new.txt
  regard classify runs/trec new.csv --column question -o out.csv
"""


def add_classify_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "classify",
        help="classify texts line by line",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    group = parser.add_argument_group("input and output")
    add_input_arguments(
        parser,
        group,
        "texts: lines, .csv, .tsv or .jsonl, also .gz, .xz or .zst (default: stdin, lines)",
        "classify this text instead of a file; repeatable",
    )
    group.add_argument(
        "--column", metavar="COLUMN", help="text column of a .csv or .tsv, name or number; field of a .jsonl"
    )
    group.add_argument(
        "--format",
        choices=("lines", "csv", "tsv", "jsonl"),
        help="format of the input, whatever its name (lines: each line is a text)",
    )
    add_output_argument(
        group, "output file, or a folder for the outputs of the files (default: stdout)", OUTPUT_FOR_FILES
    )
    group.add_argument("--probabilities", action="store_true", help="write the probability of the label too")
    group.add_argument(
        "--top-k",
        metavar="N",
        type=NumberArgument(int, 1, 10**6),
        help="write the N most probable labels with their probabilities, %(type)s",
    )
    add_json_argument(group, "write one JSON object per line, with all labels")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="device (default: auto, a GPU if there is one)",
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=NumberArgument(int, 1, max_parallel()),
        help="CPU threads, %(type)s (default: all cores)",
    )
    parser.set_defaults(run=run_classify)


def run_classify(options: argparse.Namespace) -> None:
    if options.json and options.probabilities:
        raise RegardError("--probabilities is for text output; --json always includes them")
    requests = split_inputs(options, "classify")
    folder = resolve_model_folder(options.model)
    inputs = [_open_input(request) for request in requests]
    from regard.classification.label_predictor import LabelPredictor
    from regard.jobs.line_report import UntranslatedError

    classifier = LabelPredictor.load(folder, options.device, threads=options.threads)
    failures = []
    for each in inputs:
        try:
            _classify_input(classifier, each)
        except UntranslatedError as error:  # the other files are classified, too
            failures.append(f"{each.options.input}: {error}" if len(inputs) > 1 else str(error))
    if failures:
        raise UntranslatedError("; ".join(failures))


class _Input(NamedTuple):
    """An input of the command with its options."""

    options: argparse.Namespace
    table: "InputTable | None"
    batches: "Iterator[LineBatch]"
    """Empty for a table."""


def _open_input(options: argparse.Namespace) -> _Input:
    """Open an input and check its flags, before the model is loaded."""
    table = _open_table(options)
    return _Input(options, table, iter(()) if table is not None else _input_batches(options))


def _classify_input(classifier: "LabelPredictor", each: _Input) -> None:
    """Write the labels of an input."""
    from regard.jobs.line_report import JobReport

    options, table, batches = each
    report = JobReport(verb="classified")
    with ExitStack() as stack:
        output = (
            sys.stdout.buffer if options.output is None else stack.enter_context(open_output(options.output))
        )
        if table is not None:
            blocks = _classify_table(classifier, table, options, report)
        else:
            blocks = (_classify_batch(classifier, batch, options, report) for batch in batches)
        for lines in blocks:
            output.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
            output.flush()
    sys.stderr.write("".join(f"{line}\n" for line in report.summary_lines()))
    report.raise_if_untranslated()


def _input_batches(options: argparse.Namespace) -> "Iterator[LineBatch]":
    """Return batches of lines; typed or piped input is answered as it arrives."""
    from regard.jobs.line_batches import CPU_BATCH_LIMITS, batch_file_lines, batch_stream_lines, batch_texts

    if options.text:
        return batch_texts([text.rstrip("\n") for text in options.text], CPU_BATCH_LIMITS)
    if options.input is not None:
        return batch_file_lines(options.input, CPU_BATCH_LIMITS)
    if sys.stdin is None:
        raise RegardError("there is no stdin to read; give a FILE")
    if sys.stdin.isatty():
        sys.stderr.write("Type a text and press Enter; Ctrl-D ends.\n")
    return batch_stream_lines(sys.stdin.fileno(), CPU_BATCH_LIMITS, wait_until_full=False)


def _open_table(options: argparse.Namespace) -> "InputTable | None":
    """Return the table of texts to classify; None if each line of the input is a text."""
    from regard.classification.input_tables import choose_input_format, open_input_table

    if options.input is None:
        reject_unused_flags(options, ("column",), "is for a FILE")
        if options.format not in (None, "lines"):
            raise RegardError(f"--format {options.format} is for a FILE; stdin has one text per line")
        return None
    kind = choose_input_format(options.input, options.format)
    if kind == "lines":
        reject_unused_flags(options, ("column",), "is for a .csv, .tsv or .jsonl; here each line is a text")
        return None
    return open_input_table(options.input, kind, options.column)


def _classify_table(
    classifier: "LabelPredictor", table: "InputTable", options: argparse.Namespace, report: "JobReport"
) -> Iterator[list[str]]:
    """Yield the output lines of a table in blocks, the header first."""
    columns = list(_new_columns(classifier.labels, None, options))
    header = None if options.json else table.header(columns)
    if header is not None:
        yield [header]
    rows = table.rows
    while block := list(islice(rows, TABLE_BLOCK_ROWS)):
        texts = [row.text for row in block]
        results = _classify_texts(classifier, texts, [row.line for row in block], report)
        if options.json:
            yield [
                _as_json(row.line, row.text, result, options)
                for row, result in zip(block, results, strict=True)
            ]
        else:
            yield [
                table.format_row(row, _new_columns(classifier.labels, result, options))
                for row, result in zip(block, results, strict=True)
            ]


def _new_columns(
    labels: Sequence[str], classification: "Classification | None", options: argparse.Namespace
) -> dict[str, Any]:
    """Return the values of the new columns; empty ones for a row without a label."""
    from regard.text.labelled_files import clean_label

    count = min(options.top_k or 1, len(labels))
    top: list[tuple[str, Any]] = [("", "")] * count
    if classification is not None:
        top = list(classification.probabilities.items())[:count]
    columns: dict[str, Any] = {}
    for number, (label, probability) in enumerate(top, start=1):
        suffix = f"_{number}" if number > 1 else ""
        columns[f"label{suffix}"] = clean_label(label)
        if options.probabilities or options.top_k is not None:
            columns[f"probability{suffix}"] = probability
    return columns


def _classify_batch(
    classifier: "LabelPredictor", batch: "LineBatch", options: argparse.Namespace, report: "JobReport"
) -> list[str]:
    """Return one output line for each input line."""
    texts: list[str | None] = []
    for line in batch.lines:
        try:
            text = line.content.decode("utf-8", "ignore" if line.truncated_bytes else "strict")
            texts.append(None if "\0" in text else text)  # a sign of UTF-16
        except UnicodeDecodeError:
            texts.append(None)
    numbers = range(batch.first_line, batch.first_line + len(texts))
    is_cut = [line.truncated_bytes > 0 for line in batch.lines]
    results = _classify_texts(classifier, texts, numbers, report, is_cut)
    format_line = _as_json if options.json else _as_columns
    return [
        format_line(number, text, result, options)
        for number, text, result in zip(numbers, texts, results, strict=True)
    ]


def _classify_texts(
    classifier: "LabelPredictor",
    texts: Sequence[str | None],
    numbers: Sequence[int],
    report: "JobReport",
    is_cut: Sequence[bool] = (),
) -> "list[Classification | None]":
    """Return the classification of each text, None for a blank one and one that is not UTF-8."""
    from regard.jobs.line_report import CUT_LINE, NOT_UTF8_LINE, LineIssue
    from regard.text.labelled_files import clean_text

    indexes = [index for index, text in enumerate(texts) if text is not None and clean_text(text)]
    found = classifier.classify([texts[index] or "" for index in indexes])
    results = dict(zip(indexes, found, strict=True))
    issues = [
        LineIssue(number, NOT_UTF8_LINE, "not UTF-8")
        for number, text in zip(numbers, texts, strict=True)
        if text is None
    ]
    issues += [
        LineIssue(numbers[index], CUT_LINE, "only its beginning was read")
        for index, classification in results.items()
        if classification.truncated or (is_cut and is_cut[index])
    ]
    report.add(len(texts), issues)
    return [results.get(index) for index in range(len(texts))]


def _as_columns(
    _: int, __: str | None, classification: "Classification | None", options: argparse.Namespace
) -> str:
    from regard.text.labelled_files import clean_label

    if classification is None:
        return ""
    top_labels = list(classification.probabilities.items())[: options.top_k or 1]
    if options.top_k is None and not options.probabilities:
        return clean_label(classification.label)
    return "\t".join(f"{clean_label(label)}\t{probability:.4f}" for label, probability in top_labels)


def _as_json(
    line: int, text: str | None, classification: "Classification | None", options: argparse.Namespace
) -> str:
    row: dict[str, Any] = {"line": line, "text": text, "label": None, "probability": None}
    if classification is not None:
        row |= {"label": classification.label, "probability": classification.probability}
        row["probabilities"] = dict(list(classification.probabilities.items())[: options.top_k])
        row["cut"] = classification.truncated
    return json.dumps(row, ensure_ascii=False)

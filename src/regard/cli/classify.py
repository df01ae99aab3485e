"""`regard classify`: label texts, one line in and one label out."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.model_args import resolve_model_folder
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import INPUT_PATH, OUTPUT_FILE
from regard.cli.output import open_output
from regard.errors import RegardError
from regard.runtime import max_parallel

if TYPE_CHECKING:
    from regard.classification.classifier import Classification, Classifier
    from regard.jobs.line_batches import LineBatch
    from regard.jobs.line_report import JobReport

DESCRIPTION = """\
Classify each line of the input: the output has as many lines, in the same
order. A blank line stays blank; a line that is not UTF-8 becomes an empty line
and is reported at the end.
"""

EPILOG = """\
output
  default           the label
  --probabilities   the label, a tab, and its probability
  --top-k N         the N most probable labels with their probabilities
  --json            an object with the text, its label and all probabilities

Probabilities are calibrated with a temperature fitted to the validation set at
the end of training: of the labels with probability 0.8, about eight in ten are
right, on texts like the training data.

exit codes
  0  all lines are classified
  1  error: the message says what to change
  4  finished, but some lines are not UTF-8: they are empty in the output and
     listed on stderr

examples
  echo "What is an atom ?" | regard classify runs/trec
  regard classify runs/trec --probabilities --input new.txt --output labels.tsv
  regard classify runs/trec --top-k 3 < new.txt
"""


def add_classify_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "classify",
        help="classify texts line by line",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    parser.add_argument(
        "--input", metavar="FILE", type=INPUT_PATH, help="texts: plain, .gz, .xz or .zst (default: stdin)"
    )
    parser.add_argument("--output", metavar="FILE", type=OUTPUT_FILE, help="output file (default: stdout)")
    parser.add_argument("--probabilities", action="store_true", help="write the probability of the label too")
    parser.add_argument(
        "--top-k",
        metavar="N",
        type=NumberArgument(int, 1, 10**6),
        help="write the N most probable labels with their probabilities, %(type)s",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object per line, with all labels")
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
    folder = resolve_model_folder(options.model)
    from regard.classification.classifier import Classifier
    from regard.jobs.line_report import JobReport

    batches = _input_batches(options.input)
    classifier = Classifier.load(folder, options.device, threads=options.threads)
    report = JobReport(verb="classified")
    with ExitStack() as stack:
        output = (
            sys.stdout.buffer if options.output is None else stack.enter_context(open_output(options.output))
        )
        for batch in batches:
            lines = _classify_batch(classifier, batch, options, report)
            output.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
            output.flush()
    sys.stderr.write("".join(f"{line}\n" for line in report.summary_lines()))
    report.raise_if_untranslated()


def _input_batches(path: Path | None) -> "Iterator[LineBatch]":
    """Return batches of lines; typed or piped input is answered as it arrives."""
    from regard.jobs.line_batches import CPU_BATCH_LIMITS, batch_file_lines, batch_stream_lines

    if path is not None:
        return batch_file_lines(path, CPU_BATCH_LIMITS)
    if sys.stdin is None:
        raise RegardError("there is no stdin to read; give --input FILE")
    if sys.stdin.isatty():
        sys.stderr.write("Type a text and press Enter; Ctrl-D ends.\n")
    return batch_stream_lines(sys.stdin.fileno(), CPU_BATCH_LIMITS, wait_until_full=False)


def _classify_batch(
    classifier: "Classifier", batch: "LineBatch", options: argparse.Namespace, report: "JobReport"
) -> list[str]:
    """Return one output line for each input line."""
    from regard.jobs.line_report import CUT_LINE, NOT_UTF8_LINE, LineIssue

    texts, issues = [], []
    for number, line in enumerate(batch.lines, start=batch.first_line):
        try:
            texts.append(line.content.decode("utf-8", "ignore" if line.truncated_bytes else "strict"))
        except UnicodeDecodeError:
            texts.append(None)
            issues.append(LineIssue(number, NOT_UTF8_LINE, "not UTF-8"))
    indexes = [index for index, text in enumerate(texts) if text is not None and text.strip()]
    results = classifier.classify([texts[index] or "" for index in indexes])
    classifications = dict(zip(indexes, results, strict=True))
    for index, classification in classifications.items():
        if classification.truncated or batch.lines[index].truncated_bytes:
            issues.append(LineIssue(batch.first_line + index, CUT_LINE, "only its beginning was read"))
    report.add(len(texts), issues)
    format_line = _as_json if options.json else _as_columns
    return [
        format_line(batch.first_line + index, text, classifications.get(index), options)
        for index, text in enumerate(texts)
    ]


def _as_columns(
    _: int, __: str | None, classification: "Classification | None", options: argparse.Namespace
) -> str:
    if classification is None:
        return ""
    top_labels = list(classification.probabilities.items())[: options.top_k or 1]
    if options.top_k is None and not options.probabilities:
        return classification.label
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in top_labels)


def _as_json(
    line: int, text: str | None, classification: "Classification | None", options: argparse.Namespace
) -> str:
    row: dict[str, Any] = {"line": line, "text": text, "label": None, "probability": None}
    if classification is not None:
        row |= {"label": classification.label, "probability": classification.probability}
        row["probabilities"] = dict(list(classification.probabilities.items())[: options.top_k])
        row["cut"] = classification.truncated
    return json.dumps(row, ensure_ascii=False)

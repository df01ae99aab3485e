"""`regard classify`: one line in, one label out."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.model_args import resolve_model_folder
from regard.cli.output import open_output, reject_unwritable
from regard.errors import RegardError, require_setting

if TYPE_CHECKING:
    from regard.classification.classifier import Classification, Classifier
    from regard.jobs.line_batches import LineBatch
    from regard.jobs.line_report import JobReport

DESCRIPTION = """\
Give each line of the input its label: as many lines come out as went in, in the same order, whatever is in
them. A blank line stays blank; one that cannot be read becomes an empty one and is reported at the end.
"""

EPILOG = """\
what is written
  nothing said      the label
  --probabilities   the label, a tab, and its probability
  --top-k N           the N likeliest labels with their probabilities, tabs between all of them
  --json            an object with the text, its label and the probability of each

Probabilities are calibrated: a temperature was fitted to the validation part when the training ended, and
of labels given with 0.8 about eight in ten are right, on texts like those the model learnt from.

exit codes
  0  every line has its label
  1  refused: something must be put right first
  4  done, but some lines could not be read: they are empty, and named on stderr

examples
  echo "What is an atom ?" | regard classify runs/trec
  regard classify runs/trec --probabilities --input new.txt --output labels.tsv
  regard classify runs/trec --top-k 3 < new.txt
"""


def add_classify_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "classify",
        help="give texts their labels, one line in, one line out",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    parser.add_argument("--input", metavar="FILE", type=Path, help="plain, .gz, .xz or .zst (default: stdin)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="(default: stdout)")
    parser.add_argument("--probabilities", action="store_true", help="how likely the label is, too")
    parser.add_argument("--top-k", metavar="N", type=int, help="the N likeliest, each with its probability")
    parser.add_argument("--json", action="store_true", help="an object for each line, with all labels")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to compute (default: auto, a GPU if there is one)",
    )
    parser.add_argument("--threads", metavar="N", type=int, help="(default: all cores)")
    parser.set_defaults(run=run_classify)


def run_classify(options: argparse.Namespace) -> None:
    require_setting(
        options.top_k is None or options.top_k >= 1, "--top-k", options.top_k, "it must be at least 1"
    )
    require_setting(
        options.threads is None or options.threads >= 1, "--threads", options.threads, "it must be 1 up"
    )
    if options.json and options.probabilities:
        raise RegardError("--probabilities is for plain lines; --json has them anyway")
    if options.output is not None:
        reject_unwritable(options.output)
    folder = resolve_model_folder(options.model)
    from regard.classification.classifier import Classifier
    from regard.jobs.line_report import JobReport

    windows = _input_batches(options.input)
    classifier = Classifier.load(folder, options.device, threads=options.threads)
    report = JobReport(verb="classified")
    with ExitStack() as stack:
        output = (
            sys.stdout.buffer if options.output is None else stack.enter_context(open_output(options.output))
        )
        for window in windows:
            lines = _classify_batch(classifier, window, options, report)
            output.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
            output.flush()
    sys.stderr.write("".join(f"{line}\n" for line in report.summary_lines()))
    report.raise_if_untranslated()


def _input_batches(path: Path | None) -> "Iterator[LineBatch]":
    """What a file holds, or what arrives: whoever types is answered at once."""
    from regard.jobs.line_batches import CPU_BATCH_LIMITS, batch_file_lines, batch_stream_lines

    if path is not None:
        return batch_file_lines(path, CPU_BATCH_LIMITS)
    if sys.stdin is None:
        raise RegardError("there is no stdin to read; give --input FILE")
    if sys.stdin.isatty():
        sys.stderr.write("Type a text and press Enter; Ctrl-D ends.\n")
    return batch_stream_lines(sys.stdin.fileno(), CPU_BATCH_LIMITS, wait_until_full=False)


def _classify_batch(
    classifier: "Classifier", window: "LineBatch", options: argparse.Namespace, report: "JobReport"
) -> list[str]:
    """One line for each of the window's."""
    from regard.jobs.line_report import CUT_LINE, NOT_UTF8_LINE, LineIssue

    texts, troubles = [], []
    for number, line in enumerate(window.lines, start=window.first_line):
        try:
            texts.append(line.content.decode("utf-8", "ignore" if line.truncated_bytes else "strict"))
        except UnicodeDecodeError:
            texts.append(None)
            troubles.append(LineIssue(number, NOT_UTF8_LINE, "not UTF-8"))
    wanted = [place for place, text in enumerate(texts) if text is not None and text.strip()]
    found = dict(zip(wanted, classifier.classify([texts[place] or "" for place in wanted]), strict=True))
    for place, answer in found.items():
        if answer.truncated or window.lines[place].truncated_bytes:
            troubles.append(LineIssue(window.first_line + place, CUT_LINE, "only its beginning was read"))
    report.add(len(texts), troubles)
    form = _as_json if options.json else _as_columns
    return [
        form(window.first_line + place, text, found.get(place), options) for place, text in enumerate(texts)
    ]


def _as_columns(_: int, __: str | None, found: "Classification | None", options: argparse.Namespace) -> str:
    if found is None:
        return ""
    shown = list(found.probabilities.items())[: options.top_k or 1]
    if options.top_k is None and not options.probabilities:
        return found.label
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in shown)


def _as_json(line: int, text: str | None, found: "Classification | None", options: argparse.Namespace) -> str:
    said: dict[str, Any] = {"line": line, "text": text, "label": None, "probability": None}
    if found is not None:
        shown: Sequence[tuple[str, float]] = list(found.probabilities.items())[: options.top_k]
        said |= {"label": found.label, "probability": found.probability, "probabilities": dict(shown)}
        said["cut"] = found.truncated
    return json.dumps(said, ensure_ascii=False)

"""`regard check`: find defects in a parallel, labelled or time series corpus before training."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.file_advice import corpus_advice
from regard.cli.args.model_args import reject_unused_flags
from regard.cli.args.path_args import INPUT_NAME, INPUT_PATH
from regard.cli.args.train_args import add_label_column_arguments, add_pair_arguments
from regard.cli.output import format_json, print_json, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.corpus.findings import CorpusReport, Finding
    from regard.forecasting.series.table import SeriesTable
    from regard.text.labelled_files import LabelledFiles
    from regard.text.pair_formats.pair_files import PairFiles


MAX_SHOWN_LINES = 6  # line numbers per finding that fit on a terminal
MAX_SHOWN_LABELS = 20  # labels listed by name
PAIR_FLAGS = (
    *("source", "target", "pairs", "against_source", "against_target", "against_pairs"),
    *("source_language", "target_language", "source_column", "target_column"),
)
LABEL_FLAGS = ("labelled", "texts", "labels", "against_labelled", "text_column", "label_column")
SEVERITY_STYLES = {"fatal": "bold red", "bad": "yellow", "note": "dim"}

EPILOG = """\
findings
  fatal   files of different length; no usable pair
  bad     misalignment (from some line on the sides no longer match), invalid
          UTF-8, blank sides, NUL and control characters, overlong lines, sides
          of very different length, untranslated copies, overlap with the
          --against files
  note    duplicates; untranslated and fuzzy units, which are left out
  Labelled texts also: a single label, invalid labels, texts with two labels,
  rare labels, a dominant label.

Exit code 1 if a finding is fatal, with --strict also if one is bad. Lines are
counted from 1 and end at a newline byte, as in `sed -n 17p FILE`; in .csv and
.parquet files rows are counted, in .tmx and .xliff files units.
docs/corpora.md has the details.

examples
  regard check --source train.en --target train.fr
  regard check --source train.en.gz --target train.fr.gz -o report.json
  regard check --pairs train.tsv --against-pairs test.tsv
  regard check --pairs memory.tmx app.po --source-language en --target-language fr
  regard check --labelled train.tsv --against-labelled test.tsv
  regard check --source train.en --target train.fr \\
    --against-source test.en --against-target test.fr
  regard check --series load.csv
"""


def add_check_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "check",
        help="find defects in a corpus, by line number",
        description="Check a parallel corpus or labelled texts (plain, .gz, .xz or .zst), or a table.",
        epilog=EPILOG,
    )
    pairs = parser.add_argument_group("parallel text")
    pairs.add_argument("--source", metavar="FILE", type=INPUT_PATH, help="source sentences, one per line")
    pairs.add_argument("--target", metavar="FILE", type=INPUT_PATH, help="their translations, line by line")
    pairs.add_argument(
        "--pairs",
        metavar="FILE",
        type=INPUT_PATH,
        nargs="+",
        action="extend",
        help="files with both sides: .tsv, .csv, .jsonl, .parquet, .tmx, .xliff, .po",
    )
    add_pair_arguments(pairs)
    pairs.add_argument(
        "--against-source",
        metavar="FILE",
        type=INPUT_PATH,
        help="test set that must share no sentence with the corpus",
    )
    pairs.add_argument("--against-target", metavar="FILE", type=INPUT_PATH, help="its translations")
    pairs.add_argument("--against-pairs", metavar="FILE", type=INPUT_PATH, help="such a test set in one file")
    labelled = parser.add_argument_group("labelled texts")
    labelled.add_argument(
        "--labelled", metavar="FILE", type=INPUT_PATH, help="labelled texts, .tsv, .csv or .jsonl"
    )
    add_label_column_arguments(labelled)
    labelled.add_argument(
        "--texts", metavar="FILE", type=INPUT_PATH, help="labelled texts in two files: the texts"
    )
    labelled.add_argument("--labels", metavar="FILE", type=INPUT_PATH, help="and the labels, line by line")
    labelled.add_argument(
        "--against-labelled",
        metavar="FILE",
        type=INPUT_PATH,
        help="test set that must share no text with them",
    )
    series = parser.add_argument_group("time series")
    series.add_argument(
        "--series", metavar="FILE", type=INPUT_NAME, help="table of time series, .csv or .parquet"
    )
    add_output_argument(parser, "write the findings with all line numbers, as JSON")
    add_json_argument(parser, "print the same JSON instead of the table")
    parser.add_argument("--strict", action="store_true", help="fail if any line is bad")
    parser.set_defaults(run=run_check, extra_argument_advice=corpus_advice)


def run_check(options: argparse.Namespace) -> None:
    for prefix in ("", "against-"):
        _reject_incomplete_pair(options, prefix)
    if options.series is not None:
        run_check_series(options)
        return
    from rich.console import Console

    reports = [_check_labelled(options)] if _has_label_flags(options) else _check_pairs(options)
    dicts = [report.to_dict() for report in reports]
    document = dicts[0] if len(dicts) == 1 else {"corpora": dicts}
    if options.output is not None:
        text = format_json(document)
        write_output(options.output, f"{text}\n".encode("utf-8", "backslashreplace"))
    if options.json:
        print_json(document)
    else:
        for report in reports:
            _print_report(report, Console(highlight=False, markup=False, emoji=False))
    for report in reports:
        _raise_if_failed(report, options.strict)


def _check_pairs(options: argparse.Namespace) -> "list[CorpusReport]":
    from rich.console import Console

    from regard.corpus.pair_checks import check_pair_corpus
    from regard.corpus.positions import locate_findings
    from regard.corpus.progress import FileProgressBar

    corpora = _pair_corpora(options)
    against = _pair_files(options, options.against_source, options.against_target, options.against_pairs)
    for each in (*corpora, *([] if against is None else [against])):
        each.reject_other_content()
    files = [path for each in (*corpora, against) if each is not None for path in each.files]
    with FileProgressBar("checking", files, Console(stderr=True)) as on_chunk:
        return [
            locate_findings(check_pair_corpus(corpus, against=against, on_chunk=on_chunk), corpus)
            for corpus in corpora
        ]


def _has_label_flags(options: argparse.Namespace) -> bool:
    """Whether flags of labelled texts were given; raise an error if flags of pairs were given too."""
    labelled, pairs = (
        [name for name in names if getattr(options, name) is not None] for names in (LABEL_FLAGS, PAIR_FLAGS)
    )
    if labelled and pairs:
        first, second = (name.replace("_", "-") for name in (labelled[0], pairs[0]))
        raise RegardError(f"--{first} is for labelled texts, --{second} for a parallel corpus; give one")
    return bool(labelled)


def _check_labelled(options: argparse.Namespace) -> "CorpusReport":
    from rich.console import Console

    from regard.corpus.label_checks import check_labelled_corpus
    from regard.corpus.progress import FileProgressBar
    from regard.text.labelled_files import LabelledFiles

    corpus = _labelled_files(options)
    against = (
        None
        if options.against_labelled is None
        else LabelledFiles(options.against_labelled, None, options.text_column, options.label_column)
    )
    files = [path for each in (corpus, against) if each is not None for path in each.files]
    with FileProgressBar("checking", files, Console(stderr=True)) as on_chunk:
        return check_labelled_corpus(corpus, against=against, on_chunk=on_chunk)


def _labelled_files(options: argparse.Namespace) -> "LabelledFiles":
    from regard.text.labelled_files import LabelledFiles

    if (options.texts is None) != (options.labels is None):
        raise RegardError("--texts and --labels belong together; give both or neither")
    if (options.texts is None) == (options.labelled is None):
        raise RegardError("give either --labelled FILE, or --texts FILE and --labels FILE")
    columns = options.text_column, options.label_column
    return LabelledFiles(options.labelled or options.texts, options.labels, *columns)


def _reject_incomplete_pair(options: argparse.Namespace, prefix: str) -> None:
    sides = [getattr(options, f"{prefix}{side}".replace("-", "_")) for side in ("source", "target", "pairs")]
    if (sides[0] is None) != (sides[1] is None):
        raise RegardError(f"--{prefix}source and --{prefix}target belong together; give both or neither")
    if sides[0] is not None and sides[2] is not None:
        raise RegardError(f"--{prefix}pairs replaces --{prefix}source and --{prefix}target; give one of them")


def _pair_corpora(options: argparse.Namespace) -> "list[PairFiles]":
    given = [_pair_files(options, options.source, options.target, pairs) for pairs in options.pairs or [None]]
    corpora = [corpus for corpus in given if corpus is not None]
    if not corpora:
        raise RegardError("there is nothing to check; give --source FILE and --target FILE, or --pairs FILE")
    return corpora


def _pair_files(
    options: argparse.Namespace, source: Path | None, target: Path | None, pairs: Path | None
) -> "PairFiles | None":
    from regard.text.pair_formats.pair_files import PairFiles
    from regard.text.pair_formats.units import PairOptions

    sides = PairOptions(
        options.source_language, options.target_language, options.source_column, options.target_column
    )
    if pairs is not None:
        return PairFiles(pairs, None, sides)
    return None if source is None or target is None else PairFiles(source, target, sides)


def _print_report(report: "CorpusReport", console: "Console") -> None:
    from rich.table import Table as RichTable

    unit = "pairs" if report.labels is None else "texts"
    console.print(f"{report.name}: {report.pairs:,} {unit}", soft_wrap=True)
    if report.labels:
        _print_labels(report.labels, console)
    if not report.findings:
        console.print("  no defects found")
        return
    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("finding")
    table.add_column("count", justify="right")
    table.add_column(f"{report.unit}s")
    table.add_column("meaning and remedy")
    for finding in report.findings:
        meaning = finding.detail or finding.kind.meaning
        table.add_row(
            finding.kind.name,
            f"{finding.count:,}",
            _first_lines(finding),
            f"{meaning}; {finding.kind.remedy}",
            style=SEVERITY_STYLES[finding.kind.severity],
        )
    console.print(table)
    if (bad := sum(report.left_out.values())) and report.pairs:
        share = 100 * bad / report.pairs
        console.print(f"  {bad:,} of {report.pairs:,} {unit} ({share:.2g} %) are unusable for training")


def _print_labels(labels: Mapping[str, int], console: "Console") -> None:
    """Print the number of texts per label, the most frequent first."""
    texts = sum(labels.values())
    shown = [
        f"{label} {count:,} ({count / texts:.0%})" for label, count in list(labels.items())[:MAX_SHOWN_LABELS]
    ]
    more = f", and {len(labels) - MAX_SHOWN_LABELS:,} more" if len(labels) > MAX_SHOWN_LABELS else ""
    console.print(f"  {len(labels):,} labels: {', '.join(shown)}{more}", soft_wrap=True)


def _first_lines(finding: "Finding") -> str:
    """Return the first positions, with the line of the file where units are counted."""
    shown = [str(number) for number in finding.lines[:MAX_SHOWN_LINES]]
    if finding.file_lines:
        shown = [f"{number} (line {line})" for number, line in zip(shown, finding.file_lines, strict=False)]
    return ", ".join(shown) + (", ..." if len(finding.lines) > MAX_SHOWN_LINES else "")


def _raise_if_failed(report: "CorpusReport", strict: bool) -> None:
    if report.fatal_finding is not None:
        raise RegardError(report.fatal_finding.detail)
    if strict and report.bad_findings:
        kinds = ", ".join(f"{finding.kind.name} ({finding.count})" for finding in report.bad_findings)
        raise RegardError(f"{report.name} has bad lines: {kinds}; --strict rejects them")


def run_check_series(options: argparse.Namespace) -> None:
    """Read the table as training does, and print its statistics and repairs."""
    reject_unused_flags(options, (*PAIR_FLAGS, *LABEL_FLAGS), "is for text; --series FILE is a table")
    from regard.forecasting.series.read_table import read_series_table

    table = read_series_table(Path(options.series))
    report = {
        "file": table.name,
        "rows": len(table),
        "step": str(table.time_axis.step),
        "notes": list(table.notes),
    }
    if options.output is not None:
        write_output(options.output, (format_json(report) + "\n").encode("utf-8"))
    if options.json:
        print_json(report)
    else:
        sys.stdout.write("\n".join(describe_table(table)) + "\n")
    if options.strict and table.notes:
        raise RegardError(f"{table.name} has rows that need repair; --strict rejects them")


def describe_table(table: "SeriesTable") -> list[str]:
    """Return the statistics of each series and the repairs of the table."""
    import numpy as np

    first, last = table.time_axis.format_times(table.times[[0, -1]])
    lines = [
        f"{table.name}: {len(table):,} rows, {table.time_axis.step} apart, {first} to {last}",
        f"  {'series':<20}{'min':>12}{'mean':>12}{'max':>12}{'missing':>10}",
    ]
    for column, values in zip(table.columns, table.values.T, strict=True):
        known = values[~np.isnan(values)]
        figures = (known.min(), known.mean(), known.max()) if len(known) else (np.nan,) * 3
        missing = f"{len(values) - len(known):,}"
        lines.append(f"  {column:<20}" + "".join(f"{figure:12.5g}" for figure in figures) + f"{missing:>10}")
    return lines + [f"  {note}" for note in table.notes or ("no defects found",)]

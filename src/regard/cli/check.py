"""`regard check --series`: what is wrong with a table, before a model learns it."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import refuse_unused
from regard.cli.output import refuse_unwritable, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.corpus.findings import Finding, Report
    from regard.forecasting.series.table import Table
    from regard.text.corpus_files import LabelledFiles, PairFiles


OTHERS = (
    *("source", "target", "pairs", "against_source", "against_target", "against_pairs"),
    *("labelled", "texts", "labels", "against_labelled"),
)


def run_check_series(options: argparse.Namespace) -> None:
    """Reads the table as a training would, and says what had to be done to it."""
    refuse_unused(options, OTHERS, "is for text; --series FILE is a table")
    from regard.forecasting.series.read_table import read_table

    table = read_table(Path(options.series))
    if options.json is not None:
        said = {
            "file": table.name,
            "rows": len(table),
            "step": str(table.clock.step),
            "notes": list(table.notes),
        }
        write_output(options.json, (json.dumps(said, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    sys.stdout.write("\n".join(found(table)) + "\n")
    if options.strict and table.notes:
        raise RegardError(f"{table.name} has rows that had to be changed; without --strict they would be")


def found(table: "Table") -> list[str]:
    """What the table holds, series by series, and what was done to it."""
    import numpy as np

    first, last = table.clock.write(table.times[[0, -1]])
    said = [
        f"{table.name}: {len(table):,} rows, {table.clock.step} apart, {first} to {last}",
        f"  {'series':<20}{'least':>12}{'mean':>12}{'most':>12}{'missing':>10}",
    ]
    for column, values in zip(table.columns, table.values.T, strict=True):
        known = values[~np.isnan(values)]
        figures = (known.min(), known.mean(), known.max()) if len(known) else (np.nan,) * 3
        missing = f"{len(values) - len(known):,}"
        said.append(f"  {column:<20}" + "".join(f"{figure:12.5g}" for figure in figures) + f"{missing:>10}")
    return said + [f"  {note}" for note in table.notes or ("nothing wrong was found",)]


SHOWN = 6  # line numbers of a kind that fit on a terminal
LABELS = 20  # labels that are named
STYLES = {"fatal": "bold red", "bad": "yellow", "note": "dim"}

EPILOG = """\
what it looks for
  fatal   files of different length; nothing to learn from
  bad     a shift (from some line on the sides no longer match), bytes that are not UTF-8, blank
          sides, NUL and control characters, lines far too long, sides of very different length,
          copies, pairs with a sentence of the --against files
  note    duplicates
  For labelled texts also: a single label, labels that are none, texts with two labels, rare labels,
  and one that outweighs the others.

It exits with 1 if something is fatal, and under --strict if anything is bad. Lines are counted
from 1 and end at a newline byte, as `sed -n 17p FILE` counts them. docs/corpora.md says more.

examples
  regard check --source train.en --target train.fr
  regard check --source train.en.gz --target train.fr.gz --json report.json
  regard check --pairs train.tsv --against-pairs test.tsv
  regard check --labelled train.tsv --against-labelled test.tsv      label<TAB>text on each line
  regard check --source train.en --target train.fr --against-source test.en --against-target test.fr
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "check",
        help="find what is wrong with a corpus, line by line",
        description="Examine text files (plain, .gz, .xz or .zst) whose sentences should match.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--source", metavar="FILE", type=Path, help="sentences, one a line")
    parser.add_argument("--target", metavar="FILE", type=Path, help="their translations")
    parser.add_argument("--pairs", metavar="FILE", type=Path, help="both in one file, .tsv or .jsonl")
    parser.add_argument(
        "--against-source", metavar="FILE", type=Path, help="with the next: a corpus, such as the test set,"
    )
    parser.add_argument(
        "--against-target", metavar="FILE", type=Path, help="that must share no sentence with this one"
    )
    parser.add_argument("--against-pairs", metavar="FILE", type=Path, help="the same in one file")
    parser.add_argument(
        "--labelled", metavar="FILE", type=Path, help="instead: texts and their labels, .tsv or .jsonl"
    )
    parser.add_argument("--texts", metavar="FILE", type=Path, help="the same in two files: texts,")
    parser.add_argument("--labels", metavar="FILE", type=Path, help="and their labels, line by line")
    parser.add_argument(
        "--against-labelled", metavar="FILE", type=Path, help="a test set that must share no text with them"
    )
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write the findings there, with their line numbers"
    )
    parser.add_argument("--series", metavar="FILE", help="a table of series, for a forecaster")
    parser.add_argument("--strict", action="store_true", help="fail if any line is bad")
    parser.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> None:
    for start in ("", "against-"):
        _refuse_half(options, start)
    if options.json is not None:
        refuse_unwritable(options.json)
    if options.series is not None:
        run_check_series(options)
        return
    from rich.console import Console

    report = _examine_labelled(options) if _is_labelled(options) else _examine(options)
    if options.json is not None:
        write_output(options.json, report.to_json().encode("utf-8", "backslashreplace"))
    _show(report, Console(highlight=False, markup=False, emoji=False))
    _judge(report, options.strict)


def _examine(options: argparse.Namespace) -> "Report":
    from rich.console import Console

    from regard.corpus.pair_checks import examine
    from regard.corpus.progress import Bar

    corpus = _corpus(options)
    against = _pair_files(options.against_source, options.against_target, options.against_pairs)
    files = [path for each in (corpus, against) if each is not None for path in each.files]
    with Bar("checking", files, Console(stderr=True)) as seen:
        return examine(corpus, against=against, seen=seen)


def _is_labelled(options: argparse.Namespace) -> bool:
    """Whether texts with labels are meant; both kinds at once are refused."""
    labelled, pairs = (
        [name for name in names if getattr(options, name) is not None]
        for names in (
            ("labelled", "texts", "labels", "against_labelled"),
            ("source", "target", "pairs", "against_source", "against_target", "against_pairs"),
        )
    )
    if labelled and pairs:
        first, second = (name.replace("_", "-") for name in (labelled[0], pairs[0]))
        raise RegardError(f"--{first} is for texts with labels and --{second} for translations; check one")
    return bool(labelled)


def _examine_labelled(options: argparse.Namespace) -> "Report":
    from rich.console import Console

    from regard.corpus.label_checks import examine_labelled
    from regard.corpus.progress import Bar
    from regard.text.corpus_files import LabelledFiles

    corpus = _labelled_files(options)
    against = None if options.against_labelled is None else LabelledFiles(options.against_labelled)
    files = [path for each in (corpus, against) if each is not None for path in each.files]
    with Bar("checking", files, Console(stderr=True)) as seen:
        return examine_labelled(corpus, against=against, seen=seen)


def _labelled_files(options: argparse.Namespace) -> "LabelledFiles":
    from regard.text.corpus_files import LabelledFiles

    if (options.texts is None) != (options.labels is None):
        raise RegardError("--texts and --labels go together; give both or neither")
    if (options.texts is None) == (options.labelled is None):
        raise RegardError("give --labelled FILE, or --texts FILE and --labels FILE: one of the two")
    return LabelledFiles(options.labelled or options.texts, options.labels)


def _refuse_half(options: argparse.Namespace, start: str) -> None:
    sides = [getattr(options, f"{start}{side}".replace("-", "_")) for side in ("source", "target", "pairs")]
    if (sides[0] is None) != (sides[1] is None):
        raise RegardError(f"--{start}source and --{start}target go together; give both or neither")
    if sides[0] is not None and sides[2] is not None:
        raise RegardError(f"--{start}pairs takes the place of --{start}source; give one of them")


def _corpus(options: argparse.Namespace) -> "PairFiles":
    corpus = _pair_files(options.source, options.target, options.pairs)
    if corpus is None:
        raise RegardError("there is nothing to check; give --source FILE and --target FILE, or --pairs FILE")
    return corpus


def _pair_files(source: Path | None, target: Path | None, pairs: Path | None) -> "PairFiles | None":
    from regard.text.corpus_files import PairFiles

    if pairs is not None:
        return PairFiles(pairs)
    return None if source is None or target is None else PairFiles(source, target)


def _show(report: "Report", console: "Console") -> None:
    from rich.table import Table as RichTable

    unit = "pairs" if report.labels is None else "texts"
    console.print(f"{report.name}: {report.pairs:,} {unit}", soft_wrap=True)
    if report.labels:
        _show_labels(report.labels, console)
    if not report.findings:
        console.print("  nothing wrong was found")
        return
    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("finding")
    table.add_column("count", justify="right")
    table.add_column("lines")
    table.add_column("what it means, and what to do")
    for finding in report.findings:
        said = finding.detail or finding.kind.meaning
        table.add_row(
            finding.kind.name,
            f"{finding.count:,}",
            _first(finding),
            f"{said}; {finding.kind.remedy}",
            style=STYLES[finding.kind.severity],
        )
    console.print(table)
    if bad := sum(report.left_out.values()):
        share = 100 * bad / report.pairs
        console.print(f"  {bad:,} of {report.pairs:,} {unit} ({share:.2g} %) should not be learned from")


def _show_labels(labels: Mapping[str, int], console: "Console") -> None:
    """How many texts have each, the most frequent first."""
    texts = sum(labels.values())
    shown = [f"{label} {count:,} ({count / texts:.0%})" for label, count in list(labels.items())[:LABELS]]
    more = f", and {len(labels) - LABELS:,} more" if len(labels) > LABELS else ""
    console.print(f"  {len(labels):,} labels: {', '.join(shown)}{more}", soft_wrap=True)


def _first(finding: "Finding") -> str:
    lines = ", ".join(map(str, finding.lines[:SHOWN]))
    return lines + (", ..." if len(finding.lines) > SHOWN else "")


def _judge(report: "Report", strict: bool) -> None:
    if report.fatal is not None:
        raise RegardError(report.fatal.detail)
    if strict and report.bad:
        kinds = ", ".join(f"{finding.kind.name} ({finding.count})" for finding in report.bad)
        raise RegardError(f"{report.name}: not clean: {kinds}; --strict refuses them")

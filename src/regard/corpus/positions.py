"""Positions of findings in a file whose pairs are not its lines: numbers of rows and units, and lines."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from regard.corpus.findings import MAX_REPORTED_LINES, CorpusReport, Finding
from regard.text.corpus_files import CorpusUnit


@runtime_checkable
class PositionedCorpus(Protocol):
    """A corpus whose pairs can be found again in its files."""

    @property
    def files(self) -> tuple[Path, ...]: ...

    def read_units(self) -> Iterator[CorpusUnit]: ...


def locate_findings(report: CorpusReport, corpus: PositionedCorpus) -> CorpusReport:
    """Return the report with positions as the user counts in place of numbers of pairs.

    One file is read once more, up to the last of the pairs that are reported; in two files, the number of a
    pair is its line.
    """
    shown = [finding for finding in report.findings if finding.lines and not finding.kind.is_skipped]
    if len(corpus.files) > 1 or not shown:
        return report
    units = find_units(corpus, {row for each in shown for row in each.lines[:MAX_REPORTED_LINES]})

    def locate(finding: Finding) -> Finding:
        found = (units.get(row) for row in finding.lines[:MAX_REPORTED_LINES])
        return positioned_finding(finding, [unit for unit in found if unit is not None])

    findings = tuple(locate(each) if each in shown else each for each in report.findings)
    return replace(report, findings=findings)


def find_units(corpus: PositionedCorpus, rows: Collection[int]) -> dict[int, CorpusUnit]:
    """Return the units of these pairs, which are counted from 1 without what is skipped."""
    found, last = {}, max(rows)
    units = (unit for unit in corpus.read_units() if unit.skipped is None)
    for row, unit in enumerate(units, 1):
        if row in rows:
            found[row] = unit
        if row == last:
            break
    return found


def positioned_finding(finding: Finding, units: Sequence[CorpusUnit]) -> Finding:
    """Return a finding at these units, the first of those that have it."""
    numbers, lines = [unit.number for unit in units], [unit.line for unit in units]
    return replace(finding, lines=numbers, file_lines=lines if any(lines) and lines != numbers else ())

"""`regard score` of several systems: one table of their scores, and how sure their differences are."""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checkpoint import list_seed_runs
from regard.cli.comparison.scoring import SHORT_TITLES, TestSet, format_score
from regard.cli.output import format_json

if TYPE_CHECKING:
    from regard.metrics.comet import CometScore
    from regard.metrics.compare import MetricComparison
    from regard.metrics.translation import TranslationScore
    from regard.translation.engines import EngineInfo

COLUMN_WIDTH, P_WIDTH = 12, 9


@dataclass(frozen=True)
class System:
    """A model or a file of translations."""

    path: Path
    is_model: bool
    group: Path | None = None
    """The folder of `regard train --seeds` that the model is from."""


@dataclass(frozen=True)
class SystemScores:
    """The scores of a system, and its differences from the first one."""

    system: System
    scores: "Mapping[str, TranslationScore | CometScore]"
    differences: "Mapping[str, MetricComparison]"
    """Empty for the first system."""
    engine: "EngineInfo | None" = None
    """None for a file of translations."""


def list_systems(models: Sequence[Path], hypotheses: Sequence[Path]) -> list[System]:
    """Return models and files in the order given; the folder of several seeds stands for its models."""
    systems = []
    for path in models:
        runs = list_seed_runs(path)
        systems += [System(run, True, path) for run in runs] or [System(path, True)]
    return systems + [System(path, False) for path in hypotheses]


def score_systems(
    systems: Sequence[System],
    engines: "Sequence[EngineInfo | None]",
    translations: Sequence[Sequence[str]],
    test_set: TestSet,
) -> list[SystemScores]:
    """Score the translations of each system and compare all with the first."""
    return list(map(SystemScores, systems, *test_set.score(translations), engines))


def write_system_scores(options: argparse.Namespace, sentences: int, results: Sequence[SystemScores]) -> None:
    """Print the scores of several systems as a table or as JSON."""
    references = [str(path) for path in options.reference]
    if options.json:
        report: dict[str, Any] = {"references": references, "sentences": sentences}
        if any(each.engine is not None for each in results):
            report |= {"beam": options.beam, "alpha": options.alpha}
        report["systems"] = [*map(_as_dict, results)]
        report["seeds"] = {
            str(group): {
                name: {"mean": mean, "deviation": deviation} for name, (mean, deviation) in rows.items()
            }
            for group, rows in _seed_statistics(results).items()
        }
        sys.stdout.write(format_json(report) + "\n")
        return
    engines = list(dict.fromkeys(" ".join(each.engine) for each in results if each.engine is not None))
    search = f", beam {options.beam}, alpha {options.alpha:g}, {' and '.join(engines)}" if engines else ""
    sys.stdout.write(f"{sentences:,} sentences of {' and '.join(references)}{search}\n")
    sys.stdout.write("\n".join(_table(results)) + "\n")


def _table(results: Sequence[SystemScores]) -> list[str]:
    names = list(results[0].scores)
    compared = list(results[-1].differences)
    statistics_rows = _seed_statistics(results)
    titles = [str(each.system.path) for each in results] + [f"mean of {group}" for group in statistics_rows]
    width = max(map(len, [*titles, "deviation"])) + 2
    head = "".join(f"{SHORT_TITLES[name]:>{COLUMN_WIDTH}}" for name in names)
    head += "".join(f"{f'p {SHORT_TITLES[name]}':>{P_WIDTH}}" for name in compared)
    lines = [f"{'system':<{width}}{head}"]
    for each in results:
        scores = "".join(
            f"{format_score(name, score.score):>{COLUMN_WIDTH}}" for name, score in each.scores.items()
        )
        values = "".join(
            f"{each.differences[name].p_value:{P_WIDTH}.3f}" for name in compared if each.differences
        )
        lines.append(f"{each.system.path!s:<{width}}{scores}{values}")
    for group, rows in statistics_rows.items():
        for title, number in ((f"mean of {group}", 0), ("deviation", 1)):
            values = "".join(f"{format_score(name, rows[name][number]):>{COLUMN_WIDTH}}" for name in names)
            lines.append(f"{title:<{width}}{values}")
    lines.append(f"p: paired bootstrap against {results[0].system.path}; below 0.05 is significant")
    lines += ["TER: lower is better"] if "ter" in names else []
    lines += [f"{SHORT_TITLES[name]}: {score.signature}" for name, score in results[0].scores.items()]
    lines += [f"p {SHORT_TITLES[name]}: {each.signature}" for name, each in results[-1].differences.items()]
    return lines


def _seed_statistics(results: Sequence[SystemScores]) -> dict[Path, dict[str, tuple[float, float]]]:
    """Return mean and standard deviation of each score over the seeds of a folder."""
    groups: dict[Path, list[SystemScores]] = {}
    for each in results:
        if each.system.group is not None:
            groups.setdefault(each.system.group, []).append(each)
    rows = {}
    for group, members in groups.items():
        if len(members) > 1:
            columns = {name: [each.scores[name].score for each in members] for name in members[0].scores}
            rows[group] = {
                name: (statistics.fmean(values), statistics.stdev(values)) for name, values in columns.items()
            }
    return rows


def _as_dict(result: SystemScores) -> dict[str, Any]:
    key = "model" if result.system.is_model else "hypotheses"
    report: dict[str, Any] = {key: str(result.system.path)}
    if result.engine is not None:
        report |= result.engine._asdict()
    report["scores"] = {name: asdict(score) for name, score in result.scores.items()}
    if result.differences:
        report["against_first"] = {name: asdict(each) for name, each in result.differences.items()}
    return report

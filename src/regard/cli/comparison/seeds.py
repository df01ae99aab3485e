"""`regard train --seeds`: the same training with several seeds, and their scores side by side."""

import argparse
import shlex
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.output import command_name
from regard.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.training.loop import TrainingResult

MAX_SEED = 2**32 - 1


def parse_seeds(text: str) -> list[int]:
    """Parse the value of --seeds: numbers with commas between them."""
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a list of numbers, as in 1,2,3") from None
    if len(set(seeds)) < len(seeds) or min(seeds) < 0 or max(seeds) > MAX_SEED:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} must be different numbers from 0 to {MAX_SEED}")
    return seeds


def train_seeds(
    options: argparse.Namespace,
    console: "Console",
    train_run: "Callable[[argparse.Namespace, Console], TrainingResult]",
) -> dict[str, Any]:
    """Train one run per seed, one after the other, in OUT/seed-N; print their validation scores.

    Returns the results as a document. Finished runs are not trained again, so that the same command goes on
    after an interrupt.
    """
    from regard.checkpoint import CONFIG_FILE

    out: Path = options.out
    if options.seed is not None:
        raise ConfigError("--seed conflicts with --seeds; give one of them")
    if (out / CONFIG_FILE).is_file():
        raise ConfigError(f"{out} is a single run; choose another --out for the runs of --seeds")
    results = []
    for number, seed in enumerate(options.seeds, start=1):
        folder = seed_folder(out, seed)
        console.print(f"seed {seed} ({number} of {len(options.seeds)}): {folder}")
        result = train_run(argparse.Namespace(**{**vars(options), "out": folder, "seed": seed}), console)
        if result.stop_reason == "interrupt":
            console.print("  interrupted; the same command goes on")
            return {"out": str(out), "runs": describe_results(out, options.seeds, [*results, result])}
        results.append(result)
    for line in seed_table(options.seeds, [result.metrics for result in results]):
        console.print(line)
    if "bleu" in results[0].metrics and len(options.seeds) > 1:
        first, *others = (shlex.quote(str(seed_folder(out, seed))) for seed in options.seeds)
        ensemble = " ".join(f"--ensemble {folder}" for folder in others)
        console.print(
            f"\n  all of them as an ensemble: {command_name()} translate {first} {ensemble} < FILE\n"
            f"  on a test set: {command_name()} score {shlex.quote(str(out))} --source FILE --reference FILE"
        )
    runs = describe_results(out, options.seeds, results)
    return {"out": str(out), "runs": runs, "statistics": _statistics([each.metrics for each in results])}


def describe_result(out: Path, result: "TrainingResult") -> dict[str, Any]:
    """Return the result of a training as a document."""
    return {
        "out": str(out),
        "model": str(out / "model"),
        "step": result.step,
        "stop_reason": result.stop_reason,
        "metrics": dict(result.metrics),
    }


def describe_results(
    out: Path, seeds: Sequence[int], results: "Sequence[TrainingResult]"
) -> list[dict[str, Any]]:
    return [
        {"seed": seed, **describe_result(seed_folder(out, seed), result)}
        for seed, result in zip(seeds, results, strict=False)
    ]


def _statistics(metrics: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return mean and standard deviation of each score that all seeds have."""
    columns = {name: [each[name] for each in metrics] for name in _common_scores(metrics)}
    if len(metrics) < 2:
        return {}
    return {
        name: {"mean": statistics.fmean(values), "deviation": statistics.stdev(values)}
        for name, values in columns.items()
    }


def _common_scores(metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [name for name, value in metrics[0].items() if isinstance(value, int | float)]
    return [name for name in names if all(name in each for each in metrics)]


def seed_folder(out: Path, seed: int) -> Path:
    return out / f"seed-{seed}"


def seed_table(seeds: Sequence[int], metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the validation scores of each seed as lines, with mean and standard deviation."""
    names = _common_scores(metrics)
    rows = [
        (f"seed {seed}", [each[name] for name in names]) for seed, each in zip(seeds, metrics, strict=True)
    ]
    if len(seeds) > 1:
        columns = list(zip(*(values for _, values in rows), strict=True))
        rows.append(("mean", [statistics.fmean(column) for column in columns]))
        rows.append(("deviation", [statistics.stdev(column) for column in columns]))
    widths = [max(10, len(name) + 2) for name in names]
    head = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    return [
        f"\n  {'validation':<14}{head}",
        *(
            f"  {title:<14}"
            + "".join(f"{value:>{width}.4f}" for value, width in zip(values, widths, strict=True))
            for title, values in rows
        ),
    ]

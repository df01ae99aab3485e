"""What to type where files were given without the flags that say what they are."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

PAIR_SUFFIXES = (".tmx", ".xliff", ".xlf", ".po")
TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")


def corpus_advice(names: Sequence[str]) -> str:
    """Return how to name the files of a corpus to train and check."""
    if "=" in names[0]:
        return f"takes settings with a flag: --set {shlex.quote(names[0])}"
    if len(names) == 2:
        source, target = map(shlex.quote, names)
        return f"takes files with flags: --source {source} --target {target}"
    name, suffix = shlex.quote(names[0]), Path(names[0]).suffix.lower()
    if suffix in PAIR_SUFFIXES:
        return f"takes files with flags: --pairs {name}"
    if suffix in TABLE_SUFFIXES:
        return (
            f"takes files with flags: --pairs {name} for translations, --labelled {name} for labelled texts, "
            f"--series {name} for time series"
        )
    return f"takes files with flags: --source {name} --target FILE"


def reject_files_as_models(options: argparse.Namespace) -> None:
    """Raise a usage error where `regard score` gets files without flags."""
    files = [path for path in options.model if path.is_file()]
    if not files:
        return
    models = [str(path) for path in options.model if path not in files]
    names = [shlex.quote(str(path)) for path in files]
    if options.reference is not None:
        advice = " ".join(f"--hypotheses {name}" for name in names)
    elif models and len(files) == 1:
        advice = f"--labelled {names[0]} for a classifier, --series {names[0]} for a forecaster"
    elif models:
        advice = f"--source {names[0]} --reference {names[1]}"
    elif len(files) == 2:
        advice = f"--hypotheses {names[0]} --reference {names[1]}"
    else:
        advice = "--hypotheses FILE --reference FILE"
    command = " ".join(map(shlex.quote, ["regard", "score", *models]))
    options.parser.error(f"{files[0]} is a file, not a model; type {command} {advice}")

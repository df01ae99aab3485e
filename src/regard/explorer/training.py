"""What the Training page asks for: the rows of each run, and what it learns from."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from regard.errors import DataError
from regard.explorer import fields
from regard.explorer.history import DATA
from regard.explorer.reply import Reply, Request, Routes, reply
from regard.explorer.run import Run, run_of


def training_routes(runs: Sequence[Run]) -> Routes:
    """An address for each run."""
    return {f"/api/runs/{run.id}/metrics": {"GET": partial(_metrics, run)} for run in runs}


def compared(paths: Sequence[Path]) -> list[Run]:
    """The runs to compare the curves with."""
    runs = [run_of(path) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        if run is None:
            raise DataError(
                f"{path} is no run to compare with; give a folder that `regard train --out` wrote"
            )
    return [run for run in runs if run is not None]


def named(runs: Sequence[Run]) -> list[dict[str, object]]:
    """Each under its folder's name, or under its whole path where two folders have one name."""
    names = [run.name for run in runs]
    return [
        {"id": run.id, "name": run.name if names.count(run.name) == 1 else str(run.folder)} for run in runs
    ]


def _metrics(run: Run, request: Request) -> Reply:
    """The rows since the last time; the first time with what it learns from."""
    place = fields.whole(fields.numbers(request.query), "since", 0, 0, 10**9)
    return reply({**run.metrics.since(place), "data": None if place else _data(run.folder / DATA)})


def _data(path: Path) -> Mapping[str, object] | None:
    """As far as it is written down already: pairs, what was left out, lengths."""
    try:
        said = json.loads(path.read_bytes())
        train = {name: said["train"][name] for name in ("pairs", "left_out")}
        known = {name: said[name] for name in ("ratio", "pieces") if name in said}
        return {"train": train, "lengths": said["lengths"], **known}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None

"""A run folder as the explorer sees it: its checkpoints, its metrics, a sentence to begin with."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from html import unescape
from pathlib import Path

from regard.checkpoint import MANIFEST, WEIGHTS, checkpoints, find_model
from regard.errors import DataError
from regard.plots.history import DATA
from regard.server import request_fields
from regard.server.http_messages import Reply, Request, Routes, reply
from regard.server.metrics_tail import Metrics
from regard.train.loop import MEAN
from regard.train.model_card import CARD
from regard.train.run_folder import METRICS

SAMPLES = re.compile(r"^\| source \| reference \|.*\n\|[ |-]+\n\| (.*?) \| ", re.MULTILINE)


class Run:
    """A training, done or still going on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        self.id = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
        self.metrics = Metrics(folder / METRICS)

    def stops(self, weights: str) -> dict[str, object]:
        """The checkpoints that are there now, the earliest first, and what the model with these weights is.

        It is one of them, or their mean, or what the run has deleted or not written.
        """
        best = [row.get("step") for row in self.metrics.rows() if row.get("best") is True]
        found = [folder for folder in checkpoints(self.folder) if (folder / MANIFEST).is_file()]
        stops = [
            {"step": step, "best": best[-1:] == [step], "model": weights_of(folder) == weights}
            for folder, step in zip(found, map(step_of, found), strict=True)
        ]
        is_mean = not any(stop["model"] for stop in stops) and weights_of(self.folder / MEAN) == weights
        return {"checkpoints": stops, "mean": is_mean}

    @property
    def sample(self) -> str:
        """The first sentence that is watched, if any is."""
        for row in reversed(self.metrics.rows()):
            for sample in row.get("samples") or []:
                return str(sample.get("source", ""))
        return ""


def run_of(path: Path) -> Run | None:
    """The run that a path leads into: itself, or the one whose model or checkpoint it is."""
    for folder in (path, path.resolve().parent):
        if (folder / METRICS).is_file():
            return Run(folder)
    return None


def example(path: Path, run: Run | None) -> str:
    """A sentence of the kind that the model knows: one that was watched, or the first on its card."""
    if run is not None and run.sample:
        return run.sample
    card = find_model(path) / CARD
    found = SAMPLES.search(card.read_text("utf-8", "replace")) if card.is_file() else None
    return unescape(re.sub(r"\\(.)", r"\1", found[1])) if found else ""


def weights_of(folder: Path) -> str | None:
    """The SHA-256 that a folder gives its weights, as a model is known by; None: it cannot say."""
    try:
        return f"sha256:{json.loads((folder / MANIFEST).read_bytes())['files'][WEIGHTS]['sha256']}"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def step_of(folder: Path) -> int:
    """The step that a checkpoint's folder is named by."""
    return int(folder.name.removeprefix("step-"))


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
    place = request_fields.whole(request_fields.numbers(request.query), "since", 0, 0, 10**9)
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

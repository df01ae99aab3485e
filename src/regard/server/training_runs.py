"""A run folder as the explorer sees it: its checkpoints, its metrics, a sentence to begin with."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from html import unescape
from pathlib import Path

from regard.checkpoint import MANIFEST_FILE, WEIGHTS_FILE, find_model_folder, list_checkpoints
from regard.errors import DataError
from regard.plots.history import DATA_SUMMARY_FILE
from regard.server import request_fields
from regard.server.http_messages import ApiRequest, ApiResponse, RouteTable, json_response
from regard.server.metrics_tail import MetricsTail
from regard.train.logs.metrics_file import METRICS_FILE
from regard.train.loop import AVERAGED_FOLDER
from regard.train.model_card import CARD_FILE

CARD_SAMPLES = re.compile(r"^\| source \| reference \|.*\n\|[ |-]+\n\| (.*?) \| ", re.MULTILINE)


class TrainingRun:
    """A training, done or still going on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        self.id = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
        self.metrics = MetricsTail(folder / METRICS_FILE)

    def checkpoint_summary(self, model_id: str) -> dict[str, object]:
        """The checkpoints that are there now, the earliest first, and what the model with these weights is.

        It is one of them, or their mean, or what the run has deleted or not written.
        """
        best = [row.get("step") for row in self.metrics.rows() if row.get("best") is True]
        found = [folder for folder in list_checkpoints(self.folder) if (folder / MANIFEST_FILE).is_file()]
        stops = [
            {"step": step, "best": best[-1:] == [step], "model": read_weights_id(folder) == model_id}
            for folder, step in zip(found, map(checkpoint_step, found), strict=True)
        ]
        is_mean = (
            not any(stop["model"] for stop in stops)
            and read_weights_id(self.folder / AVERAGED_FOLDER) == model_id
        )
        return {"checkpoints": stops, "mean": is_mean}

    @property
    def sample_source(self) -> str:
        """The first sentence that is watched, if any is."""
        for row in reversed(self.metrics.rows()):
            for sample in row.get("samples") or []:
                return str(sample.get("source", ""))
        return ""


def find_training_run(path: Path) -> TrainingRun | None:
    """The run that a path leads into: itself, or the one whose model or checkpoint it is."""
    for folder in (path, path.resolve().parent):
        if (folder / METRICS_FILE).is_file():
            return TrainingRun(folder)
    return None


def find_example_text(path: Path, run: TrainingRun | None) -> str:
    """A sentence of the kind that the model knows: one that was watched, or the first on its card."""
    if run is not None and run.sample_source:
        return run.sample_source
    card = find_model_folder(path) / CARD_FILE
    found = CARD_SAMPLES.search(card.read_text("utf-8", "replace")) if card.is_file() else None
    return unescape(re.sub(r"\\(.)", r"\1", found[1])) if found else ""


def read_weights_id(folder: Path) -> str | None:
    """The SHA-256 that a folder gives its weights, as a model is known by; None: it cannot say."""
    try:
        return f"sha256:{json.loads((folder / MANIFEST_FILE).read_bytes())['files'][WEIGHTS_FILE]['sha256']}"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def checkpoint_step(folder: Path) -> int:
    """The step that a checkpoint's folder is named by."""
    return int(folder.name.removeprefix("step-"))


def training_routes(runs: Sequence[TrainingRun]) -> RouteTable:
    """An address for each run."""
    return {f"/api/runs/{run.id}/metrics": {"GET": partial(_metrics_response, run)} for run in runs}


def load_comparison_runs(paths: Sequence[Path]) -> list[TrainingRun]:
    """The runs to compare the curves with."""
    runs = [find_training_run(path) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        if run is None:
            raise DataError(
                f"{path} is no run to compare with; give a folder that `regard train --out` wrote"
            )
    return [run for run in runs if run is not None]


def list_run_names(runs: Sequence[TrainingRun]) -> list[dict[str, object]]:
    """Each under its folder's name, or under its whole path where two folders have one name."""
    names = [run.name for run in runs]
    return [
        {"id": run.id, "name": run.name if names.count(run.name) == 1 else str(run.folder)} for run in runs
    ]


def _metrics_response(run: TrainingRun, request: ApiRequest) -> ApiResponse:
    """The rows since the last time; the first time with what it learns from."""
    place = request_fields.parse_integer(
        request_fields.parse_query_numbers(request.query), "since", 0, 0, 10**9
    )
    return json_response(
        {
            **run.metrics.rows_since(place),
            "data": None if place else _read_data_summary(run.folder / DATA_SUMMARY_FILE),
        }
    )


def _read_data_summary(path: Path) -> Mapping[str, object] | None:
    """As far as it is written down already: pairs, what was left out, lengths."""
    try:
        said = json.loads(path.read_bytes())
        train = {name: said["train"][name] for name in ("pairs", "left_out")}
        known = {name: said[name] for name in ("ratio", "pieces") if name in said}
        return {"train": train, "lengths": said["lengths"], **known}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None

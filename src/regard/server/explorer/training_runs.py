"""Training runs in the explorer: checkpoints, metrics, example sentence, and their routes."""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from html import unescape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from regard.checkpoint import MANIFEST_FILE, WEIGHTS_FILE, find_model_folder, list_checkpoints
from regard.errors import DataError
from regard.plots.history import distinct_run_names, read_data_report
from regard.server.explorer.metrics_tail import MetricsTail, sendable
from regard.server.explorer.request_fields import parse_integer, parse_query_numbers
from regard.server.web.application import RouteTable
from regard.server.web.request_body import read_query
from regard.server.web.responses import json_response
from regard.training.logs.metrics_file import METRICS_FILE, find_metrics_folder
from regard.training.loop import AVERAGED_FOLDER
from regard.training.model_card import CARD_FILE

CARD_SAMPLES = re.compile(r"^\| source \| reference \|.*\n\|[ |-]+\n\| (.*?) \| ", re.MULTILINE)


class TrainingRun:
    """A run folder, of a finished training or one in progress."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        self.id = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
        self.metrics = MetricsTail(folder / METRICS_FILE)

    def checkpoint_summary(self, model_id: str) -> dict[str, object]:
        """Return the existing checkpoints, oldest first, and which of them the model is.

        The model may also be the average of checkpoints, or one that was deleted since.
        """
        best = [row.get("step") for row in self.metrics.rows() if row.get("best") is True]
        folders = [folder for folder in list_checkpoints(self.folder) if (folder / MANIFEST_FILE).is_file()]
        checkpoints = [
            {"step": step, "best": best[-1:] == [step], "model": read_weights_id(folder) == model_id}
            for folder, step in zip(folders, map(checkpoint_step, folders), strict=True)
        ]
        is_average = (
            not any(checkpoint["model"] for checkpoint in checkpoints)
            and read_weights_id(self.folder / AVERAGED_FOLDER) == model_id
        )
        return {"checkpoints": checkpoints, "mean": is_average}

    @property
    def sample_source(self) -> str:
        """The source of the first validation sample; empty if there is none."""
        for row in reversed(self.metrics.rows()):
            samples = row.get("samples")
            for sample in samples if isinstance(samples, list) else []:
                if isinstance(sample, Mapping) and isinstance(sample.get("source"), str):
                    return sample["source"]
        return ""


def find_training_run(path: Path) -> TrainingRun | None:
    """Return the run that a path leads to: itself, or the one of that model or checkpoint."""
    folder = find_metrics_folder(path)
    return None if folder is None else TrainingRun(folder)


def find_example_text(path: Path, run: TrainingRun | None) -> str:
    """Return a sentence like the training data: a validation sample, or the first on the model card."""
    if run is not None and run.sample_source:
        return run.sample_source
    card = find_model_folder(path) / CARD_FILE
    sample = CARD_SAMPLES.search(card.read_text("utf-8", "replace")) if card.is_file() else None
    return unescape(re.sub(r"\\(.)", r"\1", sample[1])) if sample else ""


def read_weights_id(folder: Path) -> str | None:
    """Return the model id (SHA-256 of the weights) from a folder's manifest; None without one."""
    try:
        return f"sha256:{json.loads((folder / MANIFEST_FILE).read_bytes())['files'][WEIGHTS_FILE]['sha256']}"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def checkpoint_step(folder: Path) -> int:
    """Return the step in the name of a checkpoint folder."""
    return int(folder.name.removeprefix("step-"))


def load_comparison_runs(paths: Sequence[Path]) -> list[TrainingRun]:
    """Return the runs whose curves are shown for comparison."""
    runs = [find_training_run(path) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        if run is None:
            raise DataError(
                f"{path} is not a run to compare with; give a folder that `regard train --out` wrote"
            )
    return [run for run in runs if run is not None]


def list_run_names(runs: Sequence[TrainingRun]) -> list[dict[str, object]]:
    """Return id and distinct name of each run."""
    names = distinct_run_names([run.folder for run in runs])
    return [{"id": run.id, "name": name} for run, name in zip(runs, names, strict=True)]


def training_routes(runs: Sequence[TrainingRun]) -> RouteTable:
    """Return one route per run."""
    return {f"/api/runs/{run.id}/metrics": {"GET": partial(_metrics_response, run)} for run in runs}


async def _metrics_response(run: TrainingRun, request: Request) -> Response:
    offset = parse_integer(parse_query_numbers(dict(read_query(request))), "since", 0, 0, 10**9)
    return json_response(await asyncio.to_thread(metrics_payload, run, offset))


def metrics_payload(run: TrainingRun, offset: int) -> dict[str, object]:
    """Return the rows since an offset; with the first rows also a summary of the training data."""
    data = None if offset else sendable(_summarize_data(read_data_report(run.folder)))
    return {**run.metrics.rows_since(offset), "data": data}


def _summarize_data(report: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return pairs, excluded pairs and lengths; None where the report has none of them yet."""
    train, lengths = report.get("train"), report.get("lengths")
    if not isinstance(train, Mapping) or not {"pairs", "left_out"} <= train.keys() or "lengths" not in report:
        return None
    optional = {name: report[name] for name in ("ratio", "vocabulary") if name in report}
    return {"train": {name: train[name] for name in ("pairs", "left_out")}, "lengths": lengths, **optional}

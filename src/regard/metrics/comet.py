"""COMET of the package unbabel-comet with a model folder, in a process of its own, without the network."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.metrics.compare import MetricComparison

WORKER = Path(__file__).with_name("comet_worker.py")
CHECKPOINT, SETTINGS = Path("checkpoints/model.ckpt"), Path("hparams.yaml")
BATCH_SIZE = 16
RESAMPLES, SEED = 1000, 12345
"""Those of sacreBLEU's paired bootstrap."""
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
INSTALL_HELP = (
    "install it in an environment of its own and name that (python -m venv comet; "
    "comet/bin/pip install unbabel-comet; --comet-python comet/bin/python)"
)


@dataclass(frozen=True)
class CometScore:
    """COMET of a test set: the mean over its sentences."""

    score: float
    signature: str
    """The model, the version of unbabel-comet, and which reference is used."""


class CometModel:
    """A COMET model, loaded in another process; a context manager that ends it."""

    def __init__(self, folder: Path, python: str | None = None, show_progress: bool = False) -> None:
        """Load the model; raise an error if the folder has none, or the Python no unbabel-comet."""
        self.folder = folder
        for name in (CHECKPOINT, SETTINGS):
            if not (folder / name).is_file():
                raise RegardError(
                    f"--comet {folder} has no {name}; give the folder of a COMET model such as wmt22-comet-da"
                )
        self.version = _find_package(python or sys.executable)
        self._show_progress = show_progress
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [python or sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if show_progress else self._messages,
            text=True,
            encoding="utf-8",
            env=_environment(),
        )
        self._ask(str((folder / CHECKPOINT).resolve()))

    def __enter__(self) -> "CometModel":
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()
        self._messages.close()

    def score_sentences(
        self,
        sources: Sequence[str],
        systems: Sequence[Sequence[str]],
        references: Sequence[str],
        device: str = "auto",
    ) -> list[list[float]]:
        """Return the score of each sentence of each system; this can be called once."""
        samples = [
            {"src": source, "mt": text, "ref": reference}
            for texts in systems
            for source, text, reference in zip(sources, texts, references, strict=True)
        ]
        scores = self._ask(
            {
                "samples": samples,
                "batch_size": BATCH_SIZE,
                "device": device,
                "show_progress": self._show_progress,
            }
        )
        step = len(sources)
        return [scores[start : start + step] for start in range(0, len(scores), step)]

    def summarize(self, sentence_scores: Sequence[float], reference_count: int) -> CometScore:
        """Return the score of a system from those of its sentences."""
        used = "refs:1" if reference_count == 1 else f"refs:first of {reference_count}"
        return CometScore(
            float(np.mean(sentence_scores)), f"comet:{self.name}|{used}|unbabel-comet:{self.version}"
        )

    def _ask(self, request: Any) -> Any:
        """Send a line to the process and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._messages.seek(0)
            lines = self._messages.read().decode("utf-8", "replace").strip().splitlines()
            self.__exit__()
            message = lines[-1][:300] if lines else f"exit code {self._process.returncode}"
            raise RegardError(f"COMET with {self.folder} failed: {message}")
        return json.loads(line)

    @property
    def name(self) -> str:
        """The name of the model: that of its repository if the folder is in the cache of Hugging Face."""
        path = self.folder.resolve()
        repository = path.parents[1].name if path.parent.name == "snapshots" else ""
        if repository.startswith("models--"):
            return f"{repository.removeprefix('models--').replace('--', '/')}@{path.name[:8]}"
        return path.name


def compare_comet(scores: Sequence[float], baseline: Sequence[float], signature: str) -> MetricComparison:
    """Compare the sentence scores of two systems by paired bootstrap resampling, as for the other metrics."""
    differences = np.array(scores) - np.array(baseline)
    rows = np.random.default_rng(SEED).choice(len(differences), (RESAMPLES, len(differences)))
    sampled = np.abs(differences[rows].mean(axis=1))
    difference = abs(float(differences.mean()))
    larger = int((sampled - sampled.mean() > difference).sum())
    p_value = 1.0 if difference == 0 else (larger + 1) / (RESAMPLES + 1)
    return MetricComparison(
        float(np.mean(scores)),
        float(np.mean(baseline)),
        p_value,
        f"{signature}|bs:{RESAMPLES}|seed:{SEED}",
    )


def _find_package(python: str) -> str:
    """Return the version of unbabel-comet that a Python has."""
    try:
        command = [python, str(WORKER), "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    except OSError as error:
        raise RegardError(f"--comet-python {python} cannot be run: {error.strerror}") from None
    if answer.returncode != 0:
        raise RegardError(f"--comet needs unbabel-comet, which {python} does not have; {INSTALL_HELP}")
    return answer.stdout.strip()


def _environment() -> dict[str, str]:
    return {**os.environ, **OFFLINE, "PYTHONIOENCODING": "utf-8", "TOKENIZERS_PARALLELISM": "false"}

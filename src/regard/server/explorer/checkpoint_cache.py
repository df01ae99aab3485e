"""Checkpoint cache: the explored model and the checkpoints of its run, two of them loaded at a time."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Generic, TypeVar

from regard.checkpoint import find_model_folder, list_checkpoints
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.server.explorer.training_runs import TrainingRun, checkpoint_step
from regard.server.web.responses import RequestError
from regard.text.tokenizer import Tokenizer
from regard.trace.model_facts import identify_model_folder
from regard.training.device import DeviceChoice, choose_device
from regard.translation.model_folder import load_translation_model
from regard.translation.tracing import Tracer
from regard.translation.translator import Translator
from regard.translation.unlike_training import read_calibration

LOADED_CHECKPOINTS = 2
ModelT = TypeVar("ModelT")


@dataclass(frozen=True)
class ExplorerModel:
    """A loaded translation model with its tracer and translator."""

    id: str
    transformer: Transformer
    tokenizer: Tokenizer
    tracer: Tracer
    translator: Translator

    @property
    def config(self) -> ModelConfig:
        return self.transformer.config


class CheckpointCache(Generic[ModelT]):
    """Loads models on demand. Not thread-safe: the request queue serialises the calls."""

    def __init__(self, path: Path, run: TrainingRun | None, load: Callable[[Path], ModelT]) -> None:
        """Load the model at `path`, so that an unreadable one fails at once."""
        self._folder, self._run, self._load = find_model_folder(path), run, load
        self._loaded: OrderedDict[int | None, ModelT] = OrderedDict()
        self.get(None)

    def get(self, step: int | None) -> ModelT:
        """Return the model itself, or its run's checkpoint of that step."""
        if step not in self._loaded:
            self._loaded[step] = self._load(self._folder if step is None else self._checkpoint(step))
            if len(self._loaded) > LOADED_CHECKPOINTS:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(step)
        return self._loaded[step]

    def _checkpoint(self, step: int) -> Path:
        for folder in list_checkpoints(self._run.folder) if self._run else ():
            if checkpoint_step(folder) == step:
                return folder
        raise RequestError(
            "no_checkpoint", f"checkpoint step {step:,} does not exist any more", HTTPStatus.NOT_FOUND
        )


def load_explorer_model(folder: Path, device: DeviceChoice) -> ExplorerModel:
    """Load a translation model, with its tracer and an eager translator."""
    loaded = load_translation_model(folder)
    transformer = loaded.transformer.to(choose_device(device))
    identity = identify_model_folder(folder, loaded.manifest)
    calibration = read_calibration(folder, loaded.manifest)
    return ExplorerModel(
        identity.id,
        transformer,
        loaded.tokenizer,
        Tracer(transformer, loaded.tokenizer, identity, calibration),
        Translator.from_model(transformer, loaded.tokenizer, calibration),
    )

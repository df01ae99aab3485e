"""The model that is looked into, and of a run its checkpoints: two of them stay loaded."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Generic, TypeVar

from regard.checkpoint import checkpoints, find_model
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.server.http_messages import RequestError
from regard.server.training_runs import Run, step_of
from regard.text.tokenizer import Tokenizer
from regard.trace.model_facts import identity_of_folder
from regard.train.device import Device, choose_device
from regard.translation.model_folder import load_model
from regard.translation.tracing import Tracer
from regard.translation.translator import Translator

LOADED = 2
Ready = TypeVar("Ready")


@dataclass(frozen=True)
class Model:
    """One of them, ready."""

    id: str
    transformer: Transformer
    tokenizer: Tokenizer
    tracer: Tracer
    translator: Translator

    @property
    def config(self) -> ModelConfig:
        return self.transformer.config


class Models(Generic[Ready]):
    """Loads what is asked for; not for two threads at once."""

    def __init__(self, path: Path, run: Run | None, load: Callable[[Path], Ready]) -> None:
        """`load` makes a model of a folder."""
        self._folder, self._run, self._load = find_model(path), run, load
        self._loaded: OrderedDict[int | None, Ready] = OrderedDict()
        self.model(None)  # what cannot be loaded is said at once

    def model(self, step: int | None) -> Ready:
        """The model itself, or its run's checkpoint of that step."""
        if step not in self._loaded:
            self._loaded[step] = self._load(self._folder if step is None else self._checkpoint(step))
            if len(self._loaded) > LOADED:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(step)
        return self._loaded[step]

    def _checkpoint(self, step: int) -> Path:
        for folder in checkpoints(self._run.folder) if self._run else ():
            if step_of(folder) == step:
                return folder
        raise RequestError(
            "no_checkpoint", f"there is no checkpoint of step {step:,} any more", HTTPStatus.NOT_FOUND
        )


def loaded(folder: Path, device: Device) -> Model:
    """The model of a folder that translates."""
    found = load_model(folder)
    transformer = found.transformer.to(choose_device(device))
    identity = identity_of_folder(folder, found.manifest)
    return Model(
        identity.id,
        transformer,
        found.tokenizer,
        Tracer(transformer, found.tokenizer, identity),
        Translator.of(transformer, found.tokenizer),
    )

"""Learner: what learning changes, and how it goes to a file and back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import CheckpointError
from regard.train.average import Ema
from regard.train.weights import copy_into

RAW = "raw"


@dataclass(frozen=True)
class Learner:
    """The weights, the optimizer's moments and the mean that trails the weights.

    The optimizer must be a fused one: its kernels heed `found_inf`, and leave everything as it was
    where that is 1.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    ema: Ema | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While entered, the model has the weights that are judged and saved: the mean, if there is one.

        Checkpoints are written and read in here, so that the mean's own place holds the raw weights.
        """
        if self.ema is None:
            yield
            return
        self.ema.swap()
        try:
            yield
        finally:
            self.ema.swap()

    def tensors(self) -> dict[str, Tensor]:
        """What the weights as shown do not say: moments and raw weights, as `name of the weight.what`."""
        found = {
            f"{name}.{kind}": value
            for name, parameter in self.model.named_parameters()
            for kind, value in self.optimizer.state[parameter].items()
            if isinstance(value, Tensor)
        }
        return found | {f"{name}.{RAW}": weight for name, weight in self._raw().items()}

    def restore(self, tensors: Mapping[str, Tensor], misfit: str) -> None:
        """Takes back what `tensors` gave; each must belong to a weight, and fit it, and none may be missing.

        They are copied: those of a file are the file itself, mapped into memory, and it is to be deleted.
        """
        parameters = dict(self.model.named_parameters())
        raw = {}
        for full, tensor in tensors.items():
            name, _, kind = full.rpartition(".")
            if name not in parameters or tensor.shape not in (parameters[name].shape, torch.Size()):
                raise CheckpointError(f"{misfit}: {full} belongs to no weight")
            if kind == RAW:
                raw[name] = tensor
            else:
                parameter = parameters[name]
                self.optimizer.state[parameter][kind] = tensor.to(parameter.device, copy=True)
        self._refuse_gaps(misfit)
        copy_into(self._raw(), raw, misfit)

    def _refuse_gaps(self, misfit: str) -> None:
        """A weight without the moments that others have would begin anew in the middle of a training."""
        state = self.optimizer.state
        kinds = {kind for parameter in self.model.parameters() for kind in state[parameter]}
        for name, parameter in self.model.named_parameters():
            if missing := kinds - state[parameter].keys():
                raise CheckpointError(f"{misfit}: {name}.{min(missing)} is missing")

    def _raw(self) -> dict[str, Tensor]:
        return {} if self.ema is None else self.ema.mean

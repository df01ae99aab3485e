"""What a Python caller adds to a training: callbacks, a model of their own, a loss of their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.training.callbacks import Callback
from regard.training.model_files import CUSTOM_LOSS, CUSTOM_MODEL

ModelT = TypeVar("ModelT", bound=nn.Module)


@dataclass(frozen=True)
class Customization:
    """Callbacks, model and loss of a training that are no settings."""

    callbacks: tuple[Callback, ...] = ()
    build_model: Callable[..., Any] | None = None
    """Builds the model from the arguments of the built-in class, a subclass of which it must return."""
    loss: Callable[[Tensor, Tensor], Tensor] | None = None
    """Returns the mean loss of outputs and targets, or one value for each target."""

    @property
    def manifest_entries(self) -> dict[str, str]:
        """Names of the custom model and loss, which a later process must be given again."""
        parts = {CUSTOM_MODEL: self.build_model, CUSTOM_LOSS: self.loss}
        return {key: describe_callable(part) for key, part in parts.items() if part is not None}

    def build(self, built_in: type[ModelT], *arguments: object) -> ModelT:
        """Return the model of these arguments: the built-in one, or that of the caller."""
        if self.build_model is None:
            return built_in(*arguments)
        return build_custom_model(self.build_model, built_in, *arguments)

    def loss_on(self, device: torch.device) -> Callable[[Tensor, Tensor], Tensor] | None:
        """Return the custom loss, its own tensors on the device."""
        return self.loss.to(device) if isinstance(self.loss, nn.Module) else self.loss

    def reject_other_parts(self, out: Path, manifest: Mapping[str, Any]) -> None:
        """Refuse to resume a run without the model and the loss that it was started with."""
        now = self.manifest_entries
        for key in (CUSTOM_MODEL, CUSTOM_LOSS):
            if key in manifest and key not in now:
                raise ConfigError(
                    f"{out} was started from Python with {key}={manifest[key]}; give it to regard.train again"
                )
            if key in now and key not in manifest:
                raise ConfigError(f"{out} was started without {key}; leave it out, or choose another --out")


NO_CUSTOMIZATION = Customization()


def build_custom_model(
    build_model: Callable[..., nn.Module], built_in: type[ModelT], *arguments: object
) -> ModelT:
    """Return the model of the caller's function; it must be of the built-in class, and savable."""
    model = build_model(*arguments)
    if not isinstance(model, built_in):
        raise ConfigError(
            f"build_model returned {type(model).__name__}; it must return a regard.{built_in.__name__}, "
            "a subclass of it or one with other layers"
        )
    buffers = model.state_dict().keys() & dict(model.named_buffers()).keys()
    if buffers:
        raise ConfigError(
            f"the model of build_model has the buffer {min(buffers)}, and only parameters are saved; "
            "register it with persistent=False if it can be computed again, or make it a parameter"
        )
    return model


def describe_callable(part: Any) -> str:
    """Return the name of a function or a class, or of the class of an object."""
    named = part if hasattr(part, "__qualname__") else type(part)
    return f"{named.__module__}.{named.__qualname__}"


def sum_custom_loss(loss: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the sum over the targets of a loss that returns their mean, or one value for each."""
    value = loss(outputs, targets)
    if isinstance(value, Tensor) and value.ndim == 0:
        return value * targets.numel()
    if isinstance(value, Tensor) and value.shape == targets.shape:
        return value.sum()
    shape = f"a tensor of shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
    raise ConfigError(
        f"loss returned {shape}; it must return the mean, as a tensor without dimensions, "
        f"or one value for each target, of shape {list(targets.shape)}"
    )

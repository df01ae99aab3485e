"""Reading and writing of weights as safetensors files."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from regard.checkpoint import WEIGHTS_FILE
from regard.errors import CheckpointError


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors by name. The writer of safetensors would hide the system's error on a full disk."""
    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None


def save_weights(folder: Path, model: nn.Module) -> None:
    save_tensors(folder / WEIGHTS_FILE, dict(model.named_parameters()))


@torch.no_grad()
def load_weights(folder: Path, model: nn.Module) -> None:
    """Load the weights of a model in place; names and shapes must be the same."""
    path = folder / WEIGHTS_FILE
    copy_tensors(dict(model.named_parameters()), load_tensors(path), f"{path} does not fit its config.toml")


@torch.no_grad()
def copy_tensors(destination: Mapping[str, Tensor], values: Mapping[str, Tensor], error_prefix: str) -> None:
    """Copy values into tensors of the same names and shapes."""
    if values.keys() != destination.keys():
        unmatched = sorted(values.keys() ^ destination.keys())
        raise CheckpointError(f"{error_prefix}: {unmatched[0]} is on one side only")
    for name, tensor in destination.items():
        if tensor.shape != values[name].shape:
            raise CheckpointError(
                f"{error_prefix}: {name} is {list(values[name].shape)}, not {list(tensor.shape)}"
            )
        tensor.copy_(values[name])

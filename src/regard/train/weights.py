"""Tensors by name in a file, and back into the model they belong to."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from regard.checkpoint import WEIGHTS
from regard.errors import CheckpointError


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """The library's own writer would hide what the system says of a full disk."""
    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None


def save_weights(folder: Path, model: nn.Module) -> None:
    save_tensors(folder / WEIGHTS, dict(model.named_parameters()))


@torch.no_grad()
def load_weights(folder: Path, model: nn.Module) -> None:
    """Into the tensors that are there, each of which must be in the file and have its shape."""
    path = folder / WEIGHTS
    copy_into(dict(model.named_parameters()), load_tensors(path), f"{path} does not fit its config.toml")


@torch.no_grad()
def copy_into(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor], misfit: str) -> None:
    """Values into tensors of the same name and shape."""
    if found.keys() != wanted.keys():
        odd = sorted(found.keys() ^ wanted.keys())
        raise CheckpointError(f"{misfit}: {odd[0]} is on one side only")
    for name, tensor in wanted.items():
        if tensor.shape != found[name].shape:
            raise CheckpointError(f"{misfit}: {name} is {list(found[name].shape)}, not {list(tensor.shape)}")
        tensor.copy_(found[name])

"""Reading and writing of weights as safetensors files; headers are checked before anything is allocated."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from regard.checkpoint import WEIGHTS_FILE
from regard.errors import CheckpointError
from regard.safetensors_file import check_weight_specs, read_tensor_specs


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors by name. The writer of safetensors would hide the system's error on a full disk."""
    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    read_tensor_specs(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None


def save_weights(folder: Path, model: nn.Module) -> None:
    save_tensors(folder / WEIGHTS_FILE, dict(model.named_parameters()))


@torch.no_grad()
def load_weights(folder: Path, model: nn.Module) -> None:
    """Load the weights of a model in place; names and shapes must be the same, and all values finite."""
    path, parameters = folder / WEIGHTS_FILE, dict(model.named_parameters())
    check_weight_specs(path, ((name, tuple(weight.shape)) for name, weight in parameters.items()))
    copy_tensors(parameters, load_tensors(path), f"{path} does not fit its config.toml")
    for name, weight in parameters.items():
        if not torch.stack(weight.aminmax()).isfinite().all():
            raise CheckpointError(f"{path} cannot be used: {name} has values that are not finite")


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

"""Device and precision of a training or translation, and peak memory."""

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import torch

from regard.config import check_ranges, setting
from regard.errors import ConfigError, require_setting

DeviceChoice = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "fp32", "bf16"]
CaptureChoice = Literal["auto", "yes", "no"]
PRECISION_NAMES: dict[torch.dtype, Precision] = {torch.float32: "fp32", torch.bfloat16: "bf16"}
MemoryChoice = Literal["auto", "any"]


@dataclass(frozen=True)
class ComputeConfig:
    """Device, precision, CUDA graphs and memory limit."""

    device: DeviceChoice = "auto"
    """auto: the GPU if there is one."""
    precision: Precision = "auto"
    """auto: bf16 where the hardware multiplies it natively, on a GPU or a recent CPU; else fp32."""
    capture: CaptureChoice = "auto"
    """Capture the training step as CUDA graphs and replay them. auto: on a GPU in bf16."""
    memory: MemoryChoice | float = setting("auto", can_change=True, at_most=1e6)
    """Memory limit of a step in GiB; larger batches are split. auto: the free memory. any: no limit."""

    def __post_init__(self) -> None:
        memory = self.memory
        positive = isinstance(memory, str) or 0 < memory < math.inf
        require_setting(positive, "compute.memory", memory, "it must be a number above 0, auto or any")
        check_ranges(self, "compute")


def choose_device(choice: DeviceChoice) -> torch.device:
    """Return the chosen device; auto is the GPU if there is one."""
    if choice == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device cuda cannot be used: torch finds no GPU here; choose cpu or auto")
    if choice == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(choice)


def choose_precision(choice: Precision, device: torch.device) -> torch.dtype:
    """Return the chosen precision; auto depends on the hardware alone, so that a resume chooses the same."""
    if choice == "auto":
        return torch.bfloat16 if _has_native_bf16(device) else torch.float32
    return torch.bfloat16 if choice == "bf16" else torch.float32


def _has_native_bf16(device: torch.device) -> bool:
    """Return whether the hardware multiplies bf16: nearly twice as fast as fp32; emulation is slower."""
    if device.type == "cuda":
        return True
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, check, bool)() for check in checks)


def autocast_to(precision: torch.dtype, device: torch.device) -> AbstractContextManager[object]:
    """Compute matrix products in `precision`; weights stay in fp32."""
    if precision == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, precision)


def matmul_dtype(x: torch.Tensor) -> torch.dtype:
    """Return the dtype of a matrix product with x: that of autocast, or its own."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def describe_device(device: torch.device) -> str:
    """Return the name of the GPU, or the number of CPU threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"cpu ({threads} thread{'s' if threads > 1 else ''})"


def peak_memory_mb() -> float:
    """Return the peak memory of the process so far: on the GPU if it is used, else in RAM."""
    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated() / 2**20
    if sys.platform == "win32":
        return 0.0
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def can_compile(device: torch.device) -> bool:
    """Return whether torch.compile pays on the device: it needs a GPU and triton."""
    return device.type == "cuda" and find_spec("triton") is not None


def can_capture_cuda_graphs(choice: CaptureChoice, device: torch.device, precision: torch.dtype) -> bool:
    """Return whether to capture steps as CUDA graphs, which are many times faster for small models."""
    is_possible = can_compile(device) and precision != torch.float32
    if choice == "yes" and not is_possible:
        raise ConfigError("compute.capture = yes cannot work; it needs a GPU, bf16 and triton")
    return is_possible and choice != "no"

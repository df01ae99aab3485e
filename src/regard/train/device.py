"""Which device computes, in which precision, and how much memory it has taken."""

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import torch

from regard.config import setting
from regard.errors import ConfigError, require_setting

DeviceChoice = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "fp32", "bf16"]
CaptureChoice = Literal["auto", "yes", "no"]
PRECISION_NAMES: dict[torch.dtype, Precision] = {torch.float32: "fp32", torch.bfloat16: "bf16"}
MemoryChoice = Literal["auto", "any"]


@dataclass(frozen=True)
class ComputeConfig:
    """Where to compute, and how exactly."""

    device: DeviceChoice = "auto"
    """auto: a GPU if there is one."""
    precision: Precision = "auto"
    """auto: bf16 where the hardware multiplies it, on a GPU or a newer CPU; else fp32."""
    capture: CaptureChoice = "auto"
    """Record a step as CUDA graphs and play it back. auto: on a GPU in bf16."""
    memory: MemoryChoice | float = setting("auto", can_change=True)
    """How much a step may take, in GiB; batches that do not fit are cut. auto: what is free. any: all."""

    def __post_init__(self) -> None:
        memory = self.memory
        positive = isinstance(memory, str) or 0 < memory < math.inf
        require_setting(positive, "compute.memory", memory, "it must be a number above 0, auto or any")


def choose_device(wanted: DeviceChoice) -> torch.device:
    """A GPU if there is one, unless told otherwise."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device cuda cannot be used: torch finds no GPU here; choose cpu or auto")
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(wanted)


def choose_precision(wanted: Precision, device: torch.device) -> torch.dtype:
    """bf16 where it pays, unless told otherwise; never by a stopwatch, so that a resume chooses alike."""
    if wanted == "auto":
        return torch.bfloat16 if _has_native_bf16(device) else torch.float32
    return torch.bfloat16 if wanted == "bf16" else torch.float32


def _has_native_bf16(device: torch.device) -> bool:
    """Whether the hardware does so itself: nearly twice as fast as fp32; emulated it is slower."""
    if device.type == "cuda":
        return True
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, check, bool)() for check in checks)


def autocast_to(precision: torch.dtype, device: torch.device) -> AbstractContextManager[object]:
    """Weights stay in fp32; products are computed in `precision`."""
    if precision == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, precision)


def matmul_dtype(x: torch.Tensor) -> torch.dtype:
    """What a product with x is computed in: what autocast says, or its own."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def describe_device(device: torch.device) -> str:
    """What it is, for people: the GPU's own name, or how many cores."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"cpu ({threads} thread{'s' if threads > 1 else ''})"


def peak_memory_mb() -> float:
    """The most that the training has held so far: of the GPU's memory, or else of the machine's."""
    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated() / 2**20
    if sys.platform == "win32":
        return 0.0
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def can_compile(device: torch.device) -> bool:
    """Whether torch's compiler has what it needs there to be worth the wait."""
    return device.type == "cuda" and find_spec("triton") is not None


def can_capture_cuda_graphs(wanted: CaptureChoice, device: torch.device, precision: torch.dtype) -> bool:
    """Whether steps can be recorded and played back, which is many times faster for small models."""
    possible = can_compile(device) and precision != torch.float32
    if wanted == "yes" and not possible:
        raise ConfigError("compute.capture = yes cannot work; it takes a GPU, bf16 and triton")
    return possible and wanted != "no"

"""Where the claims are measured (device, timer), and whether in full or as a quick test."""

import os
import time
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from regard.training.device import describe_device

Measurements = dict[str, Any]
"""The results of a claim, as JSON values."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class BenchmarkSetting:
    """The device and mode of all measurements."""

    device: torch.device
    quick: bool = False

    def pick(self, full: Value, quick: Value) -> Value:
        """Return the value for the current mode."""
        return quick if self.quick else full

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def seconds(self) -> float:
        """Return a timer in seconds: CPU time with one CPU thread, which other processes hardly affect."""
        single_thread = not self.on_gpu and torch.get_num_threads() == 1
        return time.process_time() if single_thread else time.perf_counter()

    def synchronize(self) -> None:
        """Wait until the GPU is idle."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)

    def hardware_info(self) -> dict[str, str]:
        """Return the device and the torch version, stored with the results."""
        name = describe_device(self.device)
        if not self.on_gpu:
            name += f", {_processor()}, {os.cpu_count()} cores, shared"
        return {"device": name, "torch": torch.__version__}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"

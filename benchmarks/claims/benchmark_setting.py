"""Setting: where the claims are measured, and whether for figures or for a smoke test."""

import os
import time
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from regard.train.device import describe_device

Measurements = dict[str, Any]
"""What a claim's measurement found, as JSON has it."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class BenchmarkSetting:
    """The same for every claim."""

    device: torch.device
    quick: bool = False

    def pick(self, full: Value, quick: Value) -> Value:
        return quick if self.quick else full

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def seconds(self) -> float:
        """Seconds: with one CPU thread the processor's own, which others on the machine hardly change."""
        alone = not self.on_gpu and torch.get_num_threads() == 1
        return time.process_time() if alone else time.perf_counter()

    def synchronize(self) -> None:
        """Until the device has done all it was asked."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)

    def hardware_info(self) -> dict[str, str]:
        """For whoever compares figures."""
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

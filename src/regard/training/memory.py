"""Free memory, and batches that make a training step fit into it."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.errors import ConfigError
from regard.training.device import MemoryChoice

GIB = 2**30
USABLE_SHARE = 0.8
"""Share of the free memory to use: the estimate is not exact, and other processes need memory, too."""


@dataclass(frozen=True)
class StepMemory:
    """Estimated memory of a training step."""

    fixed_bytes: int
    """Weights, gradients and optimizer state."""
    bytes_per_token: float
    """Per token of a batch, counted on its longer side."""

    def total_bytes(self, tokens: int) -> int:
        return self.fixed_bytes + int(tokens * self.bytes_per_token)


@dataclass(frozen=True)
class StepBatches:
    """The batches of one step."""

    tokens_per_batch: int
    count: int
    description: str
    """For the output before the training."""


def fit_batches_to_memory(
    step_memory: StepMemory, tokens: int, min_tokens: int, limit: MemoryChoice | float, device: torch.device
) -> StepBatches:
    """Split a step of about `tokens` tokens into as few batches as fit, of at least `min_tokens` each.

    `limit` is the memory in GiB, auto for the free memory, or any for no limit.
    """
    free = free_memory(device)
    memory = int(limit * GIB) if isinstance(limit, float) else free
    if limit == "any" or memory is None:
        return StepBatches(tokens, 1, _describe_estimate(step_memory.total_bytes(tokens), free))
    fitting = int((USABLE_SHARE * memory - step_memory.fixed_bytes) / step_memory.bytes_per_token)
    if fitting >= tokens:
        return StepBatches(tokens, 1, _describe_estimate(step_memory.total_bytes(tokens), free))
    if fitting < min(min_tokens, tokens):
        needed = step_memory.total_bytes(min(min_tokens, tokens))
        raise ConfigError(
            f"the model does not fit: training takes about {_gib(needed)} GiB, "
            f"and {USABLE_SHARE:.0%} of {_gib(memory)} may be used; choose a smaller --preset or "
            "model.vocab_size, or --memory any to try it anyway"
        )
    count = -(-tokens // fitting)
    tokens_per_batch = -(-tokens // count)
    whole, part = (step_memory.total_bytes(size) for size in (tokens, tokens_per_batch))
    return StepBatches(
        tokens_per_batch,
        count,
        f"about {_gib(whole)} GiB do not fit into {_gib(memory)}: {count} batches of "
        f"{tokens_per_batch:,} tokens make one step, in about {_gib(part)}",
    )


def describe_resumed_memory(step_memory: StepMemory, tokens: int, device: torch.device) -> str:
    """Describe the memory of a resumed run, which keeps its batches whatever memory is free now."""
    free, needed = free_memory(device), step_memory.total_bytes(tokens)
    description = _describe_estimate(needed, free)
    if free is None or needed <= free:
        return description
    return f"{description}, perhaps too little; a resumed run keeps its batches"


def _describe_estimate(needed: int, free: int | None) -> str:
    return f"about {_gib(needed)} GiB" + ("" if free is None else f" of {_gib(free)} free")


def _gib(size: int) -> str:
    return f"{size / GIB:.1f}"


def free_memory(device: torch.device) -> int | None:
    """Return the free bytes of the GPU, or of the machine and our control groups; None if unknown."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if sys.platform != "linux":
        return None
    return min(
        [
            available_memory(Path("/proc/meminfo")),
            *cgroup_free_memory(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")),
        ]
    )


def available_memory(meminfo: Path) -> int:
    """Return the bytes that Linux can allocate without swapping."""
    return 1024 * _read_key_values(meminfo)["MemAvailable:"]


def cgroup_free_memory(own: Path, root: Path) -> list[int]:
    """Return the free bytes of each control group of ours with a limit, as in containers and batch queues.

    Cached files count as free, since they can be read again.
    """
    free_bytes = []
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            names, top = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"), root / "memory"
        elif controllers == "":
            names, top = ("memory.max", "memory.current", ""), root
        else:
            continue
        own_group = top / path.lstrip("/")
        for group in (own_group, *own_group.parents):
            if group.is_relative_to(top) and (free := _free_memory_of_cgroup(group, *names)) is not None:
                free_bytes.append(free)
    return free_bytes


def _free_memory_of_cgroup(group: Path, limit: str, usage: str, prefix: str) -> int | None:
    """Return the free bytes of a group; None if it has no limit or does not exist."""
    try:
        limit_text = (group / limit).read_text().strip()
        used, statistics = int((group / usage).read_text()), _read_key_values(group / "memory.stat")
    except OSError:
        return None
    cached = statistics.get(f"{prefix}inactive_file", 0) + statistics.get(f"{prefix}active_file", 0)
    return None if limit_text == "max" else max(0, int(limit_text) - used + cached)


def _read_key_values(path: Path) -> dict[str, int]:
    return {
        fields[0]: int(fields[1]) for line in path.read_text().splitlines() if len(fields := line.split()) > 1
    }

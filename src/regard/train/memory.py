"""How much memory is free, and batches cut so that a step fits into it."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.errors import ConfigError
from regard.train.device import MemoryChoice

GIB = 2**30
USABLE_SHARE = 0.8
"""Of what is free: estimates err, and others on the machine take some too."""


@dataclass(frozen=True)
class StepMemory:
    """What a step takes, in bytes."""

    fixed_bytes: int
    """Weights and all that comes with them."""
    bytes_per_token: float
    """For each token of a batch, counted on its longer side."""

    def total_bytes(self, tokens: int) -> int:
        return self.fixed_bytes + int(tokens * self.bytes_per_token)


@dataclass(frozen=True)
class StepBatches:
    """The batches of one step."""

    tokens_per_batch: int
    count: int
    description: str
    """For the plan."""


def fit_batches_to_memory(
    step_memory: StepMemory, tokens: int, min_tokens: int, limit: MemoryChoice | float, device: torch.device
) -> StepBatches:
    """A step of about `tokens` tokens in as few batches as fit; none is cut below `least` tokens.

    `wanted` is auto, any, or the GiB there are.
    """
    free = free_memory(device)
    room = int(limit * GIB) if isinstance(limit, float) else free
    fit = (
        tokens
        if room is None
        else int((USABLE_SHARE * room - step_memory.fixed_bytes) / step_memory.bytes_per_token)
    )
    if limit == "any" or room is None or fit >= tokens:
        return StepBatches(tokens, 1, _describe_estimate(step_memory.total_bytes(tokens), free))
    if fit < min(min_tokens, tokens):
        raise ConfigError(
            f"the model does not fit: training takes about {_gib(step_memory.total_bytes(min(min_tokens, tokens)))} GiB, "
            f"and {USABLE_SHARE:.0%} of {_gib(room)} may be planned with; choose a smaller --preset or "
            "model.vocab_size, or --memory any to try all the same"
        )
    parts = -(-tokens // fit)
    each = -(-tokens // parts)
    return StepBatches(
        each,
        parts,
        f"about {_gib(step_memory.total_bytes(tokens))} GiB do not fit into {_gib(room)}: {parts} batches of "
        f"{each:,} tokens make one step, in about {_gib(step_memory.total_bytes(each))}",
    )


def describe_resumed_memory(step_memory: StepMemory, tokens: int, device: torch.device) -> str:
    """For the plan of a run that goes on: its batches stay as they are, whatever is free now."""
    free = free_memory(device)
    said, short = (
        _describe_estimate(step_memory.total_bytes(tokens), free),
        free is not None and step_memory.total_bytes(tokens) > free,
    )
    return f"{said}, too little perhaps; a run goes on as it was begun" if short else said


def _describe_estimate(need: int, free: int | None) -> str:
    return f"about {_gib(need)} GiB" + ("" if free is None else f" of {_gib(free)} free")


def _gib(size: int) -> str:
    return f"{size / GIB:.1f}"


def free_memory(device: torch.device) -> int | None:
    """Bytes that are free: of the GPU, or of the machine and the group we are in; None: unknown."""
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
    """What Linux says it can give without swapping."""
    return 1024 * _read_key_values(meminfo)["MemAvailable:"]


def cgroup_free_memory(own: Path, root: Path) -> list[int]:
    """What the control groups that we are in leave us, where they have a limit: containers, batch queues.

    Files that they hold in memory count as free, since they can be read again.
    """
    found = []
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            names, top = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"), root / "memory"
        elif controllers == "":
            names, top = ("memory.max", "memory.current", ""), root
        else:
            continue
        place = top / path.lstrip("/")
        for group in (place, *place.parents):
            if group.is_relative_to(top) and (free := _free_memory_of_cgroup(group, *names)) is not None:
                found.append(free)
    return found


def _free_memory_of_cgroup(group: Path, limit: str, usage: str, prefix: str) -> int | None:
    """None: there is no limit, or no such group."""
    try:
        most = (group / limit).read_text().strip()
        used, facts = int((group / usage).read_text()), _read_key_values(group / "memory.stat")
    except OSError:
        return None
    cached = facts.get(f"{prefix}inactive_file", 0) + facts.get(f"{prefix}active_file", 0)
    return None if most == "max" else max(0, int(most) - used + cached)


def _read_key_values(path: Path) -> dict[str, int]:
    return {
        fields[0]: int(fields[1]) for line in path.read_text().splitlines() if len(fields := line.split()) > 1
    }

import pytest
import torch

from regard.errors import ConfigError
from regard.training import memory
from regard.training.memory import (
    GIB,
    USABLE_SHARE,
    StepMemory,
    available_memory,
    cgroup_free_memory,
    describe_resumed_memory,
    fit_batches_to_memory,
    free_memory,
)

CPU = torch.device("cpu")
MEMORY = StepMemory(fixed_bytes=1 * GIB, bytes_per_token=GIB / 1000)


@pytest.fixture
def set_free_memory(monkeypatch):
    """A function that sets the free memory in GiB."""

    def set_gib(gib):
        monkeypatch.setattr(memory, "free_memory", lambda _: None if gib is None else int(gib * GIB))

    return set_gib


def test_a_step_that_fits_is_one_batch(set_free_memory):
    set_free_memory(10)
    batches = fit_batches_to_memory(MEMORY, 4000, 500, "auto", CPU)
    assert (batches.tokens_per_batch, batches.count) == (4000, 1)
    assert batches.description == "about 5.0 GiB of 10.0 free"


@pytest.mark.parametrize("free_gib", [2.0, 3.3, 5.0, 6.2])
def test_a_step_that_does_not_fit_is_split_into_as_few_batches_as_possible(set_free_memory, free_gib):
    set_free_memory(free_gib)
    batches = fit_batches_to_memory(MEMORY, 4000, 500, "auto", CPU)
    assert batches.count > 1
    assert 4000 <= batches.count * batches.tokens_per_batch < 4000 + batches.count
    assert (
        MEMORY.total_bytes(batches.tokens_per_batch)
        <= USABLE_SHARE * free_gib * GIB
        < MEMORY.total_bytes(-(-4000 // (batches.count - 1)))
    )
    assert (
        f"{batches.count} batches of {batches.tokens_per_batch:,} tokens make one step" in batches.description
    )


def test_a_model_that_does_not_fit_is_refused(set_free_memory):
    set_free_memory(1.5)
    with pytest.raises(
        ConfigError, match="does not fit: training takes about 1.5 GiB, and 80% of 1.5 "
    ) as error:
        fit_batches_to_memory(MEMORY, 4000, 500, "auto", CPU)
    assert "\n" not in str(error.value)


def test_a_memory_limit_in_gib_replaces_the_free_memory(set_free_memory):
    set_free_memory(100)
    assert fit_batches_to_memory(MEMORY, 4000, 500, 3.0, CPU).count == 3
    set_free_memory(1)
    assert fit_batches_to_memory(MEMORY, 4000, 500, 10.0, CPU).count == 1


def test_memory_any_splits_nothing(set_free_memory):
    set_free_memory(0.1)
    assert fit_batches_to_memory(MEMORY, 4000, 500, "any", CPU).count == 1


def test_nothing_is_split_where_free_memory_is_unknown(set_free_memory):
    set_free_memory(None)
    batches = fit_batches_to_memory(MEMORY, 4000, 500, "auto", CPU)
    assert (batches.count, batches.description) == (1, "about 5.0 GiB")


def test_a_resumed_run_is_warned_of_too_little_memory(set_free_memory):
    set_free_memory(10)
    assert describe_resumed_memory(MEMORY, 4000, CPU) == "about 5.0 GiB of 10.0 free"
    set_free_memory(2)
    assert describe_resumed_memory(MEMORY, 4000, CPU).endswith(
        "perhaps too little; a resumed run keeps its batches"
    )


def test_this_machine_has_some_memory_free():
    free_bytes = free_memory(CPU)
    assert free_bytes is None or 0 < free_bytes < 2**50


def test_available_memory_is_read_from_meminfo(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:  24684100 kB\nMemAvailable:   1000 kB\nHugePages_Total: 0\n")
    assert available_memory(tmp_path / "meminfo") == 1000 * 1024


def write_cgroup(folder, limit, usage, cached, names=("memory.max", "memory.current", "")):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"{names[2]}inactive_file {cached}\n{names[2]}active_file 1\n")


def test_parent_cgroups_may_have_a_limit(tmp_path):
    (tmp_path / "own").write_text("0::/user/job\n")
    write_cgroup(tmp_path / "root/user/job", "max", 500, 0)
    write_cgroup(tmp_path / "root/user", 1000, 700, 99)
    assert cgroup_free_memory(tmp_path / "own", tmp_path / "root") == [400]


def test_cgroups_v1_are_read(tmp_path):
    (tmp_path / "own").write_text("5:devices:/x\n4:cpu,memory:/job\n0::/\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
    write_cgroup(tmp_path / "root/memory/job", 1000, 1200, 9, names)
    assert cgroup_free_memory(tmp_path / "own", tmp_path / "root") == [0]


def test_a_missing_cgroup_has_no_limit(tmp_path):
    (tmp_path / "own").write_text("0::/elsewhere\n")
    assert cgroup_free_memory(tmp_path / "own", tmp_path / "root") == []

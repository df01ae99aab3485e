import pytest
import torch

from regard.errors import ConfigError
from regard.train import memory
from regard.train.memory import (
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
NEED = StepMemory(fixed_bytes=1 * GIB, bytes_per_token=GIB / 1000)


@pytest.fixture
def free(monkeypatch):
    """Sets how many GiB are free."""

    def set_free(gib):
        monkeypatch.setattr(memory, "free_memory", lambda _: None if gib is None else int(gib * GIB))

    return set_free


def test_what_fits_is_left_as_it_was_and_said(free):
    free(10)
    plan = fit_batches_to_memory(NEED, 4000, 500, "auto", CPU)
    assert (plan.tokens_per_batch, plan.count) == (4000, 1)
    assert plan.description == "about 5.0 GiB of 10.0 free"


@pytest.mark.parametrize("room", [2.0, 3.3, 5.0, 6.2])
def test_a_step_that_does_not_fit_is_cut_into_as_few_batches_as_do(free, room):
    free(room)
    plan = fit_batches_to_memory(NEED, 4000, 500, "auto", CPU)
    assert plan.count > 1
    assert 4000 <= plan.count * plan.tokens_per_batch < 4000 + plan.count
    assert (
        NEED.total_bytes(plan.tokens_per_batch)
        <= USABLE_SHARE * room * GIB
        < NEED.total_bytes(-(-4000 // (plan.count - 1)))
    )
    assert f"{plan.count} batches of {plan.tokens_per_batch:,} tokens make one step" in plan.description


def test_a_model_that_does_not_fit_at_all_is_refused_in_one_line(free):
    free(1.5)
    with pytest.raises(
        ConfigError, match="does not fit: training takes about 1.5 GiB, and 80% of 1.5 "
    ) as error:
        fit_batches_to_memory(NEED, 4000, 500, "auto", CPU)
    assert "\n" not in str(error.value)


def test_a_number_takes_the_place_of_what_is_free(free):
    free(100)
    assert fit_batches_to_memory(NEED, 4000, 500, 3.0, CPU).count == 3
    free(1)
    assert fit_batches_to_memory(NEED, 4000, 500, 10.0, CPU).count == 1


def test_any_cuts_nothing(free):
    free(0.1)
    assert fit_batches_to_memory(NEED, 4000, 500, "any", CPU).count == 1


def test_where_nobody_knows_what_is_free_nothing_is_cut(free):
    free(None)
    plan = fit_batches_to_memory(NEED, 4000, 500, "auto", CPU)
    assert (plan.count, plan.description) == (1, "about 5.0 GiB")


def test_a_run_that_goes_on_hears_that_there_may_be_too_little(free):
    free(10)
    assert describe_resumed_memory(NEED, 4000, CPU) == "about 5.0 GiB of 10.0 free"
    free(2)
    assert describe_resumed_memory(NEED, 4000, CPU).endswith(
        "too little perhaps; a run goes on as it was begun"
    )


def test_this_machine_has_some_memory_free():
    found = free_memory(CPU)
    assert found is None or 0 < found < 2**50


def test_what_linux_can_give_is_read(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:  24684100 kB\nMemAvailable:   1000 kB\nHugePages_Total: 0\n")
    assert available_memory(tmp_path / "meminfo") == 1000 * 1024


def group(folder, limit, usage, cached, names=("memory.max", "memory.current", "")):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"{names[2]}inactive_file {cached}\n{names[2]}active_file 1\n")


def test_every_group_above_us_may_have_a_limit(tmp_path):
    (tmp_path / "own").write_text("0::/user/job\n")
    group(tmp_path / "root/user/job", "max", 500, 0)
    group(tmp_path / "root/user", 1000, 700, 99)
    assert cgroup_free_memory(tmp_path / "own", tmp_path / "root") == [400]


def test_groups_of_the_first_version_are_read_too(tmp_path):
    (tmp_path / "own").write_text("5:devices:/x\n4:cpu,memory:/job\n0::/\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
    group(tmp_path / "root/memory/job", 1000, 1200, 9, names)
    assert cgroup_free_memory(tmp_path / "own", tmp_path / "root") == [0]


def test_a_group_that_is_not_there_limits_nothing(tmp_path):
    (tmp_path / "own").write_text("0::/elsewhere\n")
    assert cgroup_free_memory(tmp_path / "own", tmp_path / "root") == []

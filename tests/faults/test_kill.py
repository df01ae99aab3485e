"""T1: a run killed at any moment and resumed gives the same bits. T1m: this test detects lost state."""

import time
from random import Random

import pytest

from faults.toy_task import read_exact_losses, step_digests
from faults.training_process import MUTANTS, start_process, train_small_translation, write_phrasebook_files

pytestmark = pytest.mark.fault


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    start_process(write_phrasebook_files, folder).join(120)
    return folder


def finish(text, out, *arguments):
    process = start_process(train_small_translation, text, out, *arguments)
    process.join(120)
    assert process.exitcode == 0


def is_saving(out):
    return any(out.glob(".step-*.writing-*"))


def kill(process, out, random, mid_save):
    """Kill the process; return whether it was still training, and whether it was saving."""
    deadline = time.monotonic() + random.uniform(0.1, 0.6)
    while process.is_alive():
        if is_saving(out) if mid_save else time.monotonic() > deadline:
            process.kill()
            break
        time.sleep(0.0005)
    process.join(120)
    return process.exitcode == -9, is_saving(out)


def train_with_kills(text, out, steps, save_every, kills, mid_save):
    random, hits, in_saves = Random(1), 0, 0
    while hits < kills:
        process = start_process(train_small_translation, text, out, steps, save_every, "none", 0.004)
        hit, saving = kill(process, out, random, in_saves < mid_save)
        assert hit, f"the run ended after {hits} kills"
        hits, in_saves = hits + 1, in_saves + saving
    assert in_saves >= mid_save
    finish(text, out, steps, save_every)
    assert not is_saving(out)


def compare(text, tmp_path, steps, save_every, kills, mid_save):
    finish(text, tmp_path / "whole", steps, save_every)
    train_with_kills(text, tmp_path / "killed", steps, save_every, kills, mid_save)
    assert read_exact_losses(tmp_path / "killed") == read_exact_losses(tmp_path / "whole")
    assert len(read_exact_losses(tmp_path / "whole")) == steps
    assert step_digests(tmp_path / "killed", steps) == step_digests(tmp_path / "whole", steps)


def test_a_run_killed_a_few_times_has_the_same_bits(text, tmp_path):
    compare(text, tmp_path, steps=40, save_every=4, kills=4, mid_save=2)


@pytest.mark.slow
def test_a_run_killed_28_times_has_the_same_bits(text, tmp_path):
    compare(text, tmp_path, steps=400, save_every=10, kills=28, mid_save=14)


@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_state_lost_on_resume_is_detected(text, tmp_path, mutant):
    """Kill once, in the middle; only the run that restores everything ends with the same bits."""
    for name in ("whole", "killed"):
        process = start_process(train_small_translation, text, tmp_path / name, 16, 4, mutant, 0.004)
        if name == "killed":
            while not (tmp_path / name / "step-000008").exists():
                time.sleep(0.0005)
            process.kill()
        process.join(120)
    finish(text, tmp_path / "killed", 16, 4, mutant)
    is_same = read_exact_losses(tmp_path / "whole") == read_exact_losses(tmp_path / "killed")
    assert is_same == (mutant == "none")
    assert (step_digests(tmp_path / "whole", 16) == step_digests(tmp_path / "killed", 16)) == is_same

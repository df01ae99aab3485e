import argparse
from dataclasses import replace

import pytest
import torch
from rich.console import Console

from regard.api.run_settings import resolve_settings
from regard.cli.args.train_args import add_train_arguments, read_training_request
from regard.data.config import DataConfig
from regard.model.config import BASE, BIG, SMALL, TINY, ModelConfig
from regard.training.device import ComputeConfig
from regard.training.memory import USABLE_SHARE, fit_batches_to_memory
from regard.translation.autoconfig import (
    autoconfigure_translation,
    choose_translation_settings,
    with_device_batch_tokens,
)
from regard.translation.memory_estimate import estimate_translation_step_memory
from regard.translation.run import TranslationRun

QUIET = Console(quiet=True)


@pytest.fixture
def fake_gpu(monkeypatch):
    monkeypatch.setattr("regard.translation.autoconfig.choose_device", lambda _: torch.device("cuda"))


def test_more_text_gets_a_larger_model_and_fewer_epochs():
    sizes = [
        choose_translation_settings(pairs, pairs * 15, uses_gpu=True)
        for pairs in (1_000, 29_000, 150_000, 1_000_000, 5_000_000)
    ]
    widths = [auto.run.model.d_model for auto in sizes]
    vocabularies = [auto.run.model.vocab_size for auto in sizes]
    assert widths == sorted(widths) == [128, 128, 256, 512, 512]
    assert vocabularies == sorted(vocabularies)
    dropouts = [auto.run.model.dropout for auto in sizes]
    assert dropouts[-1] == 0.1  # the paper's value for a large corpus


def test_training_on_a_cpu_is_limited_to_an_hour_or_two():
    for pairs in (29_000, 1_000_000, 100_000_000):
        run = choose_translation_settings(pairs, pairs * 15, uses_gpu=False).run
        assert run.model.d_model <= 256
        assert run.train.steps * run.data.batch_tokens <= 26e6
        assert run.loss.rdrop == 0


@pytest.mark.parametrize("tokens", [0, 10, 5_000])
def test_a_tiny_corpus_gets_small_batches_and_enough_steps(tokens):
    run = choose_translation_settings(10, tokens, uses_gpu=True).run
    assert run.data.batch_tokens == 512
    assert run.train.steps >= 1000


@pytest.mark.parametrize("steps", [1, 7, 2000])
def test_warmup_and_cooldown_follow_the_requested_steps(steps):
    run = choose_translation_settings(29_000, 400_000, uses_gpu=False, steps=steps).run
    assert run.train.steps == steps
    assert run.optimizer.warmup <= max(1, steps // 5)
    assert run.optimizer.cooldown <= max(1, steps // 2)


def write_corpus(tmp_path, repeat=1) -> DataConfig:
    source, target, both = tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "b.tsv"
    source.write_text("one two\n" * 10 * repeat)
    target.write_text("un deux\n" * 10 * repeat)
    both.write_text("one\tun\n" * 5 * repeat)
    return DataConfig(
        source=(str(source),), target=(str(target),), pairs=(str(both),), cache=str(tmp_path / "cache")
    )


def test_the_explanation_states_corpus_size_device_and_model(tmp_path):
    run = TranslationRun(data=write_corpus(tmp_path), compute=ComputeConfig(device="cpu"))
    auto = autoconfigure_translation(run, None, QUIET)
    assert auto.explain(auto.run).startswith("15 pairs, about 19 target tokens, on a CPU: a tiny model, ")


def test_the_explanation_counts_the_epochs_of_the_final_run():
    auto = choose_translation_settings(1000, 10_000, uses_gpu=False)
    run = replace(auto.run, data=replace(auto.run.data, batch_tokens=300))
    run = replace(run, train=replace(run.train, steps=20, accumulate=2))
    assert auto.explain(run).endswith(" a tiny model, 1.2 epochs")


@pytest.mark.usefixtures("fake_gpu")
def test_rdrop_is_off_without_dropout(tmp_path):
    run = TranslationRun(data=write_corpus(tmp_path))
    assert autoconfigure_translation(run, None, QUIET).run.loss.rdrop > 0
    without = replace(run, model=replace(run.model, dropout=0.0))
    assert autoconfigure_translation(without, None, QUIET).run.loss.rdrop == 0


@pytest.mark.usefixtures("fake_gpu")
@pytest.mark.parametrize(
    ("model", "tokens"),
    [(BASE, 25_000), (BIG, 25_000), (SMALL, 8192), (TINY, 8192), (ModelConfig(d_model=64), 4096)],
)
def test_on_a_gpu_the_token_budget_follows_the_model_that_was_chosen(tmp_path, model, tokens):
    run = TranslationRun(model=model, data=write_corpus(tmp_path, repeat=60_000))
    assert with_device_batch_tokens(run, QUIET).data.batch_tokens == tokens


@pytest.mark.usefixtures("fake_gpu")
def test_a_small_corpus_keeps_the_default_token_budget_on_a_gpu(tmp_path):
    run = TranslationRun(model=BASE, data=write_corpus(tmp_path))
    assert with_device_batch_tokens(run, QUIET) == run


def test_a_cpu_keeps_the_default_token_budget(tmp_path):
    data = write_corpus(tmp_path, repeat=1000)
    run = TranslationRun(model=BASE, data=data, compute=ComputeConfig(device="cpu"))
    assert with_device_batch_tokens(run, QUIET) == run


def test_requested_epochs_decide_the_steps():
    run = choose_translation_settings(29_000, 400_000, uses_gpu=False, epochs=3.0).run
    assert run.train.steps == round(3 * 400_000 / run.data.batch_tokens)
    assert (run.optimizer.warmup, run.optimizer.cooldown) == (run.train.steps // 5, run.train.steps // 2)


@pytest.fixture
def resolve(tmp_path):
    """Resolve the settings of `regard train` with these flags."""
    data = write_corpus(tmp_path, repeat=80_000)
    files = ["--source", *data.source, "--target", *data.target, "--set", f"data.cache={data.cache}"]

    def resolve_flags(*flags, run_folder=None):
        parser = argparse.ArgumentParser()
        add_train_arguments(parser)
        request = read_training_request(parser.parse_args([*files, *flags]))
        return resolve_settings(request, QUIET, run_folder)

    return resolve_flags


@pytest.mark.usefixtures("fake_gpu")
@pytest.mark.parametrize(
    ("flags", "tokens"),
    [
        (["--preset", "base"], 25_000),
        (["--set", "model.d_model=256"], 8192),
        (["--preset", "base", "--set", "data.batch_tokens=1000"], 1000),
        (["--recipe", "paper"], 25_000),
    ],
)
def test_the_token_budget_follows_the_gpu_unless_it_is_set(resolve, flags, tokens):
    assert resolve(*flags).data.batch_tokens == tokens


@pytest.mark.usefixtures("fake_gpu")
def test_a_run_that_was_started_on_a_cpu_keeps_its_token_budget_on_a_gpu(resolve, tmp_path):
    (tmp_path / "config.toml").write_text("[data]\nbatch_tokens = 4096\n")
    assert resolve("--preset", "base", run_folder=tmp_path).data.batch_tokens == 4096


def test_a_preset_on_a_cpu_has_the_default_token_budget(resolve):
    flags = ("--preset", "base", "--set", "compute.device=cpu")
    assert resolve(*flags).data.batch_tokens == DataConfig().batch_tokens


@pytest.mark.usefixtures("fake_gpu")
def test_a_token_budget_that_does_not_fit_into_memory_is_split(resolve, monkeypatch):
    run = resolve("--preset", "base")
    gpu = torch.device("cuda")
    memory = estimate_translation_step_memory(
        run.model,
        run.loss,
        has_ema=False,
        device=gpu,
        precision=torch.bfloat16,
        is_captured=True,
        sentence_length=27.0,
        batch_tokens=run.data.batch_tokens,
    )
    batches = []
    for share in (1.01, 0.7):
        free = int(memory.total_bytes(run.data.batch_tokens) * share / USABLE_SHARE)
        monkeypatch.setattr("regard.training.memory.free_memory", lambda _, free=free: free)
        batches.append(
            fit_batches_to_memory(memory, run.data.batch_tokens, run.model.max_length, "auto", gpu)
        )
    large, small = batches
    assert (large.tokens_per_batch, large.count) == (25_000, 1)
    assert small.count > 1
    assert small.count * small.tokens_per_batch >= 25_000


@pytest.mark.parametrize(
    ("limits", "batch_tokens", "dropout"),
    [
        ({}, 4096, 0.2),
        ({"core_minutes": 1.0}, 512, 0.0),
        ({"core_minutes": 3.0}, 600, 0.0),
        ({"core_minutes": 6.0}, 1200, 0.2),  # more than five epochs
        ({"core_minutes": 60.0}, 4096, 0.2),
        ({"epochs": 3.0}, 600, 0.0),
        ({"epochs": 30.0}, 4096, 0.2),
        ({"epochs": 30.0, "core_minutes": 3.0}, 600, 0.0),
        ({"steps": 300}, 4096, 0.0),  # steps are of full batches
        ({"steps": 3000}, 4096, 0.2),
    ],
)
def test_a_training_limited_to_little_text_gets_small_batches_and_no_dropout(limits, batch_tokens, dropout):
    run = choose_translation_settings(29_000, 400_000, uses_gpu=False, **limits).run
    assert (run.data.batch_tokens, run.model.dropout) == (batch_tokens, dropout)


def test_a_short_training_on_a_gpu_has_no_rdrop_since_it_has_no_dropout():
    assert choose_translation_settings(29_000, 400_000, uses_gpu=True).run.loss.rdrop > 0
    run = choose_translation_settings(29_000, 400_000, uses_gpu=True, epochs=1.0).run
    assert (run.loss.rdrop, run.model.dropout) == (0.0, 0.0)


@pytest.mark.parametrize(("tokens", "full_steps"), [(400_000, 6000), (5_000, 1000)])
def test_the_peak_falls_with_the_root_of_a_shorter_warmup(tokens, full_steps):
    full = choose_translation_settings(29_000, tokens, uses_gpu=False).run
    assert full.train.steps == full_steps
    for steps in (full_steps // 20, full_steps, 2 * full_steps):
        optimizer = choose_translation_settings(29_000, tokens, uses_gpu=False, steps=steps).run.optimizer
        share = min(1.0, optimizer.warmup / full.optimizer.warmup)
        assert optimizer.peak == pytest.approx(0.005 * share**0.5)


def test_the_time_of_all_threads_decides_the_batches(tmp_path, monkeypatch):
    run = TranslationRun(data=write_corpus(tmp_path, repeat=20_000), compute=ComputeConfig(device="cpu"))
    run = replace(run, train=replace(run.train, minutes=4.0))
    for threads, batch_tokens in ((1, 800), (2, 1600)):
        monkeypatch.setattr("regard.translation.autoconfig.torch.get_num_threads", lambda n=threads: n)
        assert autoconfigure_translation(run, None, QUIET).run.data.batch_tokens == batch_tokens

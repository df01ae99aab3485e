from dataclasses import fields, replace

import pytest
from rich.console import Console

from regard.data.config import DataConfig
from regard.model.config import ModelConfig
from regard.train.device import ComputeConfig
from regard.translation import autoconfig as planning
from regard.translation.autoconfig import (
    TRANSLATION_AUTO_SETTINGS,
    autoconfigure_translation,
    choose_translation_settings,
    select_translation_auto_settings,
)
from regard.translation.run import TranslationRun

QUIET = Console(quiet=True)


def test_more_text_gets_a_larger_model_and_fewer_epochs():
    sizes = [
        choose_translation_settings(pairs, pairs * 15, uses_gpu=True)
        for pairs in (1_000, 29_000, 150_000, 1_000_000, 5_000_000)
    ]
    widths = [found.run.model.d_model for found in sizes]
    pieces = [found.run.model.vocab_size for found in sizes]
    assert widths == sorted(widths) == [128, 128, 256, 512, 512]
    assert pieces == sorted(pieces)
    dropouts = [found.run.model.dropout for found in sizes]
    assert dropouts[-1] == 0.1  # the paper's, where text is plenty


def test_a_cpu_gets_no_more_than_it_can_do_in_an_hour_or_two():
    for pairs in (29_000, 1_000_000, 100_000_000):
        run = choose_translation_settings(pairs, pairs * 15, uses_gpu=False).run
        assert run.model.d_model <= 256
        assert run.train.steps * run.data.batch_tokens <= 26e6
        assert run.loss.rdrop == 0


@pytest.mark.parametrize("tokens", [0, 10, 5_000])
def test_a_handful_of_pairs_gets_small_batches_and_enough_steps(tokens):
    run = choose_translation_settings(10, tokens, uses_gpu=True).run
    assert run.data.batch_tokens == 512
    assert run.train.steps >= 1000


@pytest.mark.parametrize("steps", [1, 7, 2000])
def test_rates_and_saves_follow_the_steps_that_were_asked_for(steps):
    run = choose_translation_settings(29_000, 400_000, uses_gpu=False, steps=steps).run
    assert run.train.steps == steps
    assert run.optimizer.warmup <= max(1, steps // 5)
    assert run.optimizer.cooldown <= max(1, steps // 2)


def two_files(tmp_path) -> DataConfig:
    source, target, both = tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "b.tsv"
    source.write_text("one two\n" * 10)
    target.write_text("un deux\n" * 10)
    both.write_text("one\tun\n" * 5)
    return DataConfig(
        source=(str(source),), target=(str(target),), pairs=(str(both),), cache=str(tmp_path / "cache")
    )


def test_the_files_are_measured_and_the_reason_is_said(tmp_path):
    asked = TranslationRun(data=two_files(tmp_path), compute=ComputeConfig(device="cpu"))
    found = autoconfigure_translation(asked, None, QUIET)
    assert found.explain(found.run).startswith("15 pairs, about 19 target tokens, on a CPU: a tiny model, ")


def test_the_reason_counts_the_epochs_of_the_run_that_comes_of_it():
    found = choose_translation_settings(1000, 10_000, uses_gpu=False)
    asked = replace(found.run, data=replace(found.run.data, batch_tokens=300))
    asked = replace(asked, train=replace(asked.train, steps=20, accumulate=2))
    assert found.explain(asked).endswith(" a tiny model, 1.2 epochs")


def test_without_dropout_no_two_passes_are_planned_to_agree(tmp_path, monkeypatch):
    class Gpu:
        type = "cuda"

    monkeypatch.setattr(planning, "choose_device", lambda _: Gpu)
    asked = TranslationRun(data=two_files(tmp_path))
    assert autoconfigure_translation(asked, None, QUIET).run.loss.rdrop > 0
    without = replace(asked, model=replace(asked.model, dropout=0.0))
    assert autoconfigure_translation(without, None, QUIET).run.loss.rdrop == 0


def test_what_a_plan_decides_is_all_in_which_two_plans_differ():
    runs = [
        choose_translation_settings(tokens, tokens, gpu).run
        for tokens in (1_000, 10**6, 10**9)
        for gpu in (False, True)
    ]
    differ = {
        (section.name, key.name)
        for section in fields(TranslationRun)
        for key in fields(getattr(runs[0], section.name))
        if len({repr(getattr(getattr(run, section.name), key.name)) for run in runs}) > 1
    }
    listed = {(section, name) for section, names in TRANSLATION_AUTO_SETTINGS.items() for name in names}
    assert differ <= listed | {("model", field.name) for field in fields(ModelConfig)}
    settings = {"model": {"heads": 4}, "train": {"steps": 7, "seed": 3}, "data": {"source": ["a"]}}
    kept = select_translation_auto_settings(settings)
    assert (kept["model"], kept["train"], kept["data"]) == ({"heads": 4}, {"steps": 7}, {})

from dataclasses import replace

import pytest

from regard.config import apply_settings
from regard.model.config import BASE, BIG
from regard.training.optimizer import learning_rate
from regard.translation import paper_recipe
from regard.translation.paper_recipe import (
    PAPER_BASE_SETTINGS,
    PAPER_BIG_SETTINGS,
    PAPER_SECTIONS,
    build_paper_run,
    compare_with_paper,
)
from regard.translation.run import TranslationRun

CHANGES = {
    "model.norm": "pre",
    "model.heads": 4,
    "model.d_k": 32,
    "model.tied": "none",
    "model.dropout": 0.3,
    "data.batch_tokens": 4096,
    "data.bpe_dropout": 0.1,
    "optimizer.peak": 0.001,
    "optimizer.weight_decay": 0.01,
    "train.clip": 1.0,
    "train.ema": 0.999,
    "loss.rdrop": 1.0,
    "loss.label_smoothing": 0.0,
    "train.steps": 7,
    "start.model": "runs/old",
}


@pytest.mark.parametrize("size", ["base", "big"])
def test_the_paper_run_has_no_deviations(size):
    comparison = compare_with_paper(build_paper_run(size))
    assert comparison.size == size
    assert comparison.deviations == []


def test_the_paper_runs_have_the_models_of_table_3():
    assert build_paper_run("base").model == replace(BASE, d_k=64)
    assert build_paper_run("big").model == replace(BIG, d_k=64)
    run = build_paper_run("base")
    assert learning_rate(4000, 100_000, 512, run.optimizer) == pytest.approx((512 * 4000) ** -0.5)
    assert (run.train.steps, build_paper_run("big").train.steps) == (100_000, 300_000)


@pytest.mark.parametrize(("setting", "value"), CHANGES.items())
def test_a_changed_setting_is_one_deviation(setting, value):
    section, _, key = setting.partition(".")
    (row,) = compare_with_paper(apply_settings(build_paper_run("base"), {section: {key: value}})).deviations
    (paper,) = (each for each in PAPER_BASE_SETTINGS if each.setting == setting)
    assert (row.setting, row.section, row.run_value) == (setting, paper.section, str(value))
    assert row.paper_value == paper.wording or row.paper_value == str(paper.value)


def test_every_setting_has_a_section_of_the_paper():
    assert {each.section for each in (*PAPER_BASE_SETTINGS, *PAPER_BIG_SETTINGS)} <= PAPER_SECTIONS.keys()


def test_settings_of_the_big_model_are_settings_of_the_base_model():
    named = [each.setting for each in PAPER_BASE_SETTINGS]
    assert len(named) == len(set(named))
    assert {each.setting for each in PAPER_BIG_SETTINGS} <= set(named)


def test_every_setting_of_a_run_is_in_one_of_the_lists():
    """A new setting is listed as unspecified until it is compared with the paper."""
    run = build_paper_run("base")
    comparison = compare_with_paper(run)
    listed = {each.setting for each in PAPER_BASE_SETTINGS} | {name for name, _ in comparison.unspecified}
    missing = [name for name in paper_recipe._effective_settings(run) if name not in listed]
    assert all(name.partition(".")[2] in paper_recipe.SETTINGS_OUTSIDE_PAPER for name in missing)
    assert "model.max_length" in listed
    assert "train.seed" in listed


def test_search_settings_of_the_paper_are_not_settings_of_a_run():
    others = {each.setting: each.value for each in compare_with_paper(TranslationRun()).not_run_settings}
    assert others["search.beam"] == 4
    assert others["search.alpha"] == 0.6


def test_accumulated_batches_count_as_one(monkeypatch):
    run = apply_settings(build_paper_run("base"), {"data": {"batch_tokens": 5000}})
    values = dict(paper_recipe._flatten_settings(run)) | {"train.accumulate": 5}
    monkeypatch.setattr(paper_recipe, "_flatten_settings", lambda _: values.items())
    assert compare_with_paper(run).deviations == []

"""Every setting of every task, written to a run file and read back: the same value of the same type."""

from dataclasses import fields, replace
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import pytest

import regard
from regard.classification.run import ClassificationRun
from regard.config import apply_settings, read_settings, to_toml
from regard.errors import CheckpointError, ConfigError
from regard.forecasting.run import ForecastingRun
from regard.model.transformer_classifier import ClassifierConfig
from regard.model.transformer_forecaster import ForecasterConfig
from regard.training.setup import replace_sections
from regard.translation.run import TranslationRun

RUNS = [TranslationRun(), ClassificationRun(), ForecastingRun()]
PARTNERS = {
    "texts": {"labels": ("a", "b")},
    "labels": {"texts": ("a", "b")},
    "valid_source": {"valid_target": "b"},
    "valid_target": {"valid_source": "b"},
    "valid_texts": {"valid_labels": "b"},
    "valid_labels": {"valid_texts": "b"},
    "source": {"target": ("a", "b")},
    "target": {"source": ("a", "b")},
    "bpe_dropout": {"tokenizer": "bpe"},
    "history": {"patch": 2, "stride": 2, "horizon": 2},
    "patch": {"stride": 2, "history": 16, "horizon": 16},
}
"""Settings that must be given together."""


def other_values(expected, value):
    """Yield valid-looking values of a setting's type, `none` among them."""
    options = get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)
    for option in options:
        if option is NoneType:
            yield None
        elif get_origin(option) is Literal:
            yield from get_args(option)
        elif get_origin(option) is tuple:
            yield from ((), {str: ("a", "b"), float: (0.25, 0.5, 0.125), int: (1, 2)}[get_args(option)[0]])
        elif option is bool:
            yield not value
        else:
            yield from {int: (2, 16), float: (0.125, 2.0), str: ("none", "word")}[option]


def changed_runs(run):
    """Yield `section.key` and the run with one other value of it, where that value is accepted."""
    for section in fields(run):
        settings = getattr(run, section.name)
        types = get_type_hints(type(settings))
        for key in fields(settings):
            for value in other_values(types[key.name], getattr(settings, key.name)):
                partners = PARTNERS.get(key.name, {}) if value else {}
                known = {name: partner for name, partner in partners.items() if name in types}
                try:
                    changed = replace(settings, **{key.name: value, **known})
                    yield f"{section.name}.{key.name}", replace_sections(run, **{section.name: changed})
                except ConfigError:
                    continue


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.task)
def test_every_setting_is_read_back_as_it_was(run, tmp_path):
    path, covered = tmp_path / "run.toml", set()
    for name, changed in changed_runs(run):
        path.write_text(to_toml(changed), encoding="utf-8")
        assert apply_settings(type(run)(), read_settings(path)) == changed, name
        covered.add(name)
    names = {f"{part.name}.{key.name}" for part in fields(run) for key in fields(getattr(run, part.name))}
    assert names - covered == set()


@pytest.mark.parametrize(
    ("config", "run"),
    [
        (regard.ModelConfig(d_k=None, attention_scale=None), TranslationRun),
        (regard.ModelConfig(d_model=64, heads=4, d_k=8, attention_scale=0.5, tied="none"), TranslationRun),
        (ClassifierConfig(d_k=None, attention_scale=0.5), ClassificationRun),
        (ForecasterConfig(horizon=16, d_k=None, attention_scale=None), ForecastingRun),
    ],
)
def test_a_model_config_is_loaded_with_none_for_none(config, run, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(to_toml(run(model=config)), encoding="utf-8")
    assert type(config).load(path) == config


def test_the_config_of_a_model_folder_and_of_its_run_is_loaded(tmp_path, micro_model):
    from regard.text.tokenizer import learn_tokenizer
    from regard.translation.model_folder import save_translation_model

    tokenizer = learn_tokenizer(["a b"] * 3, 300)
    settings = to_toml(TranslationRun(micro_model.config))
    save_translation_model(tmp_path / "run" / "model", micro_model, tokenizer, settings, {})
    for folder in (tmp_path / "run", str(tmp_path / "run" / "model")):
        loaded = regard.ModelConfig.load(folder)
        assert loaded == micro_model.config
        assert loaded.d_k is None
    regard.Transformer(loaded)  # a model can be built from it


def test_the_config_of_another_task_is_refused(tmp_path):
    (tmp_path / "config.toml").write_text(to_toml(ClassificationRun()), encoding="utf-8")
    with pytest.raises(
        CheckpointError, match="the settings of a classification model: model.first_embedding"
    ):
        regard.ModelConfig.load(tmp_path / "config.toml")
    with pytest.raises(CheckpointError, match="does not exist"):
        regard.ModelConfig.load(tmp_path / "missing")

from dataclasses import fields

from rich.console import Console

from labelled_corpus import tiny_classification_run, write_labelled_file
from regard.classification.autoconfig import (
    CLASSIFICATION_AUTO_SETTINGS,
    autoconfigure_classification,
    choose_classification_settings,
    select_classification_auto_settings,
)
from regard.classification.run import ClassificationRun

QUIET = Console(quiet=True)


def test_a_larger_corpus_gets_a_larger_model_and_fewer_epochs():
    small = choose_classification_settings(5_000, 60_000, uses_gpu=False)
    large = choose_classification_settings(500_000, 10_000_000, uses_gpu=False)
    assert small.run.model.d_model <= large.run.model.d_model
    assert small.preset.epochs > large.preset.epochs


def test_autoconfig_counts_the_corpus_and_keeps_the_requested_steps(tmp_path):
    run = tiny_classification_run(write_labelled_file(tmp_path / "things.tsv"))
    config = autoconfigure_classification(run, None, QUIET)
    assert config.texts == 75
    assert "75 texts" in config.explain(config.run)
    assert autoconfigure_classification(run, 17, QUIET).run.train.steps == 17


def test_a_resumed_run_keeps_the_settings_that_autoconfig_chose():
    settings = select_classification_auto_settings(
        {"model": {"heads": 4}, "train": {"steps": 7, "seed": 3}, "data": {"strict": True}}
    )
    assert (settings["model"], settings["train"], settings["data"]) == ({"heads": 4}, {"steps": 7}, {})


def test_auto_settings_are_settings_of_the_run():
    for section, names in CLASSIFICATION_AUTO_SETTINGS.items():
        assert set(names) <= {field.name for field in fields(getattr(ClassificationRun(), section))}

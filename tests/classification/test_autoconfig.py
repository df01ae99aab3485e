from rich.console import Console

from labelled_corpus import tiny_classification_run, write_labelled_file
from regard.classification.autoconfig import (
    autoconfigure_classification,
    choose_classification_settings,
)

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


def test_more_epochs_of_a_large_corpus_get_larger_batches_instead_of_more_steps():
    few = choose_classification_settings(100_000, 10**6, uses_gpu=False, epochs=2.0).run
    many = choose_classification_settings(100_000, 10**6, uses_gpu=False, epochs=100.0).run
    assert (few.train.steps, few.data.batch_texts) == (4000, 50)
    assert (many.train.steps, many.data.batch_texts) == (20_000, 500)

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from rich.console import Console

from labelled_corpus import labelled_sentences, tiny_classification_run, write_labelled_file
from regard.checkpoint import file_sha256, read_manifest
from regard.classification.corpus import prepare_labelled_corpora
from regard.classification.label_predictor import LabelPredictor
from regard.classification.model_folder import load_classifier
from regard.classification.run import ClassificationRun
from regard.classification.task import ClassificationTask, train_classification
from regard.config import apply_settings, read_settings
from regard.errors import CheckpointError, ConfigError, DataError
from regard.translation.model_folder import load_translation_model

QUIET = Console(quiet=True)


@pytest.fixture
def corpus(tmp_path):
    return write_labelled_file(tmp_path / "things.tsv")


def make_task(run):
    corpora = prepare_labelled_corpora(
        run.data, run.model.vocab_size, run.model.max_length, run.train.seed, QUIET
    )
    return ClassificationTask(run, corpora)


def test_a_trained_classifier_reproduces_the_labels(corpus, tmp_path):
    run = tiny_classification_run(corpus, steps=60, save_every=30, judge="accuracy")
    result = train_classification(run, tmp_path / "run", QUIET)
    assert result.metrics["accuracy"] > 90
    texts, labels = zip(*labelled_sentences(), strict=True)
    predictions = LabelPredictor.load(tmp_path / "run").classify(texts)
    correct = sum(prediction.label == label for prediction, label in zip(predictions, labels, strict=True))
    assert correct > 0.9 * len(texts)


def test_a_validation_sample_shows_text_label_and_prediction(corpus, tmp_path):
    console = Console(record=True, width=100, file=io.StringIO())
    train_classification(tiny_classification_run(corpus), tmp_path / "run", console)
    titles = ("text", "label", "predicted")
    first_words = [
        line.strip().split()[0] for line in console.export_text().splitlines() if line.startswith(" " * 8)
    ]
    assert [word for word in first_words if word in titles] == [*titles, *titles]


def test_training_writes_model_settings_data_report_and_metrics(corpus, tmp_path):
    run, out = tiny_classification_run(corpus), tmp_path / "run"
    train_classification(run, out, QUIET)
    assert {"config.toml", "data.json", "metrics.jsonl", "model", "step-000004"} <= {
        path.name for path in out.iterdir()
    }
    assert sorted(path.name for path in (out / "model").iterdir()) == [
        *("README.md", "config.toml", "labels.json", "manifest.json", "model.safetensors", "tokenizer.json"),
    ]
    assert apply_settings(ClassificationRun(), read_settings(out / "config.toml")) == run
    manifest = read_manifest(out / "model")
    assert manifest["task"] == "classification"
    assert manifest["trained_on"]["labels"] == {"animal": 25, "colour": 25, "number": 25}
    assert "classify texts" in (out / "model" / "README.md").read_text()


def test_a_crashed_and_resumed_run_has_the_same_bits(corpus, tmp_path, monkeypatch):
    run = tiny_classification_run(corpus, steps=9, save_every=3, ema=0.9)
    train_classification(run, tmp_path / "whole", QUIET)
    real_loss, calls = ClassificationTask.loss, iter(range(5))

    def crashing_loss(task, batch):
        if next(calls, None) is None:
            raise RuntimeError("the power fails")
        return real_loss(task, batch)

    monkeypatch.setattr(ClassificationTask, "loss", crashing_loss)
    with pytest.raises(RuntimeError, match="power"):
        train_classification(run, tmp_path / "crashed", QUIET)
    monkeypatch.undo()
    assert (tmp_path / "crashed" / "step-000003").is_dir()
    train_classification(run, tmp_path / "crashed", QUIET)
    for name in ("model.safetensors", "optimizer.safetensors"):
        one, other = (tmp_path / folder / "step-000009" / name for folder in ("whole", "crashed"))
        assert file_sha256(one) == file_sha256(other)
    one, other = (load_classifier(tmp_path / folder) for folder in ("whole", "crashed"))
    assert one.temperature == other.temperature != 1.0


def test_resuming_with_a_changed_corpus_is_refused(corpus, tmp_path):
    run = tiny_classification_run(corpus)
    train_classification(run, tmp_path / "run", QUIET)
    corpus.write_text(corpus.read_text() + "animal\ta fish\n")
    with pytest.raises(DataError, match=r"things.tsv changed since"):
        train_classification(tiny_classification_run(corpus, steps=8), tmp_path / "run", QUIET)


def test_the_lines_of_a_batch_are_located(corpus):
    task = make_task(tiny_classification_run(corpus))
    batch, _ = next(task.batches({}))
    [lines] = task.locate_lines(batch)
    rows = corpus.read_text().splitlines()
    texts = {rows[number - 1].split("\t")[1] for number in lines.numbers}
    tokens = task.corpora.tokenizer.tokenize(sorted(texts))
    starts = batch.texts.starts.tolist()
    batch_tokens = [batch.texts.tokens[0, start + 1 : end].tolist() for start, end in pairwise(starts)]
    assert sorted(batch_tokens) == sorted(tokens)


def test_the_fitted_temperature_is_stored_in_the_model(corpus, tmp_path):
    run = tiny_classification_run(corpus, steps=40, save_every=40)
    train_classification(run, tmp_path / "run", QUIET)
    model = load_classifier(tmp_path / "run")
    metrics = model.manifest["metrics"]
    assert model.temperature == metrics["temperature"] > 0
    assert {"calibration_error", "calibrated_error", "macro_f1"} <= metrics.keys()


def test_the_metric_and_the_model_folder_of_another_task_are_refused(corpus, tmp_path):
    with pytest.raises(ConfigError, match="train.judge = bleu cannot work; it must be loss or accuracy"):
        tiny_classification_run(corpus, judge="bleu")
    train_classification(tiny_classification_run(corpus), tmp_path / "run", QUIET)
    with pytest.raises(CheckpointError, match="is a model for classification, not for translation"):
        load_translation_model(tmp_path / "run")


def test_a_damaged_labels_file_is_detected(corpus, tmp_path):
    train_classification(tiny_classification_run(corpus), tmp_path / "run", QUIET)
    labels: Path = tmp_path / "run" / "model" / "labels.json"
    labels.write_text(labels.read_text().replace("animal", "mineral"))
    with pytest.raises(CheckpointError, match=r"labels.json"):
        load_classifier(tmp_path / "run")


def test_training_with_bpe_dropout_has_a_finite_loss(corpus):
    run = tiny_classification_run(corpus)
    run = replace(run, data=replace(run.data, tokenizer="bpe", bpe_dropout=0.3, bpe_variants=2))
    task = make_task(run)
    assert (task.corpora.train.variants, len(task.corpora.train)) == (2, 68)
    batch, _ = next(task.batches({}))
    assert torch.isfinite(task.loss(batch))

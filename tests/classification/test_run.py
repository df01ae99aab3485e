import io
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from rich.console import Console

from labelled_corpus import labelled_sentences, tiny_classification_run, write_labelled_file
from regard.checkpoint import file_sha256, read_manifest
from regard.classification.autoconfig import (
    autoconfigure_classification,
    choose_classification_settings,
    select_classification_auto_settings,
)
from regard.classification.classifier import Classifier
from regard.classification.corpus import prepare_labelled_corpora
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


def labelled_of(run):
    return prepare_labelled_corpora(
        run.data, run.model.vocab_size, run.model.max_length, run.train.seed, QUIET
    )


def task_for(run):
    return ClassificationTask(run, labelled_of(run))


def test_it_learns_and_the_folder_gives_the_labels_back(corpus, tmp_path):
    run = tiny_classification_run(corpus, steps=60, save_every=30, judge="accuracy")
    outcome = train_classification(run, tmp_path / "run", QUIET)
    assert outcome.metrics["accuracy"] > 90
    texts, labels = zip(*labelled_sentences(), strict=True)
    found = Classifier.load(tmp_path / "run").classify(texts)
    assert sum(answer.label == label for answer, label in zip(found, labels, strict=True)) > 0.9 * len(texts)


def test_a_watched_text_stands_with_its_label_and_the_one_it_was_given(corpus, tmp_path):
    console = Console(record=True, width=100, file=io.StringIO())
    train_classification(tiny_classification_run(corpus), tmp_path / "run", console)
    titles = ("text", "label", "given")
    said = [
        line.strip().split()[0] for line in console.export_text().splitlines() if line.startswith(" " * 8)
    ]
    watched = [word for word in said if word in titles]
    assert watched == [*titles, *titles]


def test_a_training_leaves_model_settings_report_and_metrics(corpus, tmp_path):
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
    assert "learnt to classify texts" in (out / "model" / "README.md").read_text()


def test_a_run_that_crashed_and_was_gone_on_with_has_the_same_bits(corpus, tmp_path, monkeypatch):
    run = tiny_classification_run(corpus, steps=9, save_every=3, ema=0.9)
    train_classification(run, tmp_path / "whole", QUIET)
    real, calls = ClassificationTask.loss, iter(range(5))

    def crashing(task, batch):
        if next(calls, None) is None:
            raise RuntimeError("the power fails")
        return real(task, batch)

    monkeypatch.setattr(ClassificationTask, "loss", crashing)
    with pytest.raises(RuntimeError, match="power"):
        train_classification(run, tmp_path / "crashed", QUIET)
    monkeypatch.undo()
    assert (tmp_path / "crashed" / "step-000003").is_dir()
    train_classification(run, tmp_path / "crashed", QUIET)
    for name in ("model.safetensors", "optimizer.safetensors"):
        one, other = (tmp_path / which / "step-000009" / name for which in ("whole", "crashed"))
        assert file_sha256(one) == file_sha256(other)
    one, other = (load_classifier(tmp_path / which) for which in ("whole", "crashed"))
    assert one.temperature == other.temperature != 1.0


def test_a_changed_corpus_is_refused_when_the_run_goes_on(corpus, tmp_path):
    run = tiny_classification_run(corpus)
    train_classification(run, tmp_path / "run", QUIET)
    corpus.write_text(corpus.read_text() + "animal\ta fish\n")
    with pytest.raises(DataError, match=r"things.tsv changed since"):
        train_classification(tiny_classification_run(corpus, steps=8), tmp_path / "run", QUIET)


def test_a_batch_names_its_lines(corpus):
    task = task_for(tiny_classification_run(corpus))
    batch, _ = next(task.batches({}))
    [lines] = task.locate_lines(batch)
    rows = corpus.read_text().splitlines()
    texts = {rows[number - 1].split("\t")[1] for number in lines.numbers}
    tokenizer = task.corpora.tokenizer
    pieces = tokenizer.tokenize(sorted(texts))
    starts = batch.texts.starts.tolist()
    found = [batch.texts.tokens[0, start + 1 : end].tolist() for start, end in pairwise(starts)]
    assert sorted(found) == sorted(pieces)


def test_bad_lines_are_left_out_counted_and_named(corpus, tmp_path):
    corpus.write_text("animal\t\nno tab here\n" + corpus.read_text())
    labelled = labelled_of(tiny_classification_run(corpus))
    assert (
        labelled.corpora.report["train"]["left_out"] | {"blank": 1, "no label": 1}
        == (labelled.corpora.report["train"]["left_out"])
    )
    train_classification(tiny_classification_run(corpus), tmp_path / "run", QUIET)
    report = json.loads((tmp_path / "run" / "data.json").read_text())
    found = {each["kind"]: each["lines"] for each in report["train"]["corpora"][0]["findings"]}
    assert (found["blank"], found["no label"]) == ([1], [2])


def test_strict_refuses_them(corpus):
    corpus.write_text("animal\t\n" + corpus.read_text())
    run = tiny_classification_run(corpus)
    with pytest.raises(DataError, match=r"things.tsv line 1: blank"):
        labelled_of(replace(run, data=replace(run.data, strict=True)))


def test_what_is_held_out_is_not_learnt_from(corpus):
    labelled = labelled_of(tiny_classification_run(corpus))
    held = {text for text, _ in labelled.corpora.valid_texts}
    assert len(held) == 7
    learnt = labelled.corpora.train.source
    kept = {labelled.corpora.tokenizer.detokenize([learnt[i].tolist()])[0] for i in range(len(learnt))}
    assert not held & kept


def test_a_label_of_the_validation_file_that_was_not_learnt_is_refused(corpus, tmp_path):
    other = write_labelled_file(tmp_path / "dev.tsv", [("a stone", "mineral")])
    run = tiny_classification_run(corpus)
    with pytest.raises(DataError, match=r"labels that are not in the training files: mineral; those are an"):
        labelled_of(replace(run, data=replace(run.data, valid_labelled=str(other))))


def test_two_files_are_the_same_as_one(corpus, tmp_path):
    rows = labelled_sentences()
    (tmp_path / "texts").write_text("".join(f"{text}\n" for text, _ in rows))
    (tmp_path / "labels").write_text("".join(f"{label}\n" for _, label in rows))
    run = tiny_classification_run(corpus)
    two = replace(run.data, labelled=(), texts=(str(tmp_path / "texts"),), labels=(str(tmp_path / "labels"),))
    one, other = labelled_of(run), labelled_of(replace(run, data=two))
    assert one.labels == other.labels
    assert one.corpora.train.source.flat.tolist() == other.corpora.train.source.flat.tolist()
    assert one.corpora.train.target.flat.tolist() == other.corpora.train.target.flat.tolist()


def test_the_second_time_nothing_is_made_again(corpus, monkeypatch):
    first = labelled_of(tiny_classification_run(corpus))

    def refuse(*_):
        raise AssertionError

    for made in ("corpus.prepare.learn_word_tokenizer", "classification.corpus.write_token_rows"):
        monkeypatch.setattr(f"regard.{made}", refuse)
    assert labelled_of(tiny_classification_run(corpus)).corpora.report == first.corpora.report


def test_texts_too_long_for_the_model_are_cut_or_left_out(corpus):
    corpus.write_text(corpus.read_text() + "animal\t" + "cat " * 40 + "\n")
    run = tiny_classification_run(corpus)
    cut = labelled_of(run).corpora
    dropped = labelled_of(replace(run, data=replace(run.data, long="drop"))).corpora
    assert cut.report["train"]["long"] == {"cut": 1}
    assert (cut.train.source.lengths.max(), len(cut.train) - len(dropped.train)) == (15, 1)


def test_the_temperature_is_in_the_model_and_lessens_the_loss(corpus, tmp_path):
    run = tiny_classification_run(corpus, steps=40, save_every=40)
    train_classification(run, tmp_path / "run", QUIET)
    model = load_classifier(tmp_path / "run")
    metrics = model.manifest["metrics"]
    assert model.temperature == metrics["temperature"] > 0
    assert {"calibration_error", "calibrated_error", "macro_f1"} <= metrics.keys()


def test_neither_judge_nor_file_of_another_task_is_taken(corpus, tmp_path):
    with pytest.raises(ConfigError, match="train.judge = bleu cannot work; it must be loss or accuracy"):
        tiny_classification_run(corpus, judge="bleu")
    train_classification(tiny_classification_run(corpus), tmp_path / "run", QUIET)
    with pytest.raises(CheckpointError, match="is a model for classification, not for translation"):
        load_translation_model(tmp_path / "run")


def test_damaged_labels_are_noticed(corpus, tmp_path):
    train_classification(tiny_classification_run(corpus), tmp_path / "run", QUIET)
    labels: Path = tmp_path / "run" / "model" / "labels.json"
    labels.write_text(labels.read_text().replace("animal", "mineral"))
    with pytest.raises(CheckpointError, match=r"labels.json"):
        load_classifier(tmp_path / "run")


def test_dropping_merges_of_whole_words_is_refused(corpus):
    run = tiny_classification_run(corpus)
    with pytest.raises(ConfigError, match="data.bpe_dropout is for data.pieces = bpe"):
        replace(run.data, bpe_dropout=0.1)


def test_byte_pairs_can_be_learnt_and_dropped_instead(corpus):
    run = tiny_classification_run(corpus)
    data = replace(run.data, pieces="bpe", bpe_dropout=0.3, bpe_variants=2)
    labelled = labelled_of(replace(run, data=data))
    assert (labelled.corpora.train.variants, len(labelled.corpora.train)) == (2, 68)
    task = ClassificationTask(replace(run, data=data), labelled)
    batch, _ = next(task.batches({}))
    assert torch.isfinite(task.loss(batch))


def test_a_plan_gives_a_larger_corpus_a_larger_model_and_fewer_epochs(corpus):
    small, large = (
        choose_classification_settings(5_000, 60_000, uses_gpu=False),
        choose_classification_settings(500_000, 10_000_000, uses_gpu=False),
    )
    assert small.run.model.d_model <= large.run.model.d_model
    assert small.preset.epochs > large.preset.epochs
    found = autoconfigure_classification(tiny_classification_run(corpus), None, QUIET)
    assert found.texts == 75
    assert "75 texts" in found.explain(found.run)
    assert autoconfigure_classification(tiny_classification_run(corpus), 17, QUIET).run.train.steps == 17


def test_a_run_that_was_begun_keeps_what_its_plan_decided():
    kept = select_classification_auto_settings(
        {"model": {"heads": 4}, "train": {"steps": 7, "seed": 3}, "data": {"strict": True}}
    )
    assert (kept["model"], kept["train"], kept["data"]) == ({"heads": 4}, {"steps": 7}, {})

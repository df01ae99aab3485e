import json
import math
from dataclasses import asdict, replace
from itertools import islice, pairwise
from pathlib import Path

import pytest
import torch
from rich.console import Console

from regard.checkpoint import file_sha256, read_manifest
from regard.config import apply_settings, read_settings
from regard.data.config import DataConfig
from regard.errors import CheckpointError, ConfigError, DataError, RegardError
from regard.model.config import TINY
from regard.text.tokenizer import Tokenizer
from regard.training import memory
from regard.training.device import ComputeConfig
from regard.training.loop import TrainConfig
from regard.training.loss import LossConfig, label_smoothing_floor
from regard.training.optimizer import OptimizerConfig, learning_rate
from regard.translation import unlike_training
from regard.translation.corpus import prepare_pair_corpora
from regard.translation.memory_estimate import estimate_translation_step_memory
from regard.translation.model_folder import load_translation_model, read_translation_folder
from regard.translation.run import TranslationRun
from regard.translation.task import TranslationTask, train_translation
from regard.translation.translator import Translator

QUIET = Console(quiet=True)
CPU = torch.device("cpu")


@pytest.fixture
def files(tmp_path):
    """Write sixty pairs of numbers, as digits and as words."""
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    pairs = [(f"{a} and {b}", f"{words[a]} {words[b]}") for a in range(10) for b in range(6)]
    for name, side in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n")
    return DataConfig(
        (str(tmp_path / "source"),), (str(tmp_path / "target"),), batch_tokens=200, bleu_pairs=3
    )


@pytest.fixture
def small_run(files):
    model = replace(TINY, d_model=16, heads=2, d_ff=16, encoder_layers=1, decoder_layers=1, vocab_size=300)
    return TranslationRun(model=model, data=files, train=TrainConfig(steps=4, save_every=2, seed=5))


def corpora_of(run):
    return prepare_pair_corpora(run.data, run.model.vocab_size, run.model.max_length, run.train.seed, QUIET)


def task_for(run):
    return TranslationTask(run, corpora_of(run))


def test_without_validation_files_the_description_says_held_out(small_run):
    assert "held out of the training files" in " ".join(task_for(small_run).describe())


def test_training_writes_model_settings_metrics_and_checkpoints(small_run, tmp_path):
    out = tmp_path / "run"
    result = train_translation(small_run, out, QUIET)
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        ".lock",
        "config.toml",
        "data.json",
        "metrics.jsonl",
        "model",
        "step-000002",
        "step-000004",
    ]
    files = sorted(path.name for path in (out / "model").iterdir())
    assert files == ["README.md", "config.toml", "manifest.json", "model.safetensors", "tokenizer.json"]
    assert (out / "model" / "model.safetensors").read_bytes() == (
        result.best_folder / "model.safetensors"
    ).read_bytes()
    stored = apply_settings(TranslationRun(), read_settings(out / "config.toml"))
    assert stored == small_run  # as requested, so that the file starts the same run again
    vocab_size = read_settings(out / "model" / "config.toml")["model"]["vocab_size"]
    assert vocab_size == load_translation_model(out).tokenizer.vocab_size


def test_the_manifest_names_the_training_and_validation_data(small_run, tmp_path):
    train_translation(small_run, tmp_path / "run", QUIET)
    manifest = load_translation_model(tmp_path / "run").manifest
    files = {name: file_sha256(Path(name)) for name in (*small_run.data.source, *small_run.data.target)}
    assert manifest["trained_on"] == {"pairs": 54, "files": files, "left_out": {}}
    assert manifest["validated_on"] == {"pairs": 6, "files": files, "left_out": {}, "translated": 3}
    assert "tok:13a" in manifest["metrics"]["bleu_signature"]


def test_the_manifest_covers_model_card_and_curves(small_run, tmp_path):
    train_translation(
        small_run, tmp_path / "run", QUIET, render_curves=lambda folder: f"<svg>{folder.name}</svg>"
    )
    model = tmp_path / "run" / "model"
    assert {"README.md", "curves.svg"} <= read_manifest(model)["files"].keys()
    assert (model / "curves.svg").read_text() == "<svg>run</svg>"
    card = (model / "README.md").read_text("utf-8")
    assert "| `model.d_model` | 16 | 256 |" in card
    for source, target in task_for(small_run).corpora.valid_texts[:3]:
        assert f"| {source} | {target} | " in card
    (model / "README.md").write_text("better")
    with pytest.raises(CheckpointError, match="README.md is not what was written"):
        load_translation_model(tmp_path / "run")


def test_the_first_line_of_the_metrics_has_loss_floor_and_planned_rates(small_run, tmp_path):
    run = replace(small_run, optimizer=OptimizerConfig(warmup=2, cooldown=1))
    train_translation(run, tmp_path / "run", QUIET)
    first = json.loads((tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()[0])
    vocab = load_translation_model(tmp_path / "run").tokenizer.vocab_size
    assert first["kind"] == "run"
    assert first["loss_floor"] == pytest.approx(label_smoothing_floor(0.1, vocab))
    rates = [[step, learning_rate(step, 4, 16, run.optimizer)] for step in (1, 2, 3, 4)]
    assert first["planned"] == [[step, pytest.approx(rate, rel=1e-5)] for step, rate in rates]
    assert first["peak"] == pytest.approx((16 * 2) ** -0.5)


def test_each_validation_records_bleu_by_the_length_of_the_source(small_run, tmp_path):
    train_translation(small_run, tmp_path / "run", QUIET)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()]
    tokenizer = load_translation_model(tmp_path / "run").tokenizer
    texts = task_for(small_run).corpora.valid_texts[: small_run.data.bleu_pairs]
    lengths = [len(row) for row in tokenizer.tokenize([source for source, _ in texts])]
    validations = [row["bleu_by_length"] for row in rows if row["kind"] == "valid"]
    assert validations
    for groups in validations:
        assert sum(groups["pairs"]) == len(texts)
        assert (groups["bins"][0], groups["bins"][-1]) == (min(lengths), max(lengths) + 1)


@pytest.mark.usefixtures("diverging")
def test_a_run_that_fails_before_its_first_checkpoint_leaves_nothing(small_run, tmp_path):
    run = replace(small_run, train=TrainConfig(steps=50, log_every=1))
    with pytest.raises(RegardError, match="the loss or its gradient is not finite"):
        train_translation(run, tmp_path / "run", QUIET)
    assert not (tmp_path / "run").exists()


def test_the_error_is_reported_even_if_the_run_folder_cannot_be_removed(small_run, tmp_path, monkeypatch):
    out = tmp_path / "run"

    def fail(*_, **__):
        (out / "notes.txt").write_text("mine")
        raise RegardError("the loss is nan")

    monkeypatch.setattr("regard.training.harness.TrainingLoop", fail)
    with pytest.raises(RegardError, match="the loss is nan"):
        train_translation(small_run, out, QUIET)
    assert [path.name for path in out.iterdir()] == ["notes.txt"]


@pytest.mark.usefixtures("diverging")
def test_an_empty_run_folder_that_existed_before_is_kept(small_run, tmp_path):
    (tmp_path / "run").mkdir()
    run = replace(small_run, train=TrainConfig(steps=50, log_every=1))
    with pytest.raises(RegardError, match="the loss or its gradient is not finite"):
        train_translation(run, tmp_path / "run", QUIET)
    assert list((tmp_path / "run").iterdir()) == []


def test_the_training_loss_depends_on_label_smoothing(small_run):
    def loss(smoothing):
        task = task_for(replace(small_run, loss=LossConfig(smoothing)))
        task.model.eval()
        return task.loss(next(task.batches({}))[0]).item()

    assert loss(0.0) != loss(0.3)


def test_epochs_use_the_tokenizations_in_turn(small_run):
    data = replace(small_run.data, bpe_dropout=0.3, bpe_variants=2)
    task = task_for(replace(small_run, data=data))
    assert "        2 tokenizations per pair, with BPE dropout 0.3" in list(task.describe())
    batches = task.batches({})

    def epoch():
        """Return the target ids of all pairs, sorted."""
        rows = []
        while len(rows) < len(task.corpora.train):
            batch, _ = next(batches)
            rows += batch.target_out[0].split(batch.target_in.starts.diff().tolist())
        return sorted(row.tolist() for row in rows)

    first, second, third, fourth = (epoch() for _ in range(4))
    assert first == third
    assert second == fourth
    assert first != second
    texts = [sorted(task._tokenizer.detokenize(rows)) for rows in (first, second)]
    assert texts[0] == texts[1]


def test_rdrop_penalizes_different_passes(small_run):
    def loss(rdrop, dropout):
        model = replace(small_run.model, dropout=dropout)
        task = task_for(replace(small_run, model=model, loss=LossConfig(rdrop=rdrop)))
        batch, _ = next(task.batches({}))
        torch.manual_seed(1)
        return task.loss(batch).item() / batch.target_tokens

    without_dropout = loss(0.0, 0.0)
    assert loss(5.0, 1e-7) == pytest.approx(without_dropout, rel=1e-4)
    assert loss(5.0, 0.5) > loss(1e-9, 0.5) + 0.01


def test_rdrop_without_dropout_is_refused(small_run):
    with pytest.raises(ConfigError, match="loss.rdrop = 5.0 cannot work; without model.dropout"):
        replace(small_run, model=replace(small_run.model, dropout=0.0), loss=LossConfig(rdrop=5.0))


def test_a_lower_case_model_lower_cases_its_input_and_is_evaluated_so(small_run, tmp_path):
    for name in ("source", "target"):
        (tmp_path / name).write_text((tmp_path / name).read_text().title())
    run = replace(small_run, data=replace(small_run.data, lowercase=True))
    train_translation(run, tmp_path / "run", QUIET)
    translator = Translator.load(tmp_path / "run")
    assert translator.translate(["1 AND 2", "3 and 4"]) == translator.translate(["1 and 2", "3 And 4"])
    assert "case:lc" in load_translation_model(tmp_path / "run").manifest["metrics"]["bleu_signature"]


def test_validation_is_without_dropout(small_run):
    task = task_for(replace(small_run, model=replace(small_run.model, dropout=0.5)))
    task.model.train()
    first = task.validate().metrics
    task.model.train()
    assert task.validate().metrics == first


def test_bleu_compares_with_the_references(small_run):
    task = task_for(small_run)
    texts = task.corpora.valid_texts[: small_run.data.bleu_pairs]
    task._translator.translate_ids = lambda *_: [f"{reference} and so on" for _, reference in texts]
    close = task.validate().metrics["bleu"]
    task._translator.translate_ids = lambda *_: [f"{source} and so on" for source, _ in texts]
    assert close > task.validate().metrics["bleu"]


def test_validation_texts_are_tokenized_once(small_run, monkeypatch):
    task = task_for(small_run)
    sources = {source for source, _ in task.corpora.valid_texts}
    calls, tokenize = [], Tokenizer.tokenize
    monkeypatch.setattr(
        Tokenizer, "tokenize", lambda self, texts: calls.extend(sources & set(texts)) or tokenize(self, texts)
    )
    task.validate()
    task.validate()
    assert len(calls) == small_run.data.bleu_pairs


def test_a_validation_sentence_that_is_too_long_is_not_translated(small_run):
    run = replace(small_run, model=replace(small_run.model, max_length=8))
    task = task_for(run)
    sources, references, rows = task._bleu_texts
    task._bleu_texts = sources, references, [rows[0] * 9, *rows[1:]]
    hypotheses = [sample.hypothesis for sample in task.validate().samples]
    assert hypotheses[0] == ""
    task.model.eval()
    assert hypotheses[1:] == task._translator.translate(sources[1:], beam=1)


def test_the_same_seed_gives_the_same_model(small_run, tmp_path):
    def weights(name, seed):
        run = replace(small_run, train=replace(small_run.train, seed=seed))
        train_translation(run, tmp_path / name, QUIET)
        return (tmp_path / name / "model" / "model.safetensors").read_bytes()

    first = weights("a", 1)
    assert weights("b", 1) == first
    assert weights("c", 2) != first


def test_batches_can_start_at_any_position(small_run):
    task = task_for(small_run)
    first = list(islice(task.batches({}), 25))
    assert first[-1][1]["epoch"] >= 1
    for (_, position), (batch, after) in pairwise(first):
        (again, then), *_ = islice(task.batches(position), 1)
        assert (again.pair_indexes.tolist() == batch.pair_indexes.tolist(), then) == (True, after)


def test_the_lines_of_a_batch_can_be_located(small_run):
    task = task_for(small_run)
    batch, _ = next(task.batches({}))
    [lines] = task.locate_lines(batch)
    assert lines.files == (*small_run.data.source, *small_run.data.target)
    source = Path(lines.files[0]).read_text().split("\n")
    rows = batch.source.tokens[0].split(batch.source.starts.diff().tolist())
    assert sorted(task._tokenizer.detokenize([row[:-1].tolist() for row in rows])) == sorted(
        source[number - 1] for number in lines.numbers
    )


@pytest.mark.parametrize("change", [b"!", b"\n1 and 1\n"])
def test_a_changed_corpus_is_refused_with_the_names_of_the_files(small_run, tmp_path, monkeypatch, change):
    """One byte changes, or lines are appended, between an interrupted run and its resumption."""
    out = tmp_path / "run"
    monkeypatch.setattr("regard.training.harness.publish_model", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        train_translation(small_run, out, QUIET)
    for name in ("source", "target"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(change + content[1:] if len(change) == 1 else content + change[1:])
    with pytest.raises(
        DataError, match=f"{tmp_path}/source, {tmp_path}/target changed since {out} was started"
    ):
        train_translation(small_run, out, QUIET)


def _interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_run_killed_before_publishing_finishes_without_another_step(small_run, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("regard.training.harness.publish_model", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_translation(small_run, tmp_path / "run", QUIET)
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert train_translation(small_run, tmp_path / "run", QUIET).stop_reason == "steps"
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before
    assert (tmp_path / "run" / "model").is_dir()


def test_a_folder_with_other_files_is_refused(small_run, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "precious").write_text("do not lose")
    with pytest.raises(RegardError, match="mine is not empty and holds no run; choose another --out"):
        train_translation(small_run, out, QUIET)
    assert [path.name for path in out.iterdir()] == ["precious"]


def test_a_folder_that_cannot_be_created_is_reported_before_training(small_run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RegardError, match="out cannot be written: .*file is not a folder"):
        train_translation(small_run, tmp_path / "file" / "out", QUIET)


def test_a_bad_corpus_leaves_no_folder(small_run, tmp_path):
    (tmp_path / "target").write_text("too short\n")
    with pytest.raises(DataError, match="must pair line by line"):
        train_translation(small_run, tmp_path / "run", QUIET)
    assert not (tmp_path / "run").exists()


def test_the_validation_loss_is_without_label_smoothing(small_run):
    def metrics(smoothing):
        return task_for(replace(small_run, loss=LossConfig(smoothing))).validate().metrics

    assert metrics(0.0) == metrics(0.5)
    assert metrics(0.0)["perplexity"] == pytest.approx(math.exp(metrics(0.0)["loss"]), rel=1e-6)


def test_the_tokenizer_is_learned_from_both_sides(small_run, tmp_path):
    run = replace(small_run, model=replace(small_run.model, vocab_size=500))
    train_translation(replace(run, train=replace(run.train, steps=1)), tmp_path / "run", QUIET)
    source_word, target_word = load_translation_model(tmp_path / "run").tokenizer.tokenize(["and", "seven"])
    assert len(source_word) == len(target_word) == 1


def test_a_step_that_does_not_fit_is_split_and_stays_so_when_resumed(small_run, tmp_path, monkeypatch):
    """Free memory may differ when a run is resumed; the result must not."""

    def train(out, *free_bytes):
        for steps, free in zip((2, 4), free_bytes, strict=True):
            monkeypatch.setattr(memory, "free_memory", lambda _, free=free: free)
            train_translation(replace(run, train=replace(run.train, steps=steps)), tmp_path / out, QUIET)
        return file_sha256(tmp_path / out / "step-000004" / "model.safetensors")

    compute = ComputeConfig(precision="fp32")
    run = replace(small_run, model=replace(small_run.model, max_length=64), compute=compute)
    tight, ample = int(1.25 * step_bytes(run, 110)), 2**40
    cut = train("cut", tight, tight)
    settings = read_settings(tmp_path / "cut" / "step-000004" / "config.toml")
    assert (settings["data"]["batch_tokens"], settings["train"]["accumulate"]) == (100, 2)
    assert read_settings(tmp_path / "cut" / "config.toml")["data"]["batch_tokens"] == 200
    assert train("ample later", tight, ample) == cut
    assert train("ample", ample, tight) == train("ample before", ample, ample) != cut


def test_a_resumed_run_keeps_its_precision(small_run, tmp_path, monkeypatch):
    """Another machine, or another version, might choose another."""
    out = tmp_path / "run"
    for steps, has_bf16 in ((2, True), (4, False)):
        monkeypatch.setattr("regard.training.device._has_native_bf16", lambda _, has_bf16=has_bf16: has_bf16)
        train_translation(replace(small_run, train=replace(small_run.train, steps=steps)), out, QUIET)
    assert read_settings(out / "config.toml")["compute"]["precision"] == "auto"
    for step in (2, 4):
        stored = read_settings(out / f"step-00000{step}" / "config.toml")["compute"]
        assert (stored["device"], stored["precision"]) == ("cpu", "bf16")


def test_a_model_that_does_not_fit_into_memory_is_refused(small_run, tmp_path):
    run = replace(small_run, compute=ComputeConfig(memory=1e-6))
    with pytest.raises(ConfigError, match="the model does not fit"):
        train_translation(run, tmp_path / "run", QUIET)
    assert not (tmp_path / "run").exists()


def step_bytes(run, tokens):
    """Return the estimated memory of a step with that many tokens."""
    corpora = corpora_of(run)
    model = replace(run.model, vocab_size=corpora.tokenizer.vocab_size)
    mean = corpora.train.mean_length
    return estimate_translation_step_memory(
        model,
        run.loss,
        has_ema=False,
        device=CPU,
        precision=torch.float32,
        is_captured=False,
        sentence_length=mean,
        batch_tokens=run.data.batch_tokens,
    ).total_bytes(tokens)


def test_the_published_model_is_calibrated_on_the_validation_texts(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(unlike_training, "MIN_CALIBRATION_TEXTS", 4)
    train_translation(small_run, tmp_path / "run", QUIET)
    folder = read_translation_folder(tmp_path / "run" / "model")
    texts = [source for source, _ in corpora_of(small_run).valid_texts]
    translator = Translator.load(folder.path, "cpu", "torch")
    expected = unlike_training.calibrate_translator(translator, texts)
    assert folder.calibration.texts == expected.texts == len(texts) == 6
    assert asdict(folder.calibration) == pytest.approx(asdict(expected), rel=1e-3)
    card = (folder.path / "README.md").read_text()
    assert f"a mean log-probability of {folder.calibration.mean:.2f} nats per token" in card


def test_a_model_with_few_validation_texts_is_not_calibrated(small_run, tmp_path):
    train_translation(small_run, tmp_path / "run", QUIET)
    assert read_translation_folder(tmp_path / "run" / "model").calibration is None
    assert "unlike the training text" not in (tmp_path / "run" / "model" / "README.md").read_text()

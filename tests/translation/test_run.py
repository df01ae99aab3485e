import json
import math
from dataclasses import replace
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
from regard.train import memory
from regard.train.device import ComputeConfig
from regard.train.loop import TrainConfig
from regard.train.loss import LossConfig, label_smoothing_floor
from regard.train.optimizer import OptimizerConfig, learning_rate
from regard.translation.corpus import prepare_pair_corpora
from regard.translation.memory_estimate import estimate_translation_step_memory
from regard.translation.model_folder import load_translation_model
from regard.translation.run import TranslationRun
from regard.translation.task import TranslationTask, train_translation
from regard.translation.translator import Translator

QUIET = Console(quiet=True)
CPU = torch.device("cpu")


@pytest.fixture
def files(tmp_path):
    """Sixty sums in figures and in letters."""
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


def test_without_validation_files_a_part_is_held_out_and_said_so(small_run):
    assert "held out of the training files" in " ".join(task_for(small_run).describe())


def test_a_training_leaves_the_model_the_settings_and_the_metrics(small_run, tmp_path):
    out = tmp_path / "run"
    outcome = train_translation(small_run, out, QUIET)
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
        outcome.best_folder / "model.safetensors"
    ).read_bytes()
    effective = apply_settings(TranslationRun(), read_settings(out / "config.toml"))
    assert effective == small_run  # as asked for, so that the file starts the same run again
    reached = read_settings(out / "model" / "config.toml")["model"]["vocab_size"]
    assert reached == load_translation_model(out).tokenizer.vocab_size


def test_the_manifest_says_what_the_model_was_trained_on(small_run, tmp_path):
    train_translation(small_run, tmp_path / "run", QUIET)
    manifest = load_translation_model(tmp_path / "run").manifest
    files = {name: file_sha256(Path(name)) for name in (*small_run.data.source, *small_run.data.target)}
    assert manifest["trained_on"] == {"pairs": 54, "files": files, "left_out": {}}
    assert manifest["validated_on"] == {"pairs": 6, "files": files, "left_out": {}, "translated": 3}
    assert "tok:13a" in manifest["metrics"]["bleu_signature"]


def test_the_card_and_the_curves_are_sealed_with_the_model(small_run, tmp_path):
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


def test_the_first_line_of_the_metrics_says_what_to_compare_with(small_run, tmp_path):
    run = replace(small_run, optimizer=OptimizerConfig(warmup=2, cooldown=1))
    train_translation(run, tmp_path / "run", QUIET)
    facts = json.loads((tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()[0])
    vocab = load_translation_model(tmp_path / "run").tokenizer.vocab_size
    assert facts["kind"] == "run"
    assert facts["loss_floor"] == pytest.approx(label_smoothing_floor(0.1, vocab))
    rates = [[step, learning_rate(step, 4, 16, run.optimizer)] for step in (1, 2, 3, 4)]
    assert facts["planned"] == [[step, pytest.approx(rate, rel=1e-5)] for step, rate in rates]
    assert facts["peak"] == pytest.approx((16 * 2) ** -0.5)


def test_each_validation_records_bleu_by_the_length_of_the_source(small_run, tmp_path):
    train_translation(small_run, tmp_path / "run", QUIET)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()]
    tokenizer = load_translation_model(tmp_path / "run").tokenizer
    texts = task_for(small_run).corpora.valid_texts[: small_run.data.bleu_pairs]
    lengths = [len(row) for row in tokenizer.tokenize([source for source, _ in texts])]
    found = [row["bleu_by_length"] for row in rows if row["kind"] == "valid"]
    assert found
    for groups in found:
        assert sum(groups["pairs"]) == len(texts)
        assert (groups["bins"][0], groups["bins"][-1]) == (min(lengths), max(lengths) + 1)


def test_a_run_that_fails_before_its_first_checkpoint_leaves_nothing(small_run, tmp_path):
    run = replace(small_run, optimizer=OptimizerConfig(peak=1e30, warmup=1))
    with pytest.raises(RegardError, match="the loss or its gradient is not finite"):
        train_translation(replace(run, train=TrainConfig(steps=50, log_every=1)), tmp_path / "run", QUIET)
    assert not (tmp_path / "run").exists()


def test_what_went_wrong_is_said_even_where_the_folder_cannot_be_removed(small_run, tmp_path, monkeypatch):
    out = tmp_path / "run"

    def fail(*_):
        (out / "notes.txt").write_text("mine")
        raise RegardError("the loss is nan")

    monkeypatch.setattr("regard.train.harness.TrainingLoop", fail)
    with pytest.raises(RegardError, match="the loss is nan"):
        train_translation(small_run, out, QUIET)
    assert [path.name for path in out.iterdir()] == ["notes.txt"]


def test_a_folder_that_was_there_before_stays(small_run, tmp_path):
    (tmp_path / "run").mkdir()
    run = replace(small_run, optimizer=OptimizerConfig(peak=1e30, warmup=1))
    with pytest.raises(RegardError, match="the loss or its gradient is not finite"):
        train_translation(replace(run, train=TrainConfig(steps=50, log_every=1)), tmp_path / "run", QUIET)
    assert list((tmp_path / "run").iterdir()) == []


def test_training_smooths_as_asked(small_run):
    def loss(smoothing):
        task = task_for(replace(small_run, loss=LossConfig(smoothing)))
        task.model.eval()
        return task.loss(next(task.batches({}))[0]).item()

    assert loss(0.0) != loss(0.3)


def test_epochs_take_the_tokenizations_in_turn(small_run):
    data = replace(small_run.data, bpe_dropout=0.3, bpe_variants=2)
    task = task_for(replace(small_run, data=data))
    assert "        cut into pieces 2 ways, with dropout 0.3" in list(task.describe())
    batches = task.batches({})

    def epoch():
        """The target side of all pairs, in an order of their own."""
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


def test_rdrop_passes_twice_with_different_dropout(small_run):
    def loss(rdrop, dropout):
        model = replace(small_run.model, dropout=dropout)
        task = task_for(replace(small_run, model=model, loss=LossConfig(rdrop=rdrop)))
        batch, _ = next(task.batches({}))
        torch.manual_seed(1)
        return task.loss(batch).item() / batch.target_tokens

    nothing_dropped = loss(0.0, 0.0)
    assert loss(5.0, 1e-7) == pytest.approx(nothing_dropped, rel=1e-4)
    assert loss(5.0, 0.5) > loss(1e-9, 0.5) + 0.01


def test_rdrop_without_dropout_is_refused(small_run):
    with pytest.raises(ConfigError, match="loss.rdrop = 5.0 cannot work; without model.dropout"):
        replace(small_run, model=replace(small_run.model, dropout=0.0), loss=LossConfig(rdrop=5.0))


def test_a_lower_case_model_lower_cases_by_itself_and_is_judged_so(small_run, tmp_path):
    for name in ("source", "target"):
        (tmp_path / name).write_text((tmp_path / name).read_text().title())
    run = replace(small_run, data=replace(small_run.data, lowercase=True))
    train_translation(run, tmp_path / "run", QUIET)
    translator = Translator.load(tmp_path / "run")
    assert translator.translate(["1 AND 2", "3 and 4"]) == translator.translate(["1 and 2", "3 And 4"])
    assert "case:lc" in load_translation_model(tmp_path / "run").manifest["metrics"]["bleu_signature"]


def test_validation_drops_nothing(small_run):
    task = task_for(replace(small_run, model=replace(small_run.model, dropout=0.5)))
    task.model.train()
    first = task.validate().metrics
    task.model.train()
    assert task.validate().metrics == first


def test_bleu_compares_with_the_references(small_run):
    task = task_for(small_run)
    answers = dict(task.corpora.valid_texts)
    task._translator.translate = lambda texts, **_: [f"{answers[text]} and so on" for text in texts]
    close = task.validate().metrics["bleu"]
    task._translator.translate = lambda texts, **_: [f"{text} and so on" for text in texts]
    assert close > task.validate().metrics["bleu"]


def test_the_same_seed_gives_the_same_model(small_run, tmp_path):
    def weights(name, seed):
        run = replace(small_run, train=replace(small_run.train, seed=seed))
        train_translation(run, tmp_path / name, QUIET)
        return (tmp_path / name / "model" / "model.safetensors").read_bytes()

    first = weights("a", 1)
    assert weights("b", 1) == first
    assert weights("c", 2) != first


def test_any_position_in_the_data_is_reached_at_once(small_run):
    task = task_for(small_run)
    first = list(islice(task.batches({}), 25))
    assert first[-1][1]["epoch"] >= 1
    for (_, position), (batch, after) in pairwise(first):
        (again, then), *_ = islice(task.batches(position), 1)
        assert (again.pair_indexes.tolist() == batch.pair_indexes.tolist(), then) == (True, after)


def test_a_bad_batch_can_be_found_again(small_run):
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
def test_a_corpus_that_changed_is_refused_and_the_file_named(small_run, tmp_path, monkeypatch, change):
    """One byte changed, or lines appended, between a run that was cut short and the next start."""
    out = tmp_path / "run"
    monkeypatch.setattr("regard.train.harness.publish_model", _killed)
    with pytest.raises(KeyboardInterrupt):
        train_translation(small_run, out, QUIET)
    for name in ("source", "target"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(change + content[1:] if len(change) == 1 else content + change[1:])
    with pytest.raises(
        DataError, match=f"{tmp_path}/source, {tmp_path}/target changed since {out} was started"
    ):
        train_translation(small_run, out, QUIET)


def _killed(*_, **__):
    raise KeyboardInterrupt


def test_a_run_killed_before_it_was_published_ends_without_another_step(small_run, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("regard.train.harness.publish_model", _killed)
        with pytest.raises(KeyboardInterrupt):
            train_translation(small_run, tmp_path / "run", QUIET)
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert train_translation(small_run, tmp_path / "run", QUIET).stop_reason == "steps"
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before
    assert (tmp_path / "run" / "model").is_dir()


def test_a_folder_in_use_is_not_touched(small_run, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "precious").write_text("do not lose")
    with pytest.raises(RegardError, match="mine is not empty and holds no run; choose another --out"):
        train_translation(small_run, out, QUIET)
    assert [path.name for path in out.iterdir()] == ["precious"]


def test_a_folder_that_cannot_be_made_is_said_before_training(small_run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RegardError, match="out cannot be written: .*file is not a folder"):
        train_translation(small_run, tmp_path / "file" / "out", QUIET)


def test_a_bad_corpus_leaves_no_folder(small_run, tmp_path):
    (tmp_path / "target").write_text("too short\n")
    with pytest.raises(DataError, match="must pair line by line"):
        train_translation(small_run, tmp_path / "run", QUIET)
    assert not (tmp_path / "run").exists()


def test_validation_leaves_smoothing_out(small_run):
    def metrics(smoothing):
        return task_for(replace(small_run, loss=LossConfig(smoothing))).validate().metrics

    assert metrics(0.0) == metrics(0.5)
    assert metrics(0.0)["perplexity"] == pytest.approx(math.exp(metrics(0.0)["loss"]), rel=1e-6)


def test_pieces_are_learnt_from_both_sides(small_run, tmp_path):
    run = replace(small_run, model=replace(small_run.model, vocab_size=500))
    train_translation(replace(run, train=replace(run.train, steps=1)), tmp_path / "run", QUIET)
    source_word, target_word = load_translation_model(tmp_path / "run").tokenizer.tokenize(["and", "seven"])
    assert len(source_word) == len(target_word) == 1


def test_a_step_that_does_not_fit_is_taken_in_parts_and_goes_on_in_the_same(small_run, tmp_path, monkeypatch):
    """Free memory differs from one start to the next; what is computed must not."""

    def trained(out, *rooms):
        for steps, room in zip((2, 4), rooms, strict=True):
            monkeypatch.setattr(memory, "free_memory", lambda _, room=room: room)
            train_translation(replace(run, train=replace(run.train, steps=steps)), tmp_path / out, QUIET)
        return file_sha256(tmp_path / out / "step-000004" / "model.safetensors")

    compute = ComputeConfig(precision="fp32")
    run = replace(small_run, model=replace(small_run.model, max_length=64), compute=compute)
    tight, ample = int(1.25 * room_for(run, 110)), 2**40
    cut = trained("cut", tight, tight)
    settings = read_settings(tmp_path / "cut" / "step-000004" / "config.toml")
    assert (settings["data"]["batch_tokens"], settings["train"]["accumulate"]) == (100, 2)
    assert read_settings(tmp_path / "cut" / "config.toml")["data"]["batch_tokens"] == 200
    assert trained("ample later", tight, ample) == cut
    assert trained("ample", ample, tight) == trained("ample before", ample, ample) != cut


def test_a_run_goes_on_in_the_precision_it_was_begun_in(small_run, tmp_path, monkeypatch):
    """Another machine, or another regard, might choose another."""
    out = tmp_path / "run"
    for steps, has_it in ((2, True), (4, False)):
        monkeypatch.setattr("regard.train.device._has_native_bf16", lambda _, has_it=has_it: has_it)
        train_translation(replace(small_run, train=replace(small_run.train, steps=steps)), out, QUIET)
    assert read_settings(out / "config.toml")["compute"]["precision"] == "auto"
    for step in (2, 4):
        kept = read_settings(out / f"step-00000{step}" / "config.toml")["compute"]
        assert (kept["device"], kept["precision"]) == ("cpu", "bf16")


def test_a_model_that_does_not_fit_is_refused_and_leaves_nothing(small_run, tmp_path):
    run = replace(small_run, compute=ComputeConfig(memory=1e-6))
    with pytest.raises(ConfigError, match="the model does not fit"):
        train_translation(run, tmp_path / "run", QUIET)
    assert not (tmp_path / "run").exists()


def room_for(run, tokens):
    """Bytes that batches of so many tokens take."""
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

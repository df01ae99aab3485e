"""T8: a value that is not finite never reaches the weights."""

import io
import json
from dataclasses import replace

import pytest
import torch
from rich.console import Console

from faults.toy_task import ToyTask, train_toy
from regard.checkpoint import list_checkpoints
from regard.data.config import DataConfig
from regard.errors import RegardError
from regard.model.config import TINY
from regard.train.logs.metrics_file import METRICS_FILE
from regard.train.loop import TrainConfig
from regard.train.weights import load_tensors
from regard.translation.run import TranslationRun
from regard.translation.task import TranslationTask, train_translation

pytestmark = pytest.mark.fault
VALUES = [float("nan"), float("inf"), -float("inf")]


class Spoilt(ToyTask):
    """Something is not finite in the batches `numbers`."""

    def __init__(self, value, where, numbers):
        super().__init__()
        self.value, self.numbers, self.now = value, numbers, None
        if where == "loss":
            self.hook = lambda loss: loss * self.value if self.bad() else loss
        if where == "gradient":
            self.model[0].bias.register_hook(
                lambda gradient: gradient + self.value if self.bad() else gradient
            )
        if where == "input":
            self.model[1].register_forward_hook(lambda _, __, out: out + self.value if self.bad() else out)
        self.where_ = where

    def bad(self):
        return self.now in self.numbers

    def loss(self, batch):
        number, x, y = batch
        self.now = number
        if self.where_ == "batch" and self.bad():
            x = x.clone()
            x[2, 1] = self.value
        return super().loss((number, x, y))

    def validate(self):
        self.now = None
        return super().validate()


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("where", ["loss", "gradient", "batch", "input"])
def test_one_bad_step_is_skipped_counted_and_named(tmp_path, value, where):
    task, said = Spoilt(value, where, {4}), []
    moves = []
    task.hook = _watched(task, moves)
    outcome = train_toy(tmp_path / "run", task, said)
    assert outcome.stop_reason == "steps"
    assert said == ["step 5 skipped: the loss or its gradient is not finite (points line 4)"]
    assert torch.equal(moves[4], moves[5])  # before step 5 and after it
    assert not torch.equal(moves[5], moves[6])
    for path in list_checkpoints(tmp_path / "run"):
        for name in ("model.safetensors", "optimizer.safetensors"):
            assert all(tensor.isfinite().all() for tensor in load_tensors(path / name).values())
    assert load_tensors(path / "optimizer.safetensors")["0.weight.step"] == 11


def _watched(task, moves):
    hook = task.hook

    def watch(loss):
        moves.append(task.model[0].weight.detach().clone())
        return hook(loss)

    return watch


@pytest.mark.parametrize("where", ["loss", "gradient", "batch", "input"])
def test_nothing_but_bad_steps_end_it_with_the_last_good_checkpoint(tmp_path, where):
    task, said = Spoilt(float("nan"), where, range(7, 1000)), []
    with pytest.raises(
        RegardError, match="10 steps in a row up to step 17; .*last good checkpoint is .*step-"
    ) as end:
        train_toy(tmp_path / "run", task, said, steps=100)
    assert "\n" not in str(end.value)
    assert [line.split()[1] for line in said] == [str(step) for step in range(8, 18)]
    for path in list_checkpoints(tmp_path / "run"):
        assert all(tensor.isfinite().all() for tensor in load_tensors(path / "model.safetensors").values())
    assert all(weight.isfinite().all() for weight in task.model.parameters())


def test_nine_in_a_row_are_forgiven_and_a_resume_does_not_forget_them(tmp_path):
    """Eight before the checkpoint that is resumed from, and two after it, are ten."""
    assert (
        train_toy(tmp_path / "nine", Spoilt(float("nan"), "loss", range(2, 11)), steps=15).stop_reason
        == "steps"
    )
    with pytest.raises(KeyboardInterrupt):
        train_toy(tmp_path / "run", Stopped(range(1, 1000), after=10), steps=30)
    assert list_checkpoints(tmp_path / "run")[-1].name == "step-000009"
    with pytest.raises(RegardError, match="10 steps in a row up to step 11"):
        train_toy(tmp_path / "run", Spoilt(float("nan"), "loss", range(1, 1000)), steps=30)


class Stopped(Spoilt):
    def __init__(self, numbers, after):
        super().__init__(float("nan"), "loss", numbers)
        self.after = after

    def loss(self, batch):
        if batch[0] >= self.after:
            raise KeyboardInterrupt
        return super().loss(batch)


def test_a_bad_batch_spoils_the_whole_step_of_several(tmp_path):
    said = []
    train_toy(tmp_path / "run", Spoilt(float("nan"), "batch", {5}), said, accumulate=2)
    assert said == ["step 3 skipped: the loss or its gradient is not finite (points lines 4, 5)"]


def test_the_lines_of_a_skipped_step_are_written(tmp_path, monkeypatch):
    """A translation, with lines that are left out between those that are learned from."""
    source = ["" if i % 7 == 3 else f"{i} and {i + 1}" for i in range(200)]
    target = ["" if i % 5 == 2 else f"plus {i}" for i in range(200)]
    for name, side in (("en", source), ("fr", target)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side))
    files = [str(tmp_path / "en"), str(tmp_path / "fr")]
    run = TranslationRun(
        replace(TINY, d_model=16, heads=2, d_ff=16, encoder_layers=1, decoder_layers=1, vocab_size=300),
        data=DataConfig(
            (files[0],), (files[1],), batch_tokens=256, bleu_pairs=1, cache=str(tmp_path / "cache")
        ),
        train=TrainConfig(steps=6, save_every=6, log_every=3, accumulate=2),
    )
    steps = _poisoned(monkeypatch, number=7)
    console = Console(file=io.StringIO(), highlight=False)
    train_translation(run, tmp_path / "run", console)
    expected = sorted(source.index(text) + 1 for text in steps[6] + steps[7])
    assert 20 < len(expected) == len(set(expected))
    shown, more = ", ".join(map(str, expected[:20])), len(expected) - 20
    where = f"{files[0]} and {files[1]} lines {shown} and {more} more"
    assert f"step 4 skipped: the loss or its gradient is not finite ({where})\n" in console.file.getvalue()
    events = [json.loads(line) for line in (tmp_path / "run" / METRICS_FILE).read_text().splitlines()]
    skips = [event for event in events if event["kind"] == "skip"]
    assert skips == [{"kind": "skip", "step": 4, "files": files, "lines": expected}]


def _poisoned(monkeypatch, number):
    """Spoils one batch of the next training; gathers the source sentences of each."""
    real, seen = TranslationTask.loss, []

    def loss(task, batch):
        rows = batch.source.tokens[0].split(batch.source.starts.diff().tolist())
        seen.append(task.corpora.tokenizer.detokenize([row[:-1].tolist() for row in rows]))
        return real(task, batch) * (float("nan") if len(seen) - 1 == number else 1.0)

    monkeypatch.setattr(TranslationTask, "loss", loss)
    return seen

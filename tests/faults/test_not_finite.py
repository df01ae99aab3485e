"""T8: NaN and infinity never reach the weights."""

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
from regard.training.logs.metrics_file import METRICS_FILE
from regard.training.loop import TrainConfig
from regard.training.weights import load_tensors
from regard.translation.run import TranslationRun
from regard.translation.task import TranslationTask, train_translation

pytestmark = pytest.mark.fault
VALUES = [float("nan"), float("inf"), -float("inf")]


class NotFiniteTask(ToyTask):
    """A toy with a NaN or infinity in the batches `numbers`."""

    def __init__(self, value, place, numbers):
        super().__init__()
        self.value, self.numbers, self.now = value, numbers, None
        if place == "loss":
            self.hook = lambda loss: loss * self.value if self.is_bad() else loss
        if place == "gradient":
            self.model[0].bias.register_hook(
                lambda gradient: gradient + self.value if self.is_bad() else gradient
            )
        if place == "input":
            self.model[1].register_forward_hook(lambda _, __, out: out + self.value if self.is_bad() else out)
        self.place = place

    def is_bad(self):
        return self.now in self.numbers

    def loss(self, batch):
        number, x, y = batch
        self.now = number
        if self.place == "batch" and self.is_bad():
            x = x.clone()
            x[2, 1] = self.value
        return super().loss((number, x, y))

    def validate(self):
        self.now = None
        return super().validate()


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("place", ["loss", "gradient", "batch", "input"])
def test_a_step_that_is_not_finite_is_skipped_and_reported(tmp_path, value, place):
    task, messages = NotFiniteTask(value, place, {4}), []
    weights = []
    task.hook = _record_weights(task, weights)
    result = train_toy(tmp_path / "run", task, messages)
    assert result.stop_reason == "steps"
    assert messages == ["step 5 skipped: the loss or its gradient is not finite (points line 4)"]
    assert torch.equal(weights[4], weights[5])  # before step 5 and after it
    assert not torch.equal(weights[5], weights[6])
    for path in list_checkpoints(tmp_path / "run"):
        for name in ("model.safetensors", "optimizer.safetensors"):
            assert all(tensor.isfinite().all() for tensor in load_tensors(path / name).values())
    assert load_tensors(path / "optimizer.safetensors")["0.weight.step"] == 11


def _record_weights(task, weights):
    hook = task.hook

    def record(loss):
        weights.append(task.model[0].weight.detach().clone())
        return hook(loss)

    return record


@pytest.mark.parametrize("place", ["loss", "gradient", "batch", "input"])
def test_ten_bad_steps_in_a_row_end_the_training_at_the_last_good_checkpoint(tmp_path, place):
    task, messages = NotFiniteTask(float("nan"), place, range(7, 1000)), []
    with pytest.raises(
        RegardError, match="10 steps in a row up to step 17; .*last good checkpoint is .*step-"
    ) as end:
        train_toy(tmp_path / "run", task, messages, steps=100)
    assert "\n" not in str(end.value)
    assert [line.split()[1] for line in messages] == [str(step) for step in range(8, 18)]
    for path in list_checkpoints(tmp_path / "run"):
        assert all(tensor.isfinite().all() for tensor in load_tensors(path / "model.safetensors").values())
    assert all(weight.isfinite().all() for weight in task.model.parameters())


def test_nine_bad_steps_in_a_row_are_allowed_and_counted_across_a_resume(tmp_path):
    """Eight before the checkpoint that is resumed, and two after it, are ten."""
    assert (
        train_toy(tmp_path / "nine", NotFiniteTask(float("nan"), "loss", range(2, 11)), steps=15).stop_reason
        == "steps"
    )
    with pytest.raises(KeyboardInterrupt):
        train_toy(tmp_path / "run", StoppingTask(range(1, 1000), after=10), steps=30)
    assert list_checkpoints(tmp_path / "run")[-1].name == "step-000009"
    with pytest.raises(RegardError, match="10 steps in a row up to step 11"):
        train_toy(tmp_path / "run", NotFiniteTask(float("nan"), "loss", range(1, 1000)), steps=30)


class StoppingTask(NotFiniteTask):
    def __init__(self, numbers, after):
        super().__init__(float("nan"), "loss", numbers)
        self.after = after

    def loss(self, batch):
        if batch[0] >= self.after:
            raise KeyboardInterrupt
        return super().loss(batch)


def test_a_bad_batch_skips_the_whole_accumulated_step(tmp_path):
    messages = []
    train_toy(tmp_path / "run", NotFiniteTask(float("nan"), "batch", {5}), messages, accumulate=2)
    assert messages == ["step 3 skipped: the loss or its gradient is not finite (points lines 4, 5)"]


def test_the_lines_of_a_skipped_step_are_logged(tmp_path, monkeypatch):
    """Of a translation corpus with excluded lines between the others."""
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
    batches = _poison_batch(monkeypatch, number=7)
    console = Console(file=io.StringIO(), highlight=False)
    train_translation(run, tmp_path / "run", console)
    expected = sorted(source.index(text) + 1 for text in batches[6] + batches[7])
    assert 20 < len(expected) == len(set(expected))
    listed, more = ", ".join(map(str, expected[:20])), len(expected) - 20
    lines = f"{files[0]} and {files[1]} lines {listed} and {more} more"
    assert f"step 4 skipped: the loss or its gradient is not finite ({lines})\n" in console.file.getvalue()
    events = [json.loads(line) for line in (tmp_path / "run" / METRICS_FILE).read_text().splitlines()]
    skips = [event for event in events if event["kind"] == "skip"]
    assert skips == [{"kind": "skip", "step": 4, "files": files, "lines": expected}]


def _poison_batch(monkeypatch, number):
    """Make the loss of one batch NaN; return a list that collects the source sentences of each batch."""
    real, batches = TranslationTask.loss, []

    def loss(task, batch):
        rows = batch.source.tokens[0].split(batch.source.starts.diff().tolist())
        batches.append(task.corpora.tokenizer.detokenize([row[:-1].tolist() for row in rows]))
        return real(task, batch) * (float("nan") if len(batches) - 1 == number else 1.0)

    monkeypatch.setattr(TranslationTask, "loss", loss)
    return batches

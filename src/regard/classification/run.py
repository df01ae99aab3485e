"""Classification, from labelled texts to a model folder."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float64, Int64
from rich.console import Console
from torch import Tensor

from regard.classification.config import LabelledConfig
from regard.classification.corpus import LabelledCorpora, labelled_fingerprints, prepare_labelled
from regard.classification.model_folder import TASK, TOKENIZER, fill_classifier
from regard.classification.task import LabelLossConfig, label_loss, label_scores
from regard.config import to_toml
from regard.corpus.prepare import write_report
from regard.data.batch import LabelBatch, label_batch
from regard.data.bucketing import by_length
from regard.data.prefetch import ahead
from regard.data.stream import BatchPlan, stream
from regard.data.stream import Position as Place
from regard.errors import require
from regard.metrics.classification import (
    accuracy,
    calibration_error,
    confusion,
    fit_temperature,
    negative_log_likelihood,
)
from regard.model.classifier import Classifier, ClassifierConfig
from regard.text.tokenizer import PAD, load_tokenizer
from regard.train.device import ComputeConfig, choose_device
from regard.train.harness import train_run
from regard.train.logs.console import header
from regard.train.loop import Outcome, TrainConfig
from regard.train.loss import smoothing_floor
from regard.train.model_card import Draw, Words
from regard.train.optimizer import OptimizerConfig
from regard.train.setup import Course, with_device
from regard.train.step import EagerStep, Learner, Step
from regard.train.task import Counts, Lines, Position, Sample, Validation

AHEAD = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
SAMPLES = 3
"""Texts that are watched through the whole training."""
SHOWN = 6
"""Labels whose counts a header has room for."""


SMALL_MODEL = ClassifierConfig(
    d_model=128,
    heads=4,
    d_ff=256,
    encoder_layers=2,
    dropout=0.4,
    norm="pre",
    position="learned",
    piece_dropout=0.2,
    vocab_size=16_000,
    max_length=256,
)
"""For some thousand texts."""


@dataclass(frozen=True)
class ClassificationRun:
    """All settings of a run, one TOML section each."""

    task: ClassVar[str] = TASK
    model: ClassifierConfig = SMALL_MODEL
    data: LabelledConfig = field(default_factory=LabelledConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LabelLossConfig = field(default_factory=LabelLossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    def __post_init__(self) -> None:
        judge = self.train.judge
        require(judge in ("loss", "accuracy"), "train.judge", judge, "it must be loss or accuracy")


SMALL = ClassificationRun(
    optimizer=OptimizerConfig(peak=0.001, warmup=100, cooldown=1000, weight_decay=0.1),
    loss=LabelLossConfig(label_smoothing=0.1),
    train=TrainConfig(steps=1000, save_every=100, ema=0.99, judge="accuracy"),
)
"""What suits a small corpus; a plan sets how long."""


def train_classification(
    run: ClassificationRun, out: Path, console: Console, draw: Draw | None = None
) -> Outcome:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model.

    `draw` makes the curves that go with it.
    """

    def make(begun: Path | None) -> ClassificationTask:
        tokenizer = load_tokenizer(begun / TOKENIZER) if begun else None
        model, seed = run.model, run.train.seed
        labelled = prepare_labelled(run.data, model.vocab_size, model.max_length, seed, console, tokenizer)
        return ClassificationTask(with_device(run, begun), labelled)

    return train_run(run, out, console, lambda: labelled_fingerprints(run.data, console), make, draw)


class ClassificationTask:
    """Classification as the training loop sees it: satisfies `train.trainable.Trainable`."""

    def __init__(self, run: ClassificationRun, labelled: LabelledCorpora) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are."""
        self.corpora, self._labelled = labelled.corpora, labelled
        tokenizer = self.corpora.tokenizer
        self._run = run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        torch.manual_seed(run.train.seed)
        device = choose_device(run.compute.device)
        self.model = Classifier(run.model, len(labelled.labels), PAD).to(device)
        self.course = Course(run, self.model)
        self._device = device

    def plan(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model, run, labels = self._run.model, self._run, self._labelled.labels
        layers = f"{model.encoder_layers} layer{'s' if model.encoder_layers > 1 else ''}"
        size = f"{layers}, {model.d_model} wide, {model.heads} heads, {model.vocab_size:,} pieces"
        yield from header([("model", f"{size}: {self.course.parameters:,} parameters")])
        yield from self.corpora.plan()
        counts = sorted(self._labelled.counts.items(), key=lambda each: -each[1])
        said = ", ".join(f"{label} {number:,}" for label, number in counts[:SHOWN])
        more = f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else ""
        yield from header([("labels", f"{len(labels)}: {said}{more}")])
        for report in self.corpora.report["train"]["corpora"]:
            for finding in report["findings"]:
                if finding["kind"] in ("conflict", "imbalance", "rare label"):
                    what = finding.get("detail") or f"{finding['count']:,} texts: {finding['meaning']}"
                    yield f"NOTE    {what}; {finding['remedy']}"
        if dropout := run.data.bpe_dropout:
            yield from header(
                [("", f"cut into pieces {run.data.bpe_variants} ways, with dropout {dropout:g}")]
            )
        yield from self.course.plan(self._amount)

    @property
    def _amount(self) -> str:
        """What a step sees."""
        data, batches = self._run.data, self._run.train.accumulate
        if data.batch_texts is None:
            return f"{data.batch_tokens * batches:,} tokens"
        return f"{data.batch_texts * batches:,} texts"

    @property
    def words(self) -> Words:
        return Words(
            learnt="classify texts",
            unit="texts",
            command='regard classify THIS_FOLDER <<< "A text."',
            judged="accuracy, and the mean of all labels' F1, in percent",
            scores={
                "accuracy": "accuracy, %",
                "macro_f1": "macro F1, %",
                "loss": "loss, nats a text",
                "calibration_error": "calibration error, %",
                "calibrated_error": "calibration error with the temperature, %",
                "temperature": "temperature",
            },
        )

    def facts(self) -> dict[str, object]:
        """What the curves of a classifier are to be compared with."""
        counts, smoothing = self._labelled.counts, self._run.loss.label_smoothing
        return {
            "label_smoothing": smoothing,
            "loss_floor": smoothing_floor(smoothing, len(counts)),
            "scores": {"accuracy": "accuracy", "macro_f1": "macro F1"},
            "loss_title": "Loss, nats per text",
        }

    def write_report(self, out: Path) -> None:
        write_report(out, self.corpora)

    def step(self, learner: Learner) -> Step[LabelBatch]:
        return EagerStep(self, learner, self._run.train.seed, self._run.train.clip)

    def batches(self, start: Position) -> Iterator[tuple[LabelBatch, Position]]:
        batches = self._batches(start)
        return ahead(batches, AHEAD) if self._device.type == "cuda" else batches

    def _batches(self, start: Position) -> Iterator[tuple[LabelBatch, Position]]:
        texts, plan = self.corpora.train, BatchPlan(self._run.data.batch_tokens, self._run.data.batch_texts)
        for indexes, after in stream(texts, plan, self._run.train.seed, Place(**start)):
            batch = label_batch(texts.source, texts.target, indexes)
            yield batch.pinned() if self._device.type == "cuda" else batch, asdict(after)

    def counts(self, batch: LabelBatch) -> Counts:
        return Counts(batch.tokens, len(batch.rows))

    def loss(self, batch: LabelBatch) -> Tensor:
        with self.course.computing():
            return label_loss(self.model, batch.to(self._device), self._run.loss.label_smoothing)

    def where(self, batch: LabelBatch) -> list[Lines]:
        return self.corpora.lines_of(batch.rows)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

    def validate(self) -> Validation:
        """Loss without smoothing, accuracy, macro F1, and how well the model knows how sure it may be."""
        self.model.eval()
        scores, true = self._valid_scores()
        found = accuracy(confusion(true, scores.argmax(axis=1), len(self._labelled.labels)))
        temperature = fit_temperature(scores, true)
        return Validation(
            metrics={
                "loss": negative_log_likelihood(scores, true),
                "accuracy": 100 * found.accuracy,
                "macro_f1": 100 * found.macro_f1,
                "calibration_error": 100 * calibration_error(scores, true),
                "calibrated_error": 100 * calibration_error(scores, true, temperature),
                "temperature": temperature,
            },
            samples=self._watched(scores, true),
            titles=("text", "label", "given"),
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        facts = {
            "parameters": self.course.parameters,
            "trained_on": {
                "texts": len(corpora.train),
                "labels": self._labelled.counts,
                "files": dict(corpora.fingerprint),
                "left_out": dict(corpora.report["train"]["left_out"]),
            },
            "validated_on": {
                "texts": len(corpora.valid),
                "files": dict(corpora.valid_fingerprint),
                "left_out": dict(corpora.report["valid"]["left_out"]),
            },
        }
        settings, labels = to_toml(self._run), self._labelled.labels
        return fill_classifier(folder, self.model, corpora.tokenizer, labels, settings, facts)

    @torch.no_grad()
    def _valid_scores(self) -> tuple[Float64[np.ndarray, "texts classes"], Int64[np.ndarray, " texts"]]:
        """What the model says of the validation texts, in their order, and what is true."""
        texts = self.corpora.valid
        scores = np.zeros((len(texts), len(self._labelled.labels)))
        true = texts.target.flat[texts.target.starts[:-1]].astype(np.int64)
        for indexes in by_length(texts.source.lengths, max(self._run.data.batch_tokens, 4096)):
            batch = label_batch(texts.source, texts.target, indexes).to(self._device)
            with self.course.computing():
                scores[indexes] = label_scores(self.model, batch).double().cpu().numpy()
        return scores, true

    def _watched(
        self, scores: Float64[np.ndarray, "texts classes"], true: Int64[np.ndarray, " texts"]
    ) -> list[Sample]:
        """Some texts, spread over the validation part: what they are, and what the model takes them for."""
        labels, texts = self._labelled.labels, self.corpora.valid_texts
        chosen = np.linspace(0, len(true) - 1, min(SAMPLES, len(true))).round().astype(int).tolist()
        return [
            Sample(texts[index][0], labels[true[index]], labels[int(scores[index].argmax())])
            for index in chosen
        ]

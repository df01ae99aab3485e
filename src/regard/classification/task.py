"""Classification as a training task: from labelled texts to a model folder."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from rich.console import Console
from torch import Tensor
from torch.nn import functional

from regard.classification.corpus import LabelledCorpora, hash_labelled_files, prepare_labelled_corpora
from regard.classification.model_folder import TOKENIZER_FILE, write_classifier_files
from regard.classification.run import ClassificationRun
from regard.config import to_toml
from regard.corpus.prepare import write_data_report
from regard.data.batch import LabelBatch, make_label_batch
from regard.data.bucketing import bucket_by_length
from regard.data.prefetch import prefetch_items
from regard.data.stream import StreamPosition as Place
from regard.data.stream import TokenBudget, stream_batches
from regard.metrics.classification import (
    classification_metrics,
    confusion_matrix,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
)
from regard.model.classifier import TransformerClassifier
from regard.model.masks import PackedSequences
from regard.text.tokenizer import PAD, load_tokenizer
from regard.train.device import choose_device
from regard.train.harness import train_and_publish
from regard.train.logs.console import format_header
from regard.train.loop import TrainingResult
from regard.train.loss import label_smoothing_floor
from regard.train.model_card import CardText, CurvesRenderer
from regard.train.setup import TrainingSetup, resolve_device
from regard.train.step import EagerStep, Learner, TrainStep
from regard.train.task import BatchCounts, DataPosition, FileLines, ValidationResult, ValidationSample

PREFETCH_BATCHES = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
SAMPLE_TEXTS = 3
"""Texts that are watched through the whole training."""
MAX_LISTED_LABELS = 6
"""Labels whose counts a header has room for."""


def train_classification(
    run: ClassificationRun, out: Path, console: Console, render_curves: CurvesRenderer | None = None
) -> TrainingResult:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model.

    `draw` makes the curves that go with it.
    """

    def make(begun: Path | None) -> ClassificationTask:
        tokenizer = load_tokenizer(begun / TOKENIZER_FILE) if begun else None
        model, seed = run.model, run.train.seed
        labelled = prepare_labelled_corpora(
            run.data, model.vocab_size, model.max_length, seed, console, tokenizer
        )
        return ClassificationTask(resolve_device(run, begun), labelled)

    return train_and_publish(
        run, out, console, lambda: hash_labelled_files(run.data, console), make, render_curves
    )


class ClassificationTask:
    """Classification as the training loop sees it: satisfies `train.trainable.Trainable`."""

    def __init__(self, run: ClassificationRun, labelled: LabelledCorpora) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are."""
        self.corpora, self._labelled = labelled.corpora, labelled
        tokenizer = self.corpora.tokenizer
        self._run = run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        torch.manual_seed(run.train.seed)
        device = choose_device(run.compute.device)
        self.model = TransformerClassifier(run.model, len(labelled.labels), PAD).to(device)
        self.setup = TrainingSetup(run, self.model)
        self._device = device

    def describe(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model, run, labels = self._run.model, self._run, self._labelled.labels
        layers = f"{model.encoder_layers} layer{'s' if model.encoder_layers > 1 else ''}"
        size = f"{layers}, {model.d_model} wide, {model.heads} heads, {model.vocab_size:,} pieces"
        yield from format_header([("model", f"{size}: {self.setup.parameter_count:,} parameters")])
        yield from self.corpora.describe()
        counts = sorted(self._labelled.label_counts.items(), key=lambda each: -each[1])
        said = ", ".join(f"{label} {number:,}" for label, number in counts[:MAX_LISTED_LABELS])
        more = f" and {len(counts) - MAX_LISTED_LABELS} more" if len(counts) > MAX_LISTED_LABELS else ""
        yield from format_header([("labels", f"{len(labels)}: {said}{more}")])
        for report in self.corpora.report["train"]["corpora"]:
            for finding in report["findings"]:
                if finding["kind"] in ("conflict", "imbalance", "rare label"):
                    what = finding.get("detail") or f"{finding['count']:,} texts: {finding['meaning']}"
                    yield f"NOTE    {what}; {finding['remedy']}"
        if dropout := run.data.bpe_dropout:
            yield from format_header(
                [("", f"cut into pieces {run.data.bpe_variants} ways, with dropout {dropout:g}")]
            )
        yield from self.setup.describe(self._step_size_text)

    @property
    def _step_size_text(self) -> str:
        """What a step sees."""
        data, batches = self._run.data, self._run.train.accumulate
        if data.batch_texts is None:
            return f"{data.batch_tokens * batches:,} tokens"
        return f"{data.batch_texts * batches:,} texts"

    @property
    def card_text(self) -> CardText:
        return CardText(
            task_verb="classify texts",
            unit="texts",
            usage_command='regard classify THIS_FOLDER <<< "A text."',
            evaluation="accuracy, and the mean of all labels' F1, in percent",
            score_names={
                "accuracy": "accuracy, %",
                "macro_f1": "macro F1, %",
                "loss": "loss, nats a text",
                "calibration_error": "calibration error, %",
                "calibrated_error": "calibration error with the temperature, %",
                "temperature": "temperature",
            },
        )

    def run_metadata(self) -> dict[str, object]:
        """What the curves of a classifier are to be compared with."""
        counts, smoothing = self._labelled.label_counts, self._run.loss.label_smoothing
        return {
            "label_smoothing": smoothing,
            "loss_floor": label_smoothing_floor(smoothing, len(counts)),
            "scores": {"accuracy": "accuracy", "macro_f1": "macro F1"},
            "loss_title": "Loss, nats per text",
        }

    def write_data_report(self, out: Path) -> None:
        write_data_report(out, self.corpora)

    def make_step(self, learner: Learner) -> TrainStep[LabelBatch]:
        return EagerStep(self, learner, self._run.train.seed, self._run.train.clip)

    def batches(self, start: DataPosition) -> Iterator[tuple[LabelBatch, DataPosition]]:
        batches = self._batches(start)
        return prefetch_items(batches, PREFETCH_BATCHES) if self._device.type == "cuda" else batches

    def _batches(self, start: DataPosition) -> Iterator[tuple[LabelBatch, DataPosition]]:
        texts, plan = self.corpora.train, TokenBudget(self._run.data.batch_tokens, self._run.data.batch_texts)
        for indexes, after in stream_batches(texts, plan, self._run.train.seed, Place(**start)):
            batch = make_label_batch(texts.source, texts.target, indexes)
            yield batch.pin_memory() if self._device.type == "cuda" else batch, asdict(after)

    def batch_counts(self, batch: LabelBatch) -> BatchCounts:
        return BatchCounts(batch.token_count, len(batch.text_indexes))

    def loss(self, batch: LabelBatch) -> Tensor:
        with self.setup.autocast():
            return label_loss(self.model, batch.to(self._device), self._run.loss.label_smoothing)

    def locate_lines(self, batch: LabelBatch) -> list[FileLines]:
        return self.corpora.training_lines(batch.text_indexes)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

    def validate(self) -> ValidationResult:
        """Loss without smoothing, accuracy, macro F1, and how well the model knows how sure it may be."""
        self.model.eval()
        scores, true = self._score_validation_texts()
        found = classification_metrics(
            confusion_matrix(true, scores.argmax(axis=1), len(self._labelled.labels))
        )
        temperature = fit_temperature(scores, true)
        return ValidationResult(
            metrics={
                "loss": negative_log_likelihood(scores, true),
                "accuracy": 100 * found.accuracy,
                "macro_f1": 100 * found.macro_f1,
                "calibration_error": 100 * expected_calibration_error(scores, true),
                "calibrated_error": 100 * expected_calibration_error(scores, true, temperature),
                "temperature": temperature,
            },
            samples=self._validation_samples(scores, true),
            sample_titles=("text", "label", "given"),
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        facts = {
            "parameters": self.setup.parameter_count,
            "trained_on": {
                "texts": len(corpora.train),
                "labels": self._labelled.label_counts,
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
        return write_classifier_files(folder, self.model, corpora.tokenizer, labels, settings, facts)

    @torch.no_grad()
    def _score_validation_texts(
        self,
    ) -> tuple[Float64[np.ndarray, "texts classes"], Int64[np.ndarray, " texts"]]:
        """What the model says of the validation texts, in their order, and what is true."""
        texts = self.corpora.valid
        scores = np.zeros((len(texts), len(self._labelled.labels)))
        true = texts.target.flat[texts.target.starts[:-1]].astype(np.int64)
        for indexes in bucket_by_length(texts.source.lengths, max(self._run.data.batch_tokens, 4096)):
            batch = make_label_batch(texts.source, texts.target, indexes).to(self._device)
            with self.setup.autocast():
                scores[indexes] = label_logits(self.model, batch).double().cpu().numpy()
        return scores, true

    def _validation_samples(
        self, scores: Float64[np.ndarray, "texts classes"], true: Int64[np.ndarray, " texts"]
    ) -> list[ValidationSample]:
        """Some texts, spread over the validation part: what they are, and what the model takes them for."""
        labels, texts = self._labelled.labels, self.corpora.valid_texts
        chosen = np.linspace(0, len(true) - 1, min(SAMPLE_TEXTS, len(true))).round().astype(int).tolist()
        return [
            ValidationSample(texts[index][0], labels[true[index]], labels[int(scores[index].argmax())])
            for index in chosen
        ]


def label_loss(model: TransformerClassifier, batch: LabelBatch, label_smoothing: float) -> Float[Tensor, ""]:
    """Summed over the texts."""
    scores = label_logits(model, batch)
    return functional.cross_entropy(scores, batch.labels, label_smoothing=label_smoothing, reduction="sum")


def label_logits(model: TransformerClassifier, batch: LabelBatch) -> Float[Tensor, "texts classes"]:
    """Of every label for every text, in fp32 whatever the model computes in."""
    texts = batch.texts
    return model(texts.tokens, PackedSequences(texts.starts, texts.positions, batch.max_length)).float()

"""Classification as a training task: loss, batches, validation and the training entry point."""

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
from regard.data.stream import StreamPosition, TokenBudget, count_epoch_batches, stream_batches
from regard.metrics.classification import (
    classification_metrics,
    confusion_matrix,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
)
from regard.model.masks import PackedSequences
from regard.model.transformer_classifier import TransformerClassifier
from regard.text.corpus_files import FileLines
from regard.text.tokenizer import PAD
from regard.text.tokenizer_file import load_tokenizer
from regard.training.customization import NO_CUSTOMIZATION, Customization, sum_custom_loss
from regard.training.device import choose_device
from regard.training.harness import train_and_publish
from regard.training.logs.console import format_header
from regard.training.loop import TrainingResult
from regard.training.loss import label_smoothing_floor
from regard.training.model_card import CardText, CurvesRenderer
from regard.training.setup import Schedule, TrainingSetup, resolve_device
from regard.training.state import ResumePoint
from regard.training.step import EagerStep, Learner, TrainStep
from regard.training.task import BatchCounts, DataPosition, ValidationResult, ValidationSample

PREFETCH_BATCHES = 8
"""Batches prepared ahead on a GPU, so that it never waits for one."""
SAMPLE_TEXTS = 3
"""Validation texts that are logged at every validation."""
MAX_LISTED_LABELS = 6
"""Labels whose counts are printed before training."""
MIN_VALIDATION_TOKENS = 4096
"""Tokens of a validation batch, at least: without gradients it needs little memory."""
REPORTED_FINDINGS = ("conflict", "imbalance", "rare label")
"""Findings of the corpus checks that are printed before training."""


def train_classification(
    run: ClassificationRun,
    out: Path,
    console: Console,
    render_curves: CurvesRenderer | None = None,
    custom: Customization = NO_CUSTOMIZATION,
) -> TrainingResult:
    """Prepare the corpora, train, and write the best model to `out`/model.

    `render_curves` draws the training curves that are stored with the model.
    """

    def make_task(checkpoint: ResumePoint | None) -> ClassificationTask:
        tokenizer = load_tokenizer(checkpoint.folder / TOKENIZER_FILE) if checkpoint else None
        labelled = prepare_labelled_corpora(
            run.data, run.model.vocab_size, run.model.max_length, run.train.seed, console, tokenizer
        )
        return ClassificationTask(resolve_device(run, checkpoint and checkpoint.folder), labelled, custom)

    return train_and_publish(
        run, out, console, lambda: hash_labelled_files(run.data, console), make_task, render_curves, custom
    )


class ClassificationTask:
    """Classification as the training loop sees it: implements `train.harness.TrainingTask`."""

    def __init__(
        self, run: ClassificationRun, labelled: LabelledCorpora, custom: Customization = NO_CUSTOMIZATION
    ) -> None:
        """Build the model with the vocabulary that the corpus has, which may be smaller than requested."""
        self.corpora, self._labelled = labelled.corpora, labelled
        tokenizer = self.corpora.tokenizer
        self._run = run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        torch.manual_seed(run.train.seed)
        device = choose_device(run.compute.device)
        self._custom, self._custom_loss = custom, custom.loss_on(device)
        self.model = custom.build(TransformerClassifier, run.model, len(labelled.labels), PAD).to(device)
        self.setup = TrainingSetup(run, self.model)
        self._device = device

    def describe(self) -> Iterator[str]:
        """Yield the lines printed before training: model, data, labels, device and length."""
        model, run, labels = self._run.model, self._run, self._labelled.labels
        layers = f"{model.encoder_layers} layer{'s' if model.encoder_layers > 1 else ''}"
        sizes = f"{layers}, d_model {model.d_model}, {model.heads} heads, vocabulary {model.vocab_size:,}"
        yield from format_header([("model", f"{sizes}: {self.setup.parameter_count:,} parameters")])
        yield from self.corpora.describe()
        counts = sorted(self._labelled.label_counts.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{label} {count:,}" for label, count in counts[:MAX_LISTED_LABELS])
        more = f" and {len(counts) - MAX_LISTED_LABELS} more" if len(counts) > MAX_LISTED_LABELS else ""
        yield from format_header([("labels", f"{len(labels)}: {listed}{more}")])
        for report in self.corpora.report["train"]["corpora"]:
            for finding in report["findings"]:
                if finding["kind"] in REPORTED_FINDINGS:
                    detail = finding.get("detail") or f"{finding['count']:,} texts: {finding['meaning']}"
                    yield f"NOTE    {detail}; {finding['remedy']}"
        if dropout := run.data.bpe_dropout:
            yield from format_header(
                [("", f"{run.data.bpe_variants} tokenizations per text, with BPE dropout {dropout:g}")]
            )
        yield from self.setup.describe(self._step_size_text)

    @property
    def _step_size_text(self) -> str:
        """How much data one optimizer step uses."""
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
            evaluation="accuracy, and macro F1 (the mean F1 over all labels), in percent",
            score_names={
                "accuracy": "accuracy, %",
                "macro_f1": "macro F1, %",
                "loss": "loss, nats per text",
                "calibration_error": "calibration error, %",
                "calibrated_error": "calibration error with temperature, %",
                "temperature": "temperature",
            },
        )

    def run_metadata(self) -> dict[str, object]:
        """Return reference values and titles for the training curves."""
        counts, smoothing = self._labelled.label_counts, self._run.loss.label_smoothing
        floor = {"label_smoothing": smoothing, "loss_floor": label_smoothing_floor(smoothing, len(counts))}
        return {
            **(floor if self._custom_loss is None else {}),
            "scores": {"accuracy": "accuracy", "macro_f1": "macro F1"},
            "loss_title": "Loss, nats per text",
        }

    def write_data_report(self, out: Path) -> None:
        write_data_report(out, self.corpora)

    def calibrate(self, folder: Path) -> Mapping[str, object]:  # noqa: ARG002
        """Return nothing; the temperature is a metric of every validation."""
        return {}

    def set_schedule(self, schedule: Schedule) -> None:
        self._run = replace(self._run, optimizer=schedule.optimizer, train=schedule.train)
        self.setup = replace(self.setup, run=self._run)

    def make_step(self, learner: Learner) -> TrainStep[LabelBatch]:
        return EagerStep(self, learner, self._run.train.seed, self._run.train.clip)

    def batches(self, start: DataPosition) -> Iterator[tuple[LabelBatch, DataPosition]]:
        batches = self._batches(start)
        return prefetch_items(batches, PREFETCH_BATCHES) if self._device.type == "cuda" else batches

    def _batches(self, start: DataPosition) -> Iterator[tuple[LabelBatch, DataPosition]]:
        texts, seed = self.corpora.train, self._run.train.seed
        for indexes, position in stream_batches(texts, self._token_budget, seed, StreamPosition(**start)):
            batch = make_label_batch(texts.source, texts.target, indexes)
            yield batch.pin_memory() if self._device.type == "cuda" else batch, asdict(position)

    def count_epoch_batches(self) -> int:
        return count_epoch_batches(self.corpora.train, self._token_budget, self._run.train.seed)

    @property
    def _token_budget(self) -> TokenBudget:
        return TokenBudget(self._run.data.batch_tokens, self._run.data.batch_texts)

    def batch_counts(self, batch: LabelBatch) -> BatchCounts:
        return BatchCounts(batch.token_count, len(batch.text_indexes))

    def loss(self, batch: LabelBatch) -> Tensor:
        with self.setup.autocast():
            batch = batch.to(self._device)
            if self._custom_loss is not None:
                return sum_custom_loss(self._custom_loss, label_logits(self.model, batch), batch.labels)
            return label_loss(self.model, batch, self._run.loss.label_smoothing)

    def locate_lines(self, batch: LabelBatch) -> list[FileLines]:
        return self.corpora.training_lines(batch.text_indexes)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

    def validate(self) -> ValidationResult:
        """Return loss without label smoothing, accuracy, macro F1 and calibration on the validation texts."""
        self.model.eval()
        logits, labels = self._validation_logits()
        scores = classification_metrics(
            confusion_matrix(labels, logits.argmax(axis=1), len(self._labelled.labels))
        )
        temperature = fit_temperature(logits, labels)
        return ValidationResult(
            metrics={
                "loss": negative_log_likelihood(logits, labels),
                "accuracy": 100 * scores.accuracy,
                "macro_f1": 100 * scores.macro_f1,
                "calibration_error": 100 * expected_calibration_error(logits, labels),
                "calibrated_error": 100 * expected_calibration_error(logits, labels, temperature),
                "temperature": temperature,
            },
            samples=self._validation_samples(logits, labels),
            sample_titles=("text", "label", "predicted"),
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        metadata = {
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
        metadata |= self._custom.manifest_entries
        settings, labels = to_toml(self._run), self._labelled.labels
        return write_classifier_files(folder, self.model, corpora.tokenizer, labels, settings, metadata)

    @torch.no_grad()
    def _validation_logits(
        self,
    ) -> tuple[Float64[np.ndarray, "texts classes"], Int64[np.ndarray, " texts"]]:
        """Return the logits of the validation texts and their true labels, in file order."""
        texts = self.corpora.valid
        logits = np.zeros((len(texts), len(self._labelled.labels)))
        labels = texts.target.flat[texts.target.starts[:-1]].astype(np.int64)
        batch_tokens = max(self._run.data.batch_tokens, MIN_VALIDATION_TOKENS)
        for indexes in bucket_by_length(texts.source.lengths, batch_tokens):
            batch = make_label_batch(texts.source, texts.target, indexes).to(self._device)
            with self.setup.autocast():
                logits[indexes] = label_logits(self.model, batch).double().cpu().numpy()
        return logits, labels

    def _validation_samples(
        self, logits: Float64[np.ndarray, "texts classes"], true: Int64[np.ndarray, " texts"]
    ) -> list[ValidationSample]:
        """Return evenly spaced validation texts, each with its true and its predicted label."""
        labels, texts = self._labelled.labels, self.corpora.valid_texts
        indexes = np.linspace(0, len(true) - 1, min(SAMPLE_TEXTS, len(true))).round().astype(int).tolist()
        return [
            ValidationSample(texts[index][0], labels[true[index]], labels[int(logits[index].argmax())])
            for index in indexes
        ]


def label_loss(model: TransformerClassifier, batch: LabelBatch, label_smoothing: float) -> Float[Tensor, ""]:
    """Return the cross-entropy, summed over the texts."""
    logits = label_logits(model, batch)
    return functional.cross_entropy(logits, batch.labels, label_smoothing=label_smoothing, reduction="sum")


def label_logits(model: TransformerClassifier, batch: LabelBatch) -> Float[Tensor, "texts classes"]:
    """Return the logit of every label for every text, in fp32 whatever precision the model computes in."""
    texts = batch.texts
    return model(texts.tokens, PackedSequences(texts.starts, texts.positions, batch.max_length)).float()

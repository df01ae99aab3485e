"""LabelPredictor: labels and calibrated probabilities for texts, from a model folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from regard.classification.model_folder import BuildClassifier, LoadedClassifier, load_classifier
from regard.data.bucketing import bucket_by_length
from regard.data.pairs import concatenate_rows
from regard.errors import require_setting
from regard.metrics.classification import class_probabilities
from regard.text.labelled_files import clean_text
from regard.text.tokenizer import Tokenizer
from regard.text.unicode import reject_lone_surrogates
from regard.training.device import DeviceChoice, choose_device

if TYPE_CHECKING:
    from regard.model.transformer_classifier import TransformerClassifier

BATCH_TOKENS = 8192
"""Tokens per batch, class tokens included."""


@dataclass(frozen=True)
class Classification:
    """The predicted label of a text, with the probability of every label."""

    label: str
    probability: float
    """Calibrated: of the labels predicted with 0.8, about 80 % are right on texts like the training texts."""
    probabilities: dict[str, float]
    """The probability of every label, most probable first; they sum to 1."""
    truncated: bool = False
    """Whether the text has more tokens than the model reads, and only its beginning was used."""


class LabelPredictor:
    """Predicts labels with one model; the result for a text does not depend on the other texts."""

    def __init__(
        self,
        network: "TransformerClassifier",
        tokenizer: Tokenizer,
        labels: Sequence[str],
        temperature: float,
    ) -> None:
        self.labels, self.temperature = tuple(labels), temperature
        self.network, self.tokenizer = network, tokenizer

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: DeviceChoice = "auto",
        *,
        threads: int | None = None,
        build_model: BuildClassifier | None = None,
    ) -> "LabelPredictor":
        """Load the model that `regard train` wrote to `folder`; `threads` limits the CPU threads of torch.

        `build_model` is that of a custom model (docs/python.md).
        """
        import torch

        require_setting(threads is None or threads >= 1, "threads", threads, "it must be at least 1")
        if threads is not None:
            torch.set_num_threads(threads)
        return cls.from_loaded(load_classifier(Path(folder), build_model), device)

    @classmethod
    def from_loaded(cls, loaded: LoadedClassifier, device: DeviceChoice = "auto") -> "LabelPredictor":
        """Move a loaded model to a device and make it ready to classify."""
        network = loaded.network.to(choose_device(device))
        return cls(network, loaded.tokenizer, loaded.labels, loaded.temperature)

    def classify(
        self, texts: Sequence[str], *, on_done: Callable[[int], None] | None = None
    ) -> list[Classification]:
        """Classify texts, in order; of a text with too many tokens, the beginning is used.

        A blank text is classified too: it gets the distribution that the model predicts without input.
        `on_done` is called after each batch with the number of texts in it.
        """
        _check_texts(texts)
        rows = self._tokenize(texts)
        probabilities = self._probabilities(rows, on_done or (lambda _: None))
        return [
            self._classification(distribution, truncated=len(row) > self.network.max_tokens)
            for distribution, row in zip(probabilities, rows, strict=True)
        ]

    def probabilities(self, texts: Sequence[str]) -> Float64[np.ndarray, "texts classes"]:
        """Return the calibrated probability of every label for every text."""
        _check_texts(texts)
        return self._probabilities(self._tokenize(texts), lambda _: None)

    def logits(self, texts: Sequence[str]) -> Float64[np.ndarray, "texts classes"]:
        """Return the logit of every label for every text, before temperature and softmax."""
        return self._logits(self._tokenize(texts), lambda _: None)

    def _probabilities(
        self, rows: Sequence[Sequence[int]], on_done: Callable[[int], None]
    ) -> Float64[np.ndarray, "texts classes"]:
        return class_probabilities(self._logits(rows, on_done), self.temperature)

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return self.tokenizer.tokenize([clean_text(text) for text in texts])

    def _logits(
        self, rows: Sequence[Sequence[int]], on_done: Callable[[int], None]
    ) -> Float64[np.ndarray, "texts classes"]:
        import torch

        from regard.classification.task import label_logits
        from regard.data.batch import make_label_batch

        texts = concatenate_rows([row[: self.network.max_tokens] for row in rows])
        no_labels = concatenate_rows([[0]] * len(rows))
        logits = np.zeros((len(rows), len(self.labels)))
        with torch.inference_mode():
            for indexes in bucket_by_length(texts.lengths + 1, BATCH_TOKENS):  # + 1: the class token
                batch = make_label_batch(texts, no_labels, indexes).to(self.network.device)
                logits[indexes] = label_logits(self.network, batch).double().cpu().numpy()
                on_done(len(indexes))
        return logits

    def _classification(
        self, probabilities: Float64[np.ndarray, " classes"], truncated: bool
    ) -> Classification:
        order = np.argsort(-probabilities, kind="stable").tolist()
        return Classification(
            self.labels[order[0]],
            float(probabilities[order[0]]),
            {self.labels[number]: float(probabilities[number]) for number in order},
            truncated,
        )


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("classify takes a list of texts; for one text, give [text]")
    for number, text in enumerate(texts, start=1):
        reject_lone_surrogates(f"text {number}", text)

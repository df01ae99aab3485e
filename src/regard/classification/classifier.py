"""Classifier: a model folder and texts in, labels out, with probabilities that mean something."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64, Int64

from regard.classification.model_folder import load_classifier
from regard.data.bucketing import bucket_by_length
from regard.data.pairs import concatenate_rows
from regard.errors import require_setting
from regard.metrics.classification import class_probabilities
from regard.text.corpus_files import normalize_text
from regard.text.tokenizer import Tokenizer
from regard.text.unicode import reject_lone_surrogates
from regard.train.device import DeviceChoice, choose_device

if TYPE_CHECKING:
    from regard.model.classifier import TransformerClassifier as Network

BATCH_TOKENS = 8192
"""Pieces that are read at a time."""


@dataclass(frozen=True)
class Classification:
    """The label of a text, and how sure the model is."""

    label: str
    probability: float
    """Calibrated: of labels given with 0.8, about eight in ten are right, on texts like those it learnt."""
    probabilities: dict[str, float]
    """Of every label, the likeliest first; they sum to 1."""
    truncated: bool = False
    """Whether only the beginning was read, the text being too long for the model."""


class Classifier:
    """Gives labels with one model, to each text the same whatever stands beside it."""

    def __init__(
        self, network: "Network", tokenizer: Tokenizer, labels: Sequence[str], temperature: float
    ) -> None:
        self.labels, self.temperature = tuple(labels), temperature
        self.network, self.tokenizer = network, tokenizer

    @classmethod
    def load(
        cls, folder: str | Path, device: DeviceChoice = "auto", *, threads: int | None = None
    ) -> "Classifier":
        """The model that `regard train` wrote to `folder`."""
        import torch

        require_setting(threads is None or threads >= 1, "threads", threads, "it must be at least 1")
        if threads is not None:
            torch.set_num_threads(threads)
        found = load_classifier(Path(folder))
        network = found.network.to(choose_device(device))
        return cls(network, found.tokenizer, found.labels, found.temperature)

    def classify(
        self, texts: Sequence[str], *, on_done: Callable[[int], None] | None = None
    ) -> list[Classification]:
        """One answer for each text, in the same order; of one too long for the model its beginning counts.

        A blank text has an answer too: what the model holds to be likely before it reads anything.
        `on_done` is called after each batch with the number of texts in it.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("it takes a list of texts; for one text, give [text]")
        for number, text in enumerate(texts, start=1):
            reject_lone_surrogates(f"text {number}", text)
        rows = self.tokenizer.tokenize([normalize_text(text) for text in texts])
        longest = self.network.max_tokens
        scores = self._logits([row[:longest] for row in rows], on_done or (lambda _: None))
        found = class_probabilities(scores, self.temperature)
        return [
            self._classification(row, cut=len(ids) > longest) for row, ids in zip(found, rows, strict=True)
        ]

    def logits(self, texts: Sequence[str]) -> Float64[np.ndarray, "texts classes"]:
        """What the model says of every label before a softmax, for whoever measures."""
        rows = self.tokenizer.tokenize([normalize_text(text) for text in texts])
        return self._logits([row[: self.network.max_tokens] for row in rows], lambda _: None)

    def _logits(
        self, rows: Sequence[Sequence[int]], on_done: Callable[[int], None]
    ) -> Float64[np.ndarray, "texts classes"]:
        import torch

        from regard.classification.task import label_logits
        from regard.data.batch import make_label_batch

        texts, none = concatenate_rows(rows), concatenate_rows([[0]] * len(rows))
        found = np.zeros((len(rows), len(self.labels)))
        with torch.inference_mode():
            for indexes in _length_batches(texts.lengths):
                batch = make_label_batch(texts, none, indexes).to(self.network.device)
                found[indexes] = label_logits(self.network, batch).double().cpu().numpy()
                on_done(len(indexes))
        return found

    def _classification(self, row: Float64[np.ndarray, " classes"], cut: bool) -> Classification:
        order = np.argsort(-row, kind="stable").tolist()
        return Classification(
            self.labels[order[0]],
            float(row[order[0]]),
            {self.labels[number]: float(row[number]) for number in order},
            cut,
        )


def _length_batches(lengths: Int64[np.ndarray, " texts"]) -> Iterator[Int64[np.ndarray, " some"]]:
    """Texts of like length together: little padding, and an answer that hangs on no neighbour."""
    yield from bucket_by_length(lengths + 1, BATCH_TOKENS)

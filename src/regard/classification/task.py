"""The loss of a batch of labelled texts: model, batch and cross-entropy meet here."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from regard.data.batch import LabelBatch
from regard.errors import require_setting
from regard.model.classifier import TransformerClassifier
from regard.model.masks import PackedSequences


@dataclass(frozen=True)
class LabelLossConfig:
    """What is asked of a label."""

    label_smoothing: float = 0.0
    """Probability that is taken from the true label and spread over all."""

    def __post_init__(self) -> None:
        smoothing, right = self.label_smoothing, "it must be at least 0 and less than 1"
        require_setting(0 <= smoothing < 1, "loss.label_smoothing", smoothing, right)


def label_loss(model: TransformerClassifier, batch: LabelBatch, label_smoothing: float) -> Float[Tensor, ""]:
    """Summed over the texts."""
    scores = label_logits(model, batch)
    return functional.cross_entropy(scores, batch.labels, label_smoothing=label_smoothing, reduction="sum")


def label_logits(model: TransformerClassifier, batch: LabelBatch) -> Float[Tensor, "texts classes"]:
    """Of every label for every text, in fp32 whatever the model computes in."""
    texts = batch.texts
    return model(texts.tokens, PackedSequences(texts.starts, texts.positions, batch.max_length)).float()

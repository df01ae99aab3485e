"""The loss of a batch of pairs: model, batch and cross-entropy meet here."""

from jaxtyping import Float
from torch import Tensor

from regard.data.batch import PairBatch
from regard.model.masks import Segments
from regard.model.transformer import Transformer
from regard.text.tokenizer import PAD
from regard.train.loss import agreeing_cross_entropy, smoothed_cross_entropy


def pair_loss(model: Transformer, batch: PairBatch, smoothing: float) -> Float[Tensor, ""]:
    """Summed over the real target tokens, the end mark among them."""
    return smoothed_cross_entropy(
        last_layer(model, batch)[0], model.output.weight, batch.target_out[0], smoothing, PAD
    )


def agreeing_pair_loss(
    model: Transformer, batch: PairBatch, smoothing: float, alpha: float
) -> Float[Tensor, ""]:
    """The same by R-Drop: the batch goes through the model twice, and what dropout changes costs."""
    one, other = last_layer(model, batch)[0], last_layer(model, batch)[0]
    return agreeing_cross_entropy(one, other, model.output.weight, batch.target_out[0], smoothing, alpha, PAD)


def last_layer(model: Transformer, batch: PairBatch) -> Float[Tensor, "1 target d_model"]:
    """What the decoder makes of every target position, before the scores."""
    source, target = batch.source, batch.target_in
    return model.packed(
        source.tokens,
        Segments(source.starts, source.at, batch.longest_source),
        target.tokens,
        Segments(target.starts, target.at, batch.longest_target),
    )

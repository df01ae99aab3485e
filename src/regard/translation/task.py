"""The loss of a batch of pairs: model, batch and cross-entropy meet here."""

from jaxtyping import Float
from torch import Tensor

from regard.data.batch import PairBatch
from regard.model.masks import PackedSequences
from regard.model.transformer import Transformer
from regard.text.tokenizer import PAD
from regard.train.loss import rdrop_cross_entropy, smoothed_cross_entropy


def pair_loss(model: Transformer, batch: PairBatch, smoothing: float) -> Float[Tensor, ""]:
    """Summed over the real target tokens, the end mark among them."""
    return smoothed_cross_entropy(
        compute_decoder_output(model, batch)[0], model.output.weight, batch.target_out[0], smoothing, PAD
    )


def rdrop_pair_loss(
    model: Transformer, batch: PairBatch, smoothing: float, alpha: float
) -> Float[Tensor, ""]:
    """The same by R-Drop: the batch goes through the model twice, and what dropout changes costs."""
    one, other = compute_decoder_output(model, batch)[0], compute_decoder_output(model, batch)[0]
    return rdrop_cross_entropy(one, other, model.output.weight, batch.target_out[0], smoothing, alpha, PAD)


def compute_decoder_output(model: Transformer, batch: PairBatch) -> Float[Tensor, "1 target d_model"]:
    """What the decoder makes of every target position, before the scores."""
    source, target = batch.source, batch.target_in
    return model.forward_packed(
        source.tokens,
        PackedSequences(source.starts, source.positions, batch.max_source_length),
        target.tokens,
        PackedSequences(target.starts, target.positions, batch.max_target_length),
    )

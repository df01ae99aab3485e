"""Cross-entropy with label smoothing (section 5.4); padding never counts."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


def smoothed_cross_entropy(
    logits: Float[Tensor, "batch target vocab"],
    target: Int[Tensor, "batch target"],
    smoothing: float,
    pad: int,
) -> Float[Tensor, ""]:
    """The sum over real tokens, in nats: 1 - smoothing on the true token, the rest spread evenly."""
    return functional.cross_entropy(
        logits.flatten(0, 1).float(),
        target.flatten(),
        ignore_index=pad,
        label_smoothing=smoothing,
        reduction="sum",
    )

"""R-Drop (Liang et al. 2021): two passes of one batch, which differ by dropout alone, should agree."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.train.device import compiles, product_dtype
from regard.train.loss import CHUNK, add_product


def agreeing_cross_entropy(
    hidden_p: Float[Tensor, "tokens width"],
    hidden_q: Float[Tensor, "tokens width"],
    output: Float[Tensor, "vocab width"],
    target: Int[Tensor, " tokens"],
    smoothing: float,
    alpha: float,
    pad: int,
) -> Float[Tensor, ""]:
    """The mean of both cross-entropies plus alpha / 4 times KL(p||q) + KL(q||p), summed over real tokens.

    That is half of the article's equation 4, so that alpha = 0 is the loss of one pass. As there,
    scores and their gradient are made some tokens at a time.
    """
    return cast(
        Tensor,
        _Agreement.apply(hidden_p, hidden_q, output, target, smoothing, alpha, pad, product_dtype(hidden_p)),
    )


class _Agreement(torch.autograd.Function):
    """The gradient is computed on the way forward, while each chunk of scores is at hand."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_p: Tensor,
        hidden_q: Tensor,
        output: Tensor,
        target: Tensor,
        smoothing: float,
        alpha: float,
        pad: int,
        computed_in: torch.dtype,
    ) -> Tensor:
        rows = max(1, CHUNK[hidden_p.device.type] // (2 * len(output)))
        matrix, by = output.to(computed_in), _compiled() if compiles(hidden_p.device) else agreement
        exact = torch.promote_types(computed_in, torch.float32)
        loss, d_output = (
            torch.zeros((), device=output.device, dtype=exact),
            torch.zeros_like(output, dtype=exact),
        )
        d_hidden: tuple[list[Tensor], list[Tensor]] = ([], [])
        passes = (hidden.to(computed_in).split(rows) for hidden in (hidden_p, hidden_q))
        for p, q, true in zip(*passes, target.split(rows), strict=True):
            part, *d_scores = by(p @ matrix.t(), q @ matrix.t(), true, smoothing, alpha, pad)
            loss += part
            for grads, hidden, grad in zip(d_hidden, (p, q), d_scores, strict=True):
                grads.append(grad @ matrix)
                add_product(d_output, grad.t(), hidden)
        d_p, d_q = (torch.cat(grads).to(hidden_p.dtype) for grads in d_hidden)
        ctx.save_for_backward(d_p, d_q, d_output.to(output.dtype))
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *(gradient * grads[0] for gradient in ctx.saved_tensors), None, None, None, None, None


def agreement(
    scores_p: Float[Tensor, "tokens vocab"],
    scores_q: Float[Tensor, "tokens vocab"],
    true: Int[Tensor, " tokens"],
    smoothing: float,
    alpha: float,
    pad: int,
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"], Float[Tensor, "tokens vocab"]]:
    """The loss of some tokens, and its gradient with respect to their scores in either pass."""
    exact = torch.promote_types(scores_p.dtype, torch.float32)
    log_p, log_q = (scores.to(exact).log_softmax(dim=1) for scores in (scores_p, scores_q))
    p, q, apart = log_p.exp(), log_q.exp(), log_p - log_q
    p_from_q, q_from_p = (p * apart).sum(1, keepdim=True), -(q * apart).sum(1, keepdim=True)
    keep = (true != pad)[:, None]
    is_true = torch.arange(p.shape[1], device=true.device) == true[:, None]
    wanted = is_true * (1 - smoothing) + smoothing / p.shape[1]
    entropies = -(wanted * (log_p + log_q)).sum(1, keepdim=True)
    loss = entropies / 2 + alpha / 4 * (p_from_q + q_from_p)
    d_p = (p - wanted) / 2 + alpha / 4 * (p * (apart - p_from_q) + p - q)
    d_q = (q - wanted) / 2 + alpha / 4 * (q * (-apart - q_from_p) + q - p)
    return (loss * keep).sum(), (d_p * keep).to(scores_p.dtype), (d_q * keep).to(scores_q.dtype)


@cache
def _compiled() -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Only where it is used: torch's compiler takes a second to import."""
    return torch.compile(agreement)

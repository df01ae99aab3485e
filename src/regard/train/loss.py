"""Cross-entropy with label smoothing (section 5.4); padding never counts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import require_setting
from regard.train.device import can_compile, matmul_dtype

SCORES_PER_CHUNK = {"cpu": 2**23, "cuda": 2**26}
"""Scores held at once: as many tokens at a time as make about so many."""


@dataclass(frozen=True)
class LossConfig:
    """What is asked of a prediction."""

    label_smoothing: float = 0.1
    """Probability that is taken from the true token and spread over all."""
    rdrop: float = 0.0
    """How much two passes with different dropout must agree (R-Drop's alpha); 0 is one pass, the paper."""

    def __post_init__(self) -> None:
        smoothing = self.label_smoothing
        require_setting(
            0 <= smoothing < 1, "loss.label_smoothing", smoothing, "it must be at least 0 and less than 1"
        )
        require_setting(
            0 <= self.rdrop < math.inf, "loss.rdrop", self.rdrop, "it must be a number, at least 0"
        )


def label_smoothing_floor(smoothing: float, vocab: int) -> float:
    """The entropy of the smoothed target, in nats: no model's training loss is lower, not a perfect one's."""
    other = smoothing / vocab
    true = 1 - smoothing + other
    return 0.0 if smoothing == 0 else -true * math.log(true) - (vocab - 1) * other * math.log(other)


def smoothed_cross_entropy(
    hidden: Float[Tensor, "tokens width"],
    output_weight: Float[Tensor, "vocab width"],
    target: Int[Tensor, " tokens"],
    smoothing: float,
    pad_id: int,
) -> Float[Tensor, ""]:
    """The sum over real tokens, in nats: 1 - smoothing on the true token, the rest spread evenly.

    Takes the last layer and the matrix that makes scores of it rather than the scores, which over
    a large vocabulary would be the largest thing in memory by far: they are made some tokens at a
    time, and their gradient with them.
    """
    return cast(
        Tensor,
        _SmoothedCrossEntropy.apply(hidden, output_weight, target, smoothing, pad_id, matmul_dtype(hidden)),
    )


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient is computed on the way forward, while each chunk of scores is at hand."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        output: Tensor,
        target: Tensor,
        smoothing: float,
        pad: int,
        computed_in: torch.dtype,
    ) -> Tensor:
        rows = max(1, SCORES_PER_CHUNK[hidden.device.type] // len(output))
        matrix = output.to(computed_in)
        wanted = any(ctx.needs_input_grad)
        d_hidden, d_output = [], torch.zeros_like(output, dtype=torch.float32) if wanted else None
        loss = torch.zeros((), device=hidden.device)
        for some, true in zip(hidden.to(computed_in).split(rows), target.split(rows), strict=True):
            part, d_scores = _loss_and_grad(some @ matrix.t(), true, smoothing, pad)
            loss += part
            if d_output is not None:
                d_hidden.append(d_scores @ matrix)
                accumulate_matmul(d_output, d_scores.t(), some)
        if wanted:
            ctx.save_for_backward(torch.cat(d_hidden).to(hidden.dtype), d_output)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_output = ctx.saved_tensors
        return d_hidden * grads[0], d_output * grads[0], None, None, None, None


def _loss_and_grad(
    scores: Float[Tensor, "tokens vocab"], true: Int[Tensor, " tokens"], smoothing: float, pad: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"]]:
    """The loss of some tokens, and its gradient with respect to their scores."""
    by = _compiled_loss_and_grad() if can_compile(scores.device) else _loss_and_grad_in_place
    return by(scores, true, smoothing, pad)


def _loss_and_grad_in_place(
    scores: Float[Tensor, "tokens vocab"], true: Int[Tensor, " tokens"], smoothing: float, pad: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"]]:
    """Leaves the gradient where the scores were: no second matrix of that size, and one exp for each."""
    exact = scores.float()
    exact.sub_(exact.amax(dim=1, keepdim=True))  # so that exp cannot overflow
    spread = smoothing / exact.shape[1]
    keep = (true != pad)[:, None]
    true = true[:, None]
    wanted = exact.gather(1, true) * (1 - smoothing) + exact.sum(dim=1, keepdim=True) * spread
    p = exact.exp_()
    total = p.sum(dim=1, keepdim=True)
    losses = total.log() - wanted
    p.mul_(1 / total).sub_(spread)
    p.scatter_add_(1, true, torch.full_like(true, smoothing - 1, dtype=p.dtype))
    if not keep.all():
        losses, p = losses * keep, p.mul_(keep)
    return losses.sum(), scores.copy_(p)


@cache
def _compiled_loss_and_grad() -> Callable[..., tuple[Tensor, Tensor]]:
    """Only where it is used: torch's compiler takes a second to import."""
    return torch.compile(_loss_and_grad_fused)


def _loss_and_grad_fused(
    scores: Float[Tensor, "tokens vocab"], true: Int[Tensor, " tokens"], smoothing: float, pad: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"]]:
    """The same as one formula, of which the compiler makes two readings of the scores."""
    log_p = scores.float().log_softmax(dim=1)
    spread = smoothing / scores.shape[1]
    keep = (true != pad)[:, None]
    is_true = torch.arange(scores.shape[1], device=scores.device) == true[:, None]
    wanted = is_true * (1 - smoothing) + spread
    return -(log_p * wanted * keep).sum(), ((log_p.exp() - wanted) * keep).to(scores.dtype)


def accumulate_matmul(
    total: Float[Tensor, "vocab width"],
    left: Float[Tensor, "vocab tokens"],
    right: Float[Tensor, "tokens width"],
) -> None:
    """Adds left times right in fp32, whatever they are in."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    elif left.is_cuda:
        torch.addmm(total, left, right, out_dtype=torch.float32, out=total)
    else:
        total.add_(left @ right)


def rdrop_cross_entropy(
    hidden_p: Float[Tensor, "tokens width"],
    hidden_q: Float[Tensor, "tokens width"],
    output_weight: Float[Tensor, "vocab width"],
    target: Int[Tensor, " tokens"],
    smoothing: float,
    alpha: float,
    pad_id: int,
) -> Float[Tensor, ""]:
    """The mean of both cross-entropies plus alpha / 4 times KL(p||q) + KL(q||p), summed over real tokens.

    That is half of the article's equation 4, so that alpha = 0 is the loss of one pass. As there,
    scores and their gradient are made some tokens at a time.
    """
    return cast(
        Tensor,
        _RDropCrossEntropy.apply(
            hidden_p, hidden_q, output_weight, target, smoothing, alpha, pad_id, matmul_dtype(hidden_p)
        ),
    )


class _RDropCrossEntropy(torch.autograd.Function):
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
        rows = max(1, SCORES_PER_CHUNK[hidden_p.device.type] // (2 * len(output)))
        matrix, by = (
            output.to(computed_in),
            _compiled_rdrop_loss_and_grad() if can_compile(hidden_p.device) else rdrop_loss_and_grad,
        )
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
                accumulate_matmul(d_output, grad.t(), hidden)
        d_p, d_q = (torch.cat(grads).to(hidden_p.dtype) for grads in d_hidden)
        ctx.save_for_backward(d_p, d_q, d_output.to(output.dtype))
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *(gradient * grads[0] for gradient in ctx.saved_tensors), None, None, None, None, None


def rdrop_loss_and_grad(
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
def _compiled_rdrop_loss_and_grad() -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Only where it is used: torch's compiler takes a second to import."""
    return torch.compile(rdrop_loss_and_grad)

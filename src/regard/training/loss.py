"""Cross-entropy with label smoothing (section 5.4), and R-Drop (Liang et al., 2021); padding is ignored."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config import check_ranges, setting
from regard.errors import require_setting
from regard.training.device import can_compile, matmul_dtype

SCORES_PER_CHUNK = {"cpu": 2**23, "cuda": 2**26}
"""Output scores computed at a time, which bounds the memory for them."""


@dataclass(frozen=True)
class LossConfig:
    """The training loss of a translation model."""

    label_smoothing: float = 0.1
    """Probability moved from the true token to all tokens evenly."""
    rdrop: float = setting(0.0, at_least=0, at_most=1000.0)
    """R-Drop: weight of the divergence between two passes with dropout; 0, as in the paper, is off."""

    def __post_init__(self) -> None:
        smoothing = self.label_smoothing
        require_setting(
            0 <= smoothing < 1, "loss.label_smoothing", smoothing, "it must be at least 0 and less than 1"
        )
        check_ranges(self, "loss")


def label_smoothing_floor(smoothing: float, vocab: int) -> float:
    """Return the entropy of the smoothed target in nats, the lowest training loss that a model can have."""
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
    """Return the sum over real tokens, in nats: 1 - smoothing on the true token, the rest spread evenly.

    It takes the hidden states and the output matrix instead of the scores, which for a large vocabulary
    would be the largest tensor in memory by far: scores and their gradient are computed in chunks of tokens.
    """
    return cast(
        Tensor,
        _SmoothedCrossEntropy.apply(hidden, output_weight, target, smoothing, pad_id, matmul_dtype(hidden)),
    )


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes the gradient in the forward pass, while each chunk of scores is in memory."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        output: Tensor,
        target: Tensor,
        smoothing: float,
        pad: int,
        compute_dtype: torch.dtype,
    ) -> Tensor:
        rows = max(1, SCORES_PER_CHUNK[hidden.device.type] // len(output))
        matrix = output.to(compute_dtype)
        needs_grad = any(ctx.needs_input_grad)
        d_hidden, d_output = [], torch.zeros_like(output, dtype=torch.float32) if needs_grad else None
        loss = torch.zeros((), device=hidden.device)
        for chunk, true in zip(hidden.to(compute_dtype).split(rows), target.split(rows), strict=True):
            chunk_loss, d_scores = _loss_and_grad(chunk @ matrix.t(), true, smoothing, pad)
            loss += chunk_loss
            if d_output is not None:
                d_hidden.append(d_scores @ matrix)
                accumulate_matmul(d_output, d_scores.t(), chunk)
        if needs_grad:
            ctx.save_for_backward(torch.cat(d_hidden).to(hidden.dtype), d_output)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_output = ctx.saved_tensors
        return d_hidden * grads[0], d_output * grads[0], None, None, None, None


def _loss_and_grad(
    scores: Float[Tensor, "tokens vocab"], true: Int[Tensor, " tokens"], smoothing: float, pad: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"]]:
    """Return the loss of a chunk of tokens, and its gradient with respect to their scores."""
    function = _compiled_loss_and_grad() if can_compile(scores.device) else _loss_and_grad_in_place
    return function(scores, true, smoothing, pad)


def _loss_and_grad_in_place(
    scores: Float[Tensor, "tokens vocab"], true: Int[Tensor, " tokens"], smoothing: float, pad: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"]]:
    """Overwrite the scores with the gradient: no second matrix of that size, and one exp per score."""
    exact = scores.float()
    exact.sub_(exact.amax(dim=1, keepdim=True))  # so that exp cannot overflow
    spread = smoothing / exact.shape[1]
    keep = (true != pad)[:, None]
    true = true[:, None]
    expected = exact.gather(1, true) * (1 - smoothing) + exact.sum(dim=1, keepdim=True) * spread
    p = exact.exp_()
    total = p.sum(dim=1, keepdim=True)
    losses = total.log() - expected
    p.mul_(1 / total).sub_(spread)
    p.scatter_add_(1, true, torch.full_like(true, smoothing - 1, dtype=p.dtype))
    if not keep.all():
        losses, p = losses * keep, p.mul_(keep)
    return losses.sum(), scores.copy_(p)


@cache
def _compiled_loss_and_grad() -> Callable[..., tuple[Tensor, Tensor]]:
    """Compile on first use: importing torch's compiler takes a second."""
    return torch.compile(_loss_and_grad_fused)


def _loss_and_grad_fused(
    scores: Float[Tensor, "tokens vocab"], true: Int[Tensor, " tokens"], smoothing: float, pad: int
) -> tuple[Float[Tensor, ""], Float[Tensor, "tokens vocab"]]:
    """Compute the same in a form that the compiler turns into two passes over the scores."""
    log_p = scores.float().log_softmax(dim=1)
    spread = smoothing / scores.shape[1]
    keep = (true != pad)[:, None]
    is_true = torch.arange(scores.shape[1], device=scores.device) == true[:, None]
    target_p = is_true * (1 - smoothing) + spread
    return -(log_p * target_p * keep).sum(), ((log_p.exp() - target_p) * keep).to(scores.dtype)


def accumulate_matmul(
    total: Float[Tensor, "vocab width"],
    left: Float[Tensor, "vocab tokens"],
    right: Float[Tensor, "tokens width"],
) -> None:
    """Add the product of two matrices to an fp32 matrix, in fp32 whatever their dtype."""
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
    """Return the mean of both cross-entropies plus alpha / 4 (KL(p||q) + KL(q||p)), summed over real tokens.

    `hidden_p` and `hidden_q` are two passes of one batch that differ by dropout alone. This is half of
    equation 4 of the article, so that alpha = 0 gives the loss of one pass. Scores and their gradient are
    computed in chunks, as in `smoothed_cross_entropy`.
    """
    return cast(
        Tensor,
        _RDropCrossEntropy.apply(
            hidden_p, hidden_q, output_weight, target, smoothing, alpha, pad_id, matmul_dtype(hidden_p)
        ),
    )


class _RDropCrossEntropy(torch.autograd.Function):
    """Computes the gradient in the forward pass, while each chunk of scores is in memory."""

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
        compute_dtype: torch.dtype,
    ) -> Tensor:
        rows = max(1, SCORES_PER_CHUNK[hidden_p.device.type] // (2 * len(output)))
        matrix = output.to(compute_dtype)
        function = _compiled_rdrop_loss_and_grad() if can_compile(hidden_p.device) else rdrop_loss_and_grad
        exact = torch.promote_types(compute_dtype, torch.float32)
        loss, d_output = (
            torch.zeros((), device=output.device, dtype=exact),
            torch.zeros_like(output, dtype=exact),
        )
        d_hidden: tuple[list[Tensor], list[Tensor]] = ([], [])
        passes = (hidden.to(compute_dtype).split(rows) for hidden in (hidden_p, hidden_q))
        for p, q, true in zip(*passes, target.split(rows), strict=True):
            chunk_loss, *d_scores = function(p @ matrix.t(), q @ matrix.t(), true, smoothing, alpha, pad)
            loss += chunk_loss
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
    """Return the loss of a chunk of tokens, and its gradients with respect to the scores of both passes."""
    exact = torch.promote_types(scores_p.dtype, torch.float32)
    log_p, log_q = (scores.to(exact).log_softmax(dim=1) for scores in (scores_p, scores_q))
    p, q, log_ratio = log_p.exp(), log_q.exp(), log_p - log_q
    kl_pq, kl_qp = (p * log_ratio).sum(1, keepdim=True), -(q * log_ratio).sum(1, keepdim=True)
    keep = (true != pad)[:, None]
    is_true = torch.arange(p.shape[1], device=true.device) == true[:, None]
    target_p = is_true * (1 - smoothing) + smoothing / p.shape[1]
    entropies = -(target_p * (log_p + log_q)).sum(1, keepdim=True)
    loss = entropies / 2 + alpha / 4 * (kl_pq + kl_qp)
    d_p = (p - target_p) / 2 + alpha / 4 * (p * (log_ratio - kl_pq) + p - q)
    d_q = (q - target_p) / 2 + alpha / 4 * (q * (-log_ratio - kl_qp) + q - p)
    return (loss * keep).sum(), (d_p * keep).to(scores_p.dtype), (d_q * keep).to(scores_q.dtype)


@cache
def _compiled_rdrop_loss_and_grad() -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Compile on first use: importing torch's compiler takes a second."""
    return torch.compile(rdrop_loss_and_grad)

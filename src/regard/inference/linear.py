"""Fused linear layers: plain, packed for oneDNN, or int8, chosen by device and precision."""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

ComputePrecision = Literal["fp32", "bf16", "fp16", "int8"]
STORAGE_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.float32}
"""The type of activations between two products; int8 applies only to the operands of a product."""


@runtime_checkable
class FusedLinear(Protocol):
    """x W + b, with an optional ReLU."""

    def __call__(
        self, x: Float[Tensor, "row inputs"], relu: bool = False
    ) -> Float[Tensor, "row outputs"]: ...


def fuse_linears(parts: Sequence[nn.Linear], precision: ComputePrecision) -> FusedLinear:
    """Return one layer that computes all of `parts` on the same input, with their outputs side by side."""
    weight = torch.cat([part.weight.detach() for part in parts])
    biases = [part.bias.detach() for part in parts if part.bias is not None]
    bias = torch.cat(biases) if biases else None
    if precision == "int8":
        return Int8Linear(weight.float(), bias)
    weight, bias = (
        weight.to(STORAGE_DTYPES[precision]),
        None if bias is None else bias.to(STORAGE_DTYPES[precision]),
    )
    if weight.is_cuda or not torch.backends.mkldnn.is_available():
        return PlainLinear(weight, bias)
    return PackedLinear(weight, bias)


class PlainLinear:
    """torch's own product."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, x: Float[Tensor, "row inputs"], relu: bool = False) -> Float[Tensor, "row outputs"]:
        if self._bias is None:
            out = functional.linear(x, self._weight)
        elif relu:  # on a GPU one kernel
            return torch.ops.aten._addmm_activation(self._bias, x, self._weight.t())
        else:
            return torch.addmm(self._bias, x, self._weight.t())
        return out.relu() if relu else out


class PackedLinear:
    """Weights in oneDNN's packed layout, up to twice as fast on a CPU for few rows."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = torch.ops.mkldnn._reorder_linear_weight(weight), bias

    def __call__(self, x: Float[Tensor, "row inputs"], relu: bool = False) -> Float[Tensor, "row outputs"]:
        activation = "relu" if relu else "none"
        return torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, activation, [], "")


ZERO_POINT, INT8_MAX = 128, 127
"""Inputs are unsigned bytes: oneDNN has no fast kernel for signed ones."""
MIN_SCALE = 1e-12


class Int8Linear:
    """An int8 product on a CPU, with one scale per input row and one per output.

    Integer sums are exact, and each row has its own scale, so a row's result depends on no other row.
    """

    def __init__(self, weight: Float[Tensor, "outputs inputs"], bias: Tensor | None) -> None:
        scale = weight.abs().amax(dim=1).clamp(min=MIN_SCALE) / INT8_MAX
        quantized = (weight / scale[:, None]).round().to(torch.int8)
        self._weight = torch.ops.onednn.qlinear_prepack(quantized, None)
        self._scale = scale / INT8_MAX  # of a weight, for an input whose largest value is 1
        self._zeros = torch.zeros(len(weight), dtype=torch.int32)
        offset = ZERO_POINT + 0.5  # the half turns truncation into rounding
        self._offset = torch.full((weight.shape[1],), offset)
        self._bias = bias

    def __call__(self, x: Float[Tensor, "row inputs"], relu: bool = False) -> Float[Tensor, "row outputs"]:
        largest = x.abs().amax(dim=1, keepdim=True).clamp_min_(MIN_SCALE)
        shifted = torch.addcmul(self._offset, x, largest.reciprocal(), value=INT8_MAX)
        if len(x) > 1:
            shifted = shifted.short()  # an extra conversion, and yet faster
        out = torch.ops.onednn.qlinear_pointwise.default(
            shifted.byte(), 1.0, ZERO_POINT, self._weight, self._scale, self._zeros, None,
            1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        out = out.mul_(largest) if self._bias is None else torch.addcmul(self._bias, out, largest, out=out)
        return out.relu_() if relu else out

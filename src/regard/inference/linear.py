"""Products made ready once: several side by side, in the layout and precision that the hardware likes."""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

ComputePrecision = Literal["fp32", "bf16", "fp16", "int8"]
STORAGE_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.float32}
"""What lies between two products; int8 is for weights and what they are multiplied with, no more."""


@runtime_checkable
class FusedLinear(Protocol):
    """x W + b, and perhaps max(0, that)."""

    def __call__(
        self, x: Float[Tensor, "row inputs"], relu: bool = False
    ) -> Float[Tensor, "row outputs"]: ...


def fuse_linears(parts: Sequence[nn.Linear], precision: ComputePrecision) -> FusedLinear:
    """The products of one input with each of `parts`, as one; the answers stand side by side."""
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
    """As torch does it."""

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
    """With weights in oneDNN's own order, which for few rows is up to twice as fast on a CPU."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = torch.ops.mkldnn._reorder_linear_weight(weight), bias

    def __call__(self, x: Float[Tensor, "row inputs"], relu: bool = False) -> Float[Tensor, "row outputs"]:
        after = "relu" if relu else "none"
        return torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, after, [], "")


ZERO_POINT, INT8_MAX = 128, 127
"""Of the input, whose bytes have no sign: oneDNN has no fast kernel for those that do."""
MIN_SCALE = 1e-12


class Int8Linear:
    """In bytes on a CPU: a scale for each row of the input, and one for each output.

    Sums of bytes are exact, and a row's scale is its own: a row's answer depends on no other row.
    """

    def __init__(self, weight: Float[Tensor, "outputs inputs"], bias: Tensor | None) -> None:
        scale = weight.abs().amax(dim=1).clamp(min=MIN_SCALE) / INT8_MAX
        in_bytes = (weight / scale[:, None]).round().to(torch.int8)
        self._weight = torch.ops.onednn.qlinear_prepack(in_bytes, None)
        self._scale = scale / INT8_MAX  # of a weight, and of an input whose largest is 1
        self._zeros = torch.zeros(len(weight), dtype=torch.int32)
        self._middle = torch.full(
            (weight.shape[1],), ZERO_POINT + 0.5
        )  # the half rounds what is then cut off
        self._bias = bias

    def __call__(self, x: Float[Tensor, "row inputs"], relu: bool = False) -> Float[Tensor, "row outputs"]:
        largest = x.abs().amax(dim=1, keepdim=True).clamp_min_(MIN_SCALE)
        whole = torch.addcmul(self._middle, x, largest.reciprocal(), value=INT8_MAX)
        if len(x) > 1:
            whole = whole.short()  # a detour, and yet faster
        out = torch.ops.onednn.qlinear_pointwise.default(
            whole.byte(), 1.0, ZERO_POINT, self._weight, self._scale, self._zeros, None,
            1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        out = out.mul_(largest) if self._bias is None else torch.addcmul(self._bias, out, largest, out=out)
        return out.relu_() if relu else out

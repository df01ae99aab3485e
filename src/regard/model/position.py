"""Positional encodings: section 3.5, and the other sinusoidal tables in use.

Three tables have the same name, and they are not reorderings of one another (docs/decisions/0002):

| name          | layout              | timescale of pair i, of n = channels / 2 | used by                  |
| ------------- | ------------------- | ---------------------------------------- | ------------------------ |
| paper         | sin, cos, sin, ...  | 10000^(i / n)                            | the paper                |
| tensor2tensor | all sin, then cos   | 10000^(i / (n - 1))                      | T2T, fairseq, Marian     |
| halves        | all sin, then cos   | 10000^(i / n)                            | Sockeye, HF's Marian     |
"""

import math
from typing import assert_never

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.config import PositionScheme


def paper_position_table(length: int, channels: int) -> Float[Tensor, "length channels"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d)), PE(pos, 2i + 1) = cos(the same)."""
    angle = _paper_angles(length, channels)
    table = torch.stack([angle.sin().float(), angle.cos().float()], dim=2).flatten(1)  # half the memory
    return table[:, :channels]


def halves_position_table(length: int, channels: int) -> Float[Tensor, "length channels"]:
    """Return the paper's timescales with all sines before all cosines."""
    angle = _paper_angles(length, channels)
    return torch.cat([angle.sin(), angle[:, : channels // 2].cos()], dim=1).float()


def get_timing_signal_1d(
    length: int,
    channels: int,
    min_timescale: float = 1.0,
    max_timescale: float = 1.0e4,
    start_index: int = 0,
    *,
    compat: bool = False,
) -> Float[Tensor, "1 length channels"]:
    """Return tensor2tensor's table: sines, then cosines, then a column of zeros if channels is odd.

    Timescales are a geometric sequence from min to max, as its documentation says. Its code
    multiplies by min_timescale where it should divide; `compat` does so, too.
    """
    timescales = channels // 2
    step = math.log(max_timescale / min_timescale) / max(timescales - 1, 1)
    inverse = torch.exp(-step * torch.arange(timescales, dtype=torch.float64))
    inverse = inverse * min_timescale if compat else inverse / min_timescale
    position = torch.arange(start_index, start_index + length, dtype=torch.float64)
    angle = position[:, None] * inverse
    signal = torch.cat([angle.sin(), angle.cos()], dim=1)
    return nn.functional.pad(signal, (0, channels % 2)).float()[None]


class PositionalEncoding(nn.Module):
    """A vector per position, to be added to embeddings."""

    table: Tensor

    def __init__(self, scheme: PositionScheme, max_length: int, d_model: int) -> None:
        super().__init__()
        if scheme == "learned":
            self.table = nn.Parameter(torch.empty(max_length, d_model).normal_(std=d_model**-0.5))
        else:
            self.register_buffer("table", _fixed_table(scheme, max_length, d_model), persistent=False)

    def forward(self, positions: Int[Tensor, "#batch length"]) -> Float[Tensor, "#batch length d_model"]:
        """Return the vectors of these positions, counted from 0."""
        return nn.functional.embedding(positions, self.table)


def _fixed_table(scheme: PositionScheme, max_length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    match scheme:
        case "paper":
            return paper_position_table(max_length, d_model)
        case "tensor2tensor":
            return get_timing_signal_1d(max_length, d_model)[0]
        case "halves":
            return halves_position_table(max_length, d_model)
        case "none":
            return torch.zeros(max_length, d_model)
        case "learned":
            raise ValueError("learned positions are a parameter, not a table")
        case _:
            assert_never(scheme)


def _paper_angles(length: int, channels: int) -> Float[Tensor, "length pairs"]:
    exponent = torch.arange(0, channels, 2, dtype=torch.float64) / channels
    return torch.arange(length, dtype=torch.float64)[:, None] / 10_000**exponent

"""Linear scales from values to pixels, with ticks at round numbers."""

import math
from dataclasses import dataclass

from jaxtyping import Float64
from numpy import ndarray


@dataclass(frozen=True)
class LinearScale:
    """Maps `low` to `pixel_start` and `high` to `pixel_end`."""

    low: float
    high: float
    pixel_start: float
    pixel_end: float

    def __call__(self, value: float) -> float:
        return self.pixel_start + (value - self.low) / (self.high - self.low) * (
            self.pixel_end - self.pixel_start
        )

    def map_array(self, values: Float64[ndarray, " points"]) -> list[float]:
        return (
            self.pixel_start
            + (values - self.low) / (self.high - self.low) * (self.pixel_end - self.pixel_start)
        ).tolist()

    def ticks(self, count: int) -> list[tuple[float, str]]:
        """Return about `count` ticks at round numbers, with their labels."""
        step = _round_tick_step((self.high - self.low) / max(1, count))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        largest = max(abs(self.low), abs(self.high))
        return [
            (number * step, format_tick(number * step, step, largest)) for number in range(first, last + 1)
        ]


def padded_range(values: list[float], include_zero: bool = False) -> tuple[float, float]:
    """Return a range slightly larger than the values, never empty; it starts at 0 with `include_zero`."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if include_zero:
        low = min(low, 0.0)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    return (low if include_zero and low == 0 else low - margin), high + margin


def format_tick(value: float, step: float, largest: float) -> str:
    """Return 12k, 1.5M, 0.25 or 7e-4: in the unit of the largest tick, with the digits of the step."""
    if abs(value) < step / 1e6:
        return "0"
    for unit, letter, threshold in ((1e9, "G", 1e9), (1e6, "M", 1e6), (1e3, "k", 1e4)):
        if largest >= threshold:
            return _format_decimal(value / unit, step / unit) + letter
    if step < 1e-3:
        power = math.floor(math.log10(abs(value)) + 1e-9)
        return f"{_format_decimal(value / 10**power, step / 10**power)}e{power}"
    return _format_decimal(value, step)


def _format_decimal(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{value:.{decimals + 1}f}"
    return text.rstrip("0").rstrip(".")


def _round_tick_step(raw_step: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw_step))
    return next(power * size for size in (1, 2, 2.5, 5, 10) if power * size >= raw_step * 0.9)

"""How far a forecast is from what came, and whether its intervals hold as much as they say."""

import numpy as np
from jaxtyping import Bool, Float

Values = Float[np.ndarray, "*shape"]


def squared_error(foretold: Values, came: Values) -> float:
    """MSE: the mean over all values."""
    return float(np.mean(np.square(foretold - came), dtype=np.float64))


def absolute_error(foretold: Values, came: Values) -> float:
    """MAE: the mean over all values."""
    return float(np.mean(np.abs(foretold - came), dtype=np.float64))


def scaled_error(foretold: Values, came: Values, naive: float) -> float:
    """MASE: the absolute error in units of what a naive forecast errs by on the training rows."""
    return absolute_error(foretold, came) / naive


def naive_error(values: Float[np.ndarray, " rows"], season: int) -> float:
    """The mean absolute error of saying, for each training row, what was a season before it."""
    return float(np.nanmean(np.abs(values[season:] - values[:-season])))


def pinball_loss(foretold: Values, came: Values, share: float) -> float:
    """The mean over all values: least where that share of what came lies below what was foretold."""
    error = came - foretold
    return float(np.mean(np.maximum(share * error, (share - 1) * error), dtype=np.float64))


def coverage(low: Values, high: Values, came: Values) -> float:
    """The share of what came that lies in the interval, its ends counted."""
    inside: Bool[np.ndarray, "*shape"] = (low <= came) & (came <= high)
    return float(np.mean(inside))

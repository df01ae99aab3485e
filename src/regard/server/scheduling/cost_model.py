"""Cost model: the time of a batch as a line over its tokens, fitted to the batches that finish."""

from dataclasses import dataclass

DECAY = 0.97
"""Weight of the last batch relative to a new one: about the last thirty count."""
MIN_SPREAD = 0.1
"""Standard deviation of the tokens, relative to their mean, from which a slope can be told."""
PRIOR_WEIGHT = 0.5
PRIOR_BATCHES = ((32.0, 0.02), (2048.0, 0.3))
"""Tokens and seconds that are believed until batches have been measured."""
MIN_SECONDS_PER_TOKEN = 1e-7


@dataclass
class CostModel:
    """seconds = per_token * tokens + per_batch, by least squares that forgets old batches."""

    per_token: float = 0.0
    per_batch: float = 0.0
    measured: int = 0
    """Batches seen so far."""

    def __post_init__(self) -> None:
        self._weight = self._x = self._y = self._xx = self._xy = 0.0
        for tokens, seconds in PRIOR_BATCHES:
            self._add(tokens, seconds, PRIOR_WEIGHT)
        self._fit()

    def observe(self, tokens: int, seconds: float) -> None:
        """Fit the line to one more batch."""
        for name in ("_weight", "_x", "_y", "_xx", "_xy"):
            setattr(self, name, getattr(self, name) * DECAY)
        if self.measured == 0:
            self._forget_prior()
        self._add(float(tokens), max(seconds, 0.0), 1.0)
        self.measured += 1
        self._fit()

    def predict(self, tokens: int) -> float:
        """Return the seconds that one batch of so many tokens takes."""
        return self.per_token * tokens + self.per_batch

    def tokens_within(self, seconds: float) -> int:
        """Return how many tokens a batch of this time can have; at least one."""
        return max(1, int((seconds - self.per_batch) / self.per_token))

    def _forget_prior(self) -> None:
        """Keep a little of the prior: its slope, until batches of several sizes have been seen."""
        for name in ("_weight", "_x", "_y", "_xx", "_xy"):
            setattr(self, name, getattr(self, name) * 0.1)

    def _add(self, tokens: float, seconds: float, weight: float) -> None:
        self._weight += weight
        self._x += weight * tokens
        self._y += weight * seconds
        self._xx += weight * tokens * tokens
        self._xy += weight * tokens * seconds

    def _fit(self) -> None:
        mean_x, mean_y = self._x / self._weight, self._y / self._weight
        variance = max(self._xx / self._weight - mean_x * mean_x, 0.0)
        covariance = self._xy / self._weight - mean_x * mean_y
        if variance > (MIN_SPREAD * mean_x) ** 2 and covariance > 0:
            slope = min(covariance / variance, mean_y / max(mean_x, 1.0))  # the fixed part is not negative
        else:
            slope = max(mean_y - self.per_batch, 0.5 * mean_y) / max(mean_x, 1.0)
        self.per_token = max(slope, MIN_SECONDS_PER_TOKEN)
        self.per_batch = max(mean_y - self.per_token * mean_x, 0.0)

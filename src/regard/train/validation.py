"""Validation: how good the model is now, in figures and in sentences a person can read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sample:
    """One sentence that is watched through the whole training."""

    source: str
    reference: str
    hypothesis: str


@dataclass(frozen=True)
class Validation:
    """How good the model is now: `metrics` has at least `loss`."""

    metrics: Mapping[str, float]
    details: Mapping[str, str] = field(default_factory=dict)
    """What the metrics need beside them to be compared with others."""
    samples: Sequence[Sample] = ()
    """For a person to read; the same sentences each time."""
    titles: tuple[str, str, str] = ("source", "reference", "hypothesis")
    """What their three texts are called."""
    curves: Mapping[str, object] = field(default_factory=dict)
    """What is drawn beside the metrics, as JSON has it; it stays in metrics.jsonl alone."""

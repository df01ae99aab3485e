"""What a training is asked for: the same from the command line and from Python."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class TrainingRequest:
    """Settings that the caller gives; all others are found automatically."""

    arguments: Mapping[str, object] = field(default_factory=dict)
    """Settings with a flag of their own, by key: `source`, `minutes`, `model` for the start model."""
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Other settings, by section and key."""
    config: Path | None = None
    """A run file, whose settings those above override."""
    preset: str | None = None
    """A size of translation models: tiny, small, base or big."""
    recipe: str | None = None
    """`paper` for all settings of the paper."""

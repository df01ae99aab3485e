"""DataConfig: which files, and how they become batches."""

from dataclasses import dataclass

from regard.errors import ConfigError


@dataclass(frozen=True)
class DataConfig:
    """Two text files that match line by line, and two more to validate on."""

    source: str | None = None
    target: str | None = None
    valid_source: str | None = None
    """none: `held_out` pairs are taken out of the training files."""
    valid_target: str | None = None
    held_out: int = 1000
    """Pairs held out when there is no validation file; never more than a tenth of all."""
    bleu_pairs: int = 500
    """Validation pairs that are translated for BLEU; the loss is taken over all of them."""
    batch_tokens: int = 4096
    """Tokens of a batch on its longer side, padding counted."""

    def __post_init__(self) -> None:
        for name in ("held_out", "bleu_pairs", "batch_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"data.{name} = {getattr(self, name)} cannot work; it must be at least 1")
        if (self.valid_source is None) != (self.valid_target is None):
            raise ConfigError("data.valid_source and data.valid_target go together; give both or neither")

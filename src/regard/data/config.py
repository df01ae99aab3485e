"""DataConfig: which files, and how they become batches."""

from dataclasses import dataclass

from regard.errors import ConfigError, require


@dataclass(frozen=True)
class DataConfig:
    """Two text files that match line by line, and two more to validate on."""

    source: str | None = None
    target: str | None = None
    valid_source: str | None = None
    """Empty: `held_out` pairs are taken out of the training files."""
    valid_target: str | None = None
    held_out: int = 1000
    """Pairs held out when there is no validation file; never more than a tenth of all."""
    bleu_pairs: int = 500
    """Validation pairs that are translated for BLEU; the loss is taken over all that fit the model."""
    batch_tokens: int = 4096
    """Tokens of a batch on its longer side, padding counted."""
    lowercase: bool = False
    """Whether the model reads and writes lower-case text only; it lower-cases what it is given by itself."""
    bpe_dropout: float = 0.0
    """How often a merge is passed over when training text is cut into pieces (BPE dropout); 0 is never."""
    bpe_variants: int = 8
    """Tokenizations that are drawn with it; epochs take them in turn."""

    def __post_init__(self) -> None:
        for name in ("held_out", "bleu_pairs", "batch_tokens", "bpe_variants"):
            require(getattr(self, name) >= 1, f"data.{name}", getattr(self, name), "it must be at least 1")
        dropout = self.bpe_dropout
        require(0 <= dropout <= 1, "data.bpe_dropout", dropout, "it must be between 0 and 1")
        for name in ("source", "target", "valid_source", "valid_target"):
            path = getattr(self, name)
            require(path is None or _is_path(path), f"data.{name}", repr(path), "it must be a file's path")
        if (self.valid_source is None) != (self.valid_target is None):
            raise ConfigError("data.valid_source and data.valid_target go together; give both or neither")


def _is_path(text: str) -> bool:
    """Whether it can stand in a settings file and name a file: no NUL, no byte that is not UTF-8."""
    return text != "" and "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)

"""DataConfig: which files, and how they become batches."""

import math
from dataclasses import dataclass
from typing import Literal

from regard.config import section_traits, setting
from regard.errors import ConfigError, require_setting

LongPairPolicy = Literal["drop", "cut", "split"]
LongTextPolicy = Literal["cut", "drop"]


@dataclass(frozen=True)
class DataConfig:
    """The corpora to learn from, what to validate on, and how they become batches."""

    source: tuple[str, ...] = setting((), is_path=True, flag="--source")
    """Text files, one sentence a line..."""
    target: tuple[str, ...] = setting((), is_path=True, flag="--target")
    """...and as many with their translations, line by line."""
    pairs: tuple[str, ...] = setting((), is_path=True, flag="--pairs")
    """Files with both sides on each line: `.tsv` or `.jsonl`."""
    weights: tuple[float, ...] = ()
    """How often an epoch shows each corpus: first those of `source`, then those of `pairs`; empty is once."""
    valid_source: str | None = setting(None, is_path=True, flag="--valid-source")
    """Empty, and no `valid_pairs`: `held_out` pairs are taken out of the training files."""
    valid_target: str | None = setting(None, is_path=True, flag="--valid-target")
    valid_pairs: str | None = setting(None, is_path=True, flag="--valid-pairs")
    """One file in place of the two above."""
    held_out: int = 1000
    """Pairs held out when there is no validation file; never more than a tenth of all."""
    bleu_pairs: int = 500
    """Validation pairs that are translated for BLEU; the loss is taken over all that fit the model."""
    strict: bool = setting(False, flag="--strict")
    """Refuse a corpus with bad pairs instead of leaving them out."""
    long: LongPairPolicy = "drop"
    """Pairs over `model.max_length` pieces: left out, cut off, or split into sentences if the sides agree."""
    batch_tokens: int = 4096
    """Tokens of a batch on its longer side, end marks counted, padding not."""
    cache: str | None = setting(None, is_path=True)
    """Folder for what is prepared once; empty is `regard` in the user's cache folder."""
    lowercase: bool = False
    """Whether the model reads and writes lower-case text only; it lower-cases what it is given by itself."""
    bpe_dropout: float = 0.0
    """How often a merge is passed over when training text is cut into pieces (BPE dropout); 0 is never."""
    bpe_variants: int = 8
    """Tokenizations that are drawn with it; epochs take them in turn."""

    def __post_init__(self) -> None:
        for name in ("held_out", "bleu_pairs", "batch_tokens", "bpe_variants"):
            require_setting(
                getattr(self, name) >= 1, f"data.{name}", getattr(self, name), "it must be at least 1"
            )
        dropout = self.bpe_dropout
        require_setting(0 <= dropout <= 1, "data.bpe_dropout", dropout, "it must be between 0 and 1")
        require_paths("data", self)
        self._check_validation()
        self._check_weights()
        if len(self.source) != len(self.target):
            raise ConfigError(
                f"data.source has {_count_files(self.source)} and data.target {_count_files(self.target)}; "
                "each source goes with the target at the same place"
            )

    def _check_validation(self) -> None:
        if (self.valid_source is None) != (self.valid_target is None):
            raise ConfigError("data.valid_source and data.valid_target go together; give both or neither")
        if self.valid_source is not None and self.valid_pairs is not None:
            raise ConfigError("data.valid_pairs takes the place of data.valid_source; give one of them")

    def _check_weights(self) -> None:
        corpora = len(self.source) + len(self.pairs)
        for weight in self.weights:
            require_setting(0 < weight < math.inf, "data.weights", weight, "each must be a number above 0")
        if self.weights and len(self.weights) != corpora:
            raise ConfigError(
                f"data.weights has {len(self.weights)} for {corpora} corpora; "
                "give one each: first for the sources, then for the pairs"
            )


def require_paths(name: str, section: object) -> None:
    """Refuse a setting of the section that is to be a path and cannot be one."""
    for key in (key for key, traits in section_traits(section).items() if traits.is_path):
        value = getattr(section, key)
        for path in value if isinstance(value, tuple) else (value,):
            require_setting(
                path is None or _is_path(path), f"{name}.{key}", repr(path), "it must be a file's path"
            )


def _count_files(paths: tuple[str, ...]) -> str:
    return f"{len(paths)} file{'' if len(paths) == 1 else 's'}"


def _is_path(text: str) -> bool:
    """Whether it can stand in a settings file and name a file: no NUL, no byte that is not UTF-8."""
    return text != "" and "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)

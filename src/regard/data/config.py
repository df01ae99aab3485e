"""Settings of translation data: training and validation files, tokenization and batching."""

import math
from dataclasses import dataclass
from typing import Literal

from regard.config import check_ranges, section_traits, setting
from regard.errors import ConfigError, require_setting
from regard.text.languages import LANGUAGE_TAG

LongPairPolicy = Literal["drop", "cut", "split"]
LongTextPolicy = Literal["cut", "drop"]


@dataclass(frozen=True)
class DataConfig:
    """Training and validation files of sentence pairs, tokenization and batching."""

    source: tuple[str, ...] = setting((), is_path=True, flag="--source")
    """Source files with one sentence per line; `target` has the translations, line by line."""
    target: tuple[str, ...] = setting((), is_path=True, flag="--target")
    """Target files, one for each of `source`, with one sentence per line."""
    pairs: tuple[str, ...] = setting((), is_path=True, flag="--pairs")
    """Files with both sides: `.tsv`, `.csv`, `.jsonl`, `.parquet`, `.tmx`, `.xliff` or `.po`."""
    weights: tuple[float, ...] = setting((), at_most=1000.0)
    """Repetitions of each corpus per epoch: first those of `source`, then those of `pairs`; empty is once."""
    valid_source: str | None = setting(None, is_path=True, flag="--valid-source")
    """Validation source; without it and `valid_pairs`, `held_out` pairs are taken from the training files."""
    valid_target: str | None = setting(None, is_path=True, flag="--valid-target")
    """Validation target, line by line with `valid_source`."""
    valid_pairs: str | None = setting(None, is_path=True, flag="--valid-pairs")
    """Validation file with both sides, instead of `valid_source` and `valid_target`."""
    source_language: str | None = setting(None, flag="--source-language")
    """Language of the source, such as en or pt-BR, which also chooses it in `pairs`; empty: by the files."""
    target_language: str | None = setting(None, flag="--target-language")
    """Language of the target, likewise."""
    source_column: str | None = setting(None, flag="--source-column")
    """Source column of tables in `pairs`: a name, a number, or a key of `.jsonl`; empty: by the header."""
    target_column: str | None = setting(None, flag="--target-column")
    """Target column, likewise."""
    held_out: int = setting(1000, at_least=1, at_most=10**7)
    """Pairs held out when there is no validation file; at most a tenth of all."""
    split_seed: int = setting(1, at_least=0, at_most=2**32 - 1)
    """Seed that selects the held-out pairs; the same for every `train.seed`, so that runs can be compared."""
    bleu_pairs: int = setting(500, at_least=1, at_most=10**6)
    """Validation pairs that are translated for BLEU; the loss uses all that fit the model."""
    strict: bool = setting(False, flag="--strict")
    """Refuse a corpus with bad pairs instead of excluding them."""
    long: LongPairPolicy = "drop"
    """Pairs over `model.max_length` tokens: dropped, cut off, or split into sentences if both sides agree."""
    batch_tokens: int = setting(4096, at_least=1, at_most=10**6)
    """Maximum number of tokens of a batch on either side; </s> counted, padding not."""
    cache: str | None = setting(None, is_path=True)
    """Folder for prepared corpora; empty is `regard` in the user's cache folder."""
    lowercase: bool = False
    """Lower-case all text: the model lower-cases its input, and its output is lower case."""
    bpe_dropout: float = 0.0
    """BPE dropout: the probability of skipping a merge when training text is tokenized; 0 is off."""
    bpe_variants: int = setting(8, at_least=1, at_most=100)
    """Tokenizations drawn of each text with BPE dropout; epochs take them in turn."""

    def __post_init__(self) -> None:
        check_ranges(self, "data")
        dropout = self.bpe_dropout
        require_setting(0 <= dropout <= 1, "data.bpe_dropout", dropout, "it must be between 0 and 1")
        require_paths("data", self)
        self._check_languages()
        self._check_validation()
        self._check_weights()
        if len(self.source) != len(self.target):
            raise ConfigError(
                f"data.source has {_count_files(self.source)} and data.target {_count_files(self.target)}; "
                "each source goes with the target at the same place"
            )

    def _check_languages(self) -> None:
        for side in ("source", "target"):
            language = getattr(self, f"{side}_language")
            is_code = not language or LANGUAGE_TAG.fullmatch(language) is not None
            advice = "it must be the code of a language, such as en or pt-BR"
            require_setting(is_code, f"data.{side}_language", repr(language), advice)

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
                "give one for each corpus: first those of data.source, then those of data.pairs"
            )


def require_paths(name: str, section: object) -> None:
    """Raise an error about a path setting of the section whose value cannot be a path."""
    for key in (key for key, traits in section_traits(section).items() if traits.is_path):
        value = getattr(section, key)
        for path in value if isinstance(value, tuple) else (value,):
            require_setting(
                path is None or _is_path(path), f"{name}.{key}", repr(path), "it must be the path of a file"
            )


def _count_files(paths: tuple[str, ...]) -> str:
    return f"{len(paths)} file{'' if len(paths) == 1 else 's'}"


def _is_path(text: str) -> bool:
    """Return whether the text can name a file and be written to a settings file: UTF-8 without NUL."""
    return text != "" and "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)

"""Options of a translation request besides the search settings; no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.errors import ConfigError, require_setting
from regard.search.config import SearchConfig
from regard.text.glossary import EMPTY_GLOSSARY, Glossary

LongTextMode = Literal["split", "cut", "skip"]


@dataclass(frozen=True)
class TranslateOptions:
    """Constraints, extra output and the treatment of long texts, for all texts of a request."""

    long_text: LongTextMode = "split"
    """Translate a text that is too long for the model sentence by sentence, cut it, or skip it."""
    prefix: str = ""
    """How every translation begins."""
    required: tuple[str, ...] = ()
    """Phrases that every translation must contain; of a text that is split, its first part."""
    forbidden: tuple[str, ...] = ()
    """Phrases that no translation may contain."""
    glossary: Glossary = EMPTY_GLOSSARY
    """Translations of source words and phrases, which stand in place of the model's own."""
    alignments: bool = False
    """Return which source word each word is a translation of."""
    confidences: bool = False
    """Return the model's probability of each word."""
    ensemble: tuple[Path, ...] = ()
    """Further models, whose predictions are averaged with those of the first."""
    deterministic: bool = False
    """Translate each sentence by itself, so that no other sentence changes even the last bit; slower."""

    def __post_init__(self) -> None:
        for name in ("required", "forbidden", "ensemble"):
            if isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name} takes several; for one, give ({value!r},)")
        for phrase in (*self.required, *self.forbidden):
            require_setting(bool(phrase.strip()), "phrase", phrase, "it must contain a visible character")

    @property
    def has_constraints(self) -> bool:
        """Whether the search of some sentence may have to observe constraints."""
        return self.has_phrase_constraints or bool(self.glossary.entries)

    @property
    def has_phrase_constraints(self) -> bool:
        """Whether every sentence has constraints, not only those with a glossary phrase."""
        return bool(self.prefix or self.required or self.forbidden)

    @property
    def needs_forced_decoding(self) -> bool:
        """Whether finished translations are decoded once more, for alignments or confidences."""
        return self.alignments or self.confidences


DEFAULT_OPTIONS = TranslateOptions()


def reject_conflicting_options(search: SearchConfig, options: TranslateOptions) -> None:
    """Refuse what no engine supports at once, before the first sentence is translated."""
    if search.sampling is not None and (options.required or options.glossary.entries):
        raise ConfigError("required phrases and glossaries need beam search; leave sampling out")
    if options.ensemble and options.needs_forced_decoding:
        raise ConfigError(
            "alignments and confidences come from one model, and --ensemble gives several; leave one out"
        )

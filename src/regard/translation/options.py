"""What is asked of a translation beyond how hard to search; no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.errors import ConfigError, require_setting
from regard.search.config import SearchConfig
from regard.text.glossary import EMPTY_GLOSSARY, Glossary

LongTextMode = Literal["split", "cut", "skip"]


@dataclass(frozen=True)
class TranslateOptions:
    """Nothing special by default."""

    long_text: LongTextMode = "split"
    """A text too long for the model: translated sentence by sentence, only its beginning, or not at all."""
    prefix: str = ""
    """How every translation begins."""
    required: tuple[str, ...] = ()
    """Phrases that every translation must have; of a text that is split, its first part."""
    forbidden: tuple[str, ...] = ()
    """Phrases that no translation may have."""
    glossary: Glossary = EMPTY_GLOSSARY
    """How some words and phrases are to be translated."""
    alignments: bool = False
    """Which words go back to which."""
    confidences: bool = False
    """How sure the model is of each word."""
    ensemble: tuple[Path, ...] = ()
    """Other models: what all of them together hold to be likely is written."""
    deterministic: bool = False
    """Each sentence by itself, so that its neighbours cannot change even the last bit; slower."""

    def __post_init__(self) -> None:
        for name in ("required", "forbidden", "ensemble"):
            if isinstance(given := getattr(self, name), str):
                raise TypeError(f"{name} takes several; for one, give ({given!r},)")
        for phrase in (*self.required, *self.forbidden):
            require_setting(bool(phrase.strip()), "phrase", phrase, "it must have a letter or a sign")

    @property
    def has_constraints(self) -> bool:
        """Whether any sentence may have one, which its search must hold to."""
        return bool(self.prefix or self.required or self.forbidden or self.glossary.entries)

    @property
    def needs_forced_decoding(self) -> bool:
        """Whether translations are to be read once more when they are found."""
        return self.alignments or self.confidences


DEFAULT_OPTIONS = TranslateOptions()


def reject_conflicting_options(search: SearchConfig, options: TranslateOptions) -> None:
    """What no engine can do at once, before the work rather than at the first sentence that needs it."""
    if search.sampling is not None and (options.required or options.glossary.entries):
        raise ConfigError("required phrases and glossaries need a beam; leave sampling out")
    if options.ensemble and options.needs_forced_decoding:
        raise ConfigError(
            "alignments and confidences are read from one model, and --also asks for several; leave one out"
        )

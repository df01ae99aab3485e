"""Language detection restricted to the served languages, with py3langid where it is installed."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from regard.runtime import missing_package
from regard.server.translation.requests import DetectedLanguage, InvalidRequestError, UnsureLanguageError

MAX_CHARACTERS = 2000
"""Of a text, as much as is looked at; more changes nothing."""
PLAUSIBLE = 0.2
"""A doubtful text takes the language of the other texts of its request if that is at least so probable."""


class LanguageDetector:
    """Tells which of some languages a text is in."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        self._identifier: Any = None
        self._by_label: dict[str, str] = {}

    @property
    def obstacle(self) -> str | None:
        """Why languages cannot be detected, or None."""
        if len(self.languages) <= 1:
            return None
        return missing_package("py3langid", "detect")

    def load(self) -> None:
        """Load the detector, which takes a quarter of a second; otherwise the first text does."""
        if self._identifier is not None or len(self.languages) <= 1 or self.obstacle:
            return
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        known = set(identifier.labels)
        for language in self.languages:  # the first of zh-Hans and zh-Hant stands for zh
            label = language.lower().replace("_", "-").partition("-")[0]
            if label in known:
                self._by_label.setdefault(label, language)
        if self._by_label:
            identifier.set_languages(list(self._by_label))
        self._identifier = identifier

    def rank(self, text: str) -> list[DetectedLanguage]:
        """Return the languages, most probable first."""
        if len(self.languages) <= 1:
            return [DetectedLanguage(language, 1.0) for language in self.languages]
        if self.obstacle:
            raise InvalidRequestError(
                f"this server cannot tell languages: {self.obstacle}; name the language"
            )
        self.load()
        if not self._by_label or not has_letters(text):
            return [DetectedLanguage(language, 1 / len(self.languages)) for language in self.languages]
        ranked = self._identifier.rank(text[:MAX_CHARACTERS])
        return [DetectedLanguage(self._by_label[label], round(float(p), 4)) for label, p in ranked]

    def detect_all(self, texts: Sequence[str], min_confidence: float) -> list[DetectedLanguage]:
        """Return the language of each text of a request; raise `UnsureLanguageError` where it is not clear.

        A doubtful text takes the language of the clear ones, if they agree and it may well be in it. A text
        without letters is the same in every language.
        """
        ranked = [self.rank(text) for text in texts]
        clear = [each[0] for each in ranked if each[0].confidence >= min_confidence]
        common = Counter(each.language for each in clear).most_common(1)
        usual = common[0][0] if common else self.languages[0]
        agreed = len({each.language for each in clear}) == 1
        results = []
        for index, (text, candidates) in enumerate(zip(texts, ranked, strict=True)):
            best = candidates[0]
            by_language = dict(candidates)
            if best.confidence < min_confidence:
                if not has_letters(text):
                    best = DetectedLanguage(usual, 0.0)
                elif agreed and by_language.get(usual, 0.0) >= PLAUSIBLE:
                    best = DetectedLanguage(usual, by_language[usual])
                else:
                    raise _unsure(index, len(texts), candidates)
            results.append(best)
        return results


def has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text[:MAX_CHARACTERS])


def _unsure(index: int, texts: int, candidates: Sequence[DetectedLanguage]) -> UnsureLanguageError:
    which = "the text" if texts == 1 else f"text {index + 1}"
    guesses = " or ".join(f"{each.language} ({each.confidence:.0%})" for each in candidates[:2])
    return UnsureLanguageError(
        f"the language of {which} is not clear: {guesses}; name the source language", index, candidates
    )

"""The models in use: which versions serve, and the way of each text of a request through them."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.server.translation.language_detection import LanguageDetector
from regard.server.translation.requests import (
    AUTO_LANGUAGE,
    DetectedLanguage,
    InvalidRequestError,
    TextRequest,
    UnsupportedLanguageError,
)
from regard.server.translation.serve_settings import SearchSettings
from regard.server.translation.served_models import LanguageRouter, ModelVersion


@dataclass(frozen=True)
class TextRoute:
    """The languages of a text and the models on its way: none if source and target are the same."""

    source_language: str
    target_language: str
    detected: DetectedLanguage | None
    versions: tuple[ModelVersion, ...]


class ModelRegistry:
    """The version of each model that new requests get, and the languages they serve."""

    def __init__(self, search: SearchSettings) -> None:
        self._search = search
        self.versions: dict[str, ModelVersion] = {}
        """By name."""
        self.router = LanguageRouter({}, ())
        self.detector = LanguageDetector(())

    def use(self, versions: dict[str, ModelVersion]) -> None:
        """Serve these versions from now on."""
        pairs: dict[tuple[str, str], str] = {}
        for version in versions.values():  # the first model of a pair serves it
            pairs.setdefault((version.source_language, version.target_language), version.name)
        router = LanguageRouter(pairs, self._search.pivot)
        if tuple(router.sources) != self.detector.languages:
            self.detector = LanguageDetector(router.sources)
        self.versions, self.router = versions, router

    def find_routes(self, request: TextRequest) -> list[TextRoute]:
        """Return the languages and models of each text; raise if a language is not served or not clear."""
        target = self.router.match(request.target_language)
        detected: Sequence[DetectedLanguage | None] = [None] * len(request.texts)
        if request.source_language.lower() == AUTO_LANGUAGE:
            detected = self.detector.detect_all(request.texts, self._search.min_confidence)
            sources = [each.language for each in detected if each is not None]
        else:
            sources = [self.router.match(request.source_language)] * len(request.texts)
        return [
            TextRoute(source, target, found, self._versions_between(request.model, source, target))
            for source, found in zip(sources, detected, strict=True)
        ]

    def _versions_between(self, name: str | None, source: str, target: str) -> tuple[ModelVersion, ...]:
        if name is None:
            return tuple(self.versions[each] for each in self.router.route(source, target))
        version = self.versions.get(name)
        if version is None:
            raise InvalidRequestError(
                f"there is no model {name[:80]!r}; there are {', '.join(self.versions)}"
            )
        pair = (version.source_language, version.target_language)
        if pair != (source, target):
            raise UnsupportedLanguageError(
                f"the model {name} translates {pair[0]} to {pair[1]}", target, [pair]
            )
        return (version,)

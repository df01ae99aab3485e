"""Models of the server as its front process sees them: tokenizer, limits and languages, but no weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint import CONFIG_FILE, MANIFEST_FILE, WEIGHTS_FILE, file_sha256, find_model_folder
from regard.config import read_settings
from regard.errors import ConfigError, RegardError
from regard.server.translation.language_codes import has_language_code_form, language_name, match_language
from regard.server.translation.requests import ServedLanguage, ServedModel, UnsupportedLanguageError
from regard.server.translation.serve_settings import ModelSettings, pairs_in_words
from regard.server.worker.protocol import ModelSpec
from regard.text.languages import languages_of_model
from regard.text.tokenizer import Tokenizer
from regard.translation.model_folder import TranslationFolder, read_translation_folder
from regard.translation.unlike_training import LikelihoodCalibration

VERSION_LENGTH = 12


@dataclass(frozen=True)
class ModelVersion:
    """One version of a model: what a model folder held when it was read."""

    name: str
    sha256: str
    """Of its manifest."""
    path: Path
    source_language: str
    target_language: str
    tokenizer: Tokenizer
    max_tokens: int
    calibration: LikelihoodCalibration | None
    settings: ModelSettings

    @property
    def version(self) -> str:
        return self.sha256[:VERSION_LENGTH]

    @property
    def handle(self) -> str:
        """The name of this version in the queue, the cache and the model process."""
        return f"{self.name}@{self.version}"

    def to_spec(self) -> ModelSpec:
        """Return what the model process needs to load it."""
        settings = self.settings
        return ModelSpec(
            self.handle,
            str(self.path),
            self.sha256,
            settings.engine,
            settings.device,
            settings.precision,
            settings.threads,
            settings.canaries,
        )

    def to_served(self, engine: str) -> ServedModel:
        return ServedModel(self.name, self.source_language, self.target_language, self.version, engine)


def read_model_version(name: str, settings: ModelSettings) -> ModelVersion:
    """Read a model folder; every file is verified, the weights by their size."""
    folder = find_model_folder(Path(settings.path))
    sha256 = file_sha256(folder / MANIFEST_FILE)
    read = read_translation_folder(folder, size_only=[WEIGHTS_FILE])
    if file_sha256(read.path / MANIFEST_FILE) != sha256:
        raise RegardError(f"{folder} was replaced while it was read; try again")
    source, target = _languages_of(name, read, settings)
    return ModelVersion(
        name,
        sha256,
        read.path.resolve(),
        source,
        target,
        read.tokenizer,
        read.config.max_tokens,
        read.calibration,
        settings,
    )


def has_changed(version: ModelVersion) -> bool:
    """Return whether the folder of a model, or where a link leads, is another than was read."""
    try:
        folder = find_model_folder(Path(version.settings.path))
        return folder.resolve() != version.path or file_sha256(folder / MANIFEST_FILE) != version.sha256
    except (RegardError, OSError):
        return True


def _languages_of(name: str, folder: TranslationFolder, settings: ModelSettings) -> tuple[str, str]:
    """Return the languages by the settings, the manifest, or the names of the training files."""
    declared: Any = folder.manifest.get("data")
    trained = read_settings(folder.path / CONFIG_FILE).get("data", {})
    by_model = zip(
        languages_of_model(declared if isinstance(declared, dict) else {}),
        languages_of_model(trained),
        strict=True,
    )
    found = []
    for side, given, known in zip(
        ("source", "target"), (settings.source_language, settings.target_language), by_model, strict=True
    ):
        candidates = (given, *known)
        code = next((each for each in candidates if each is not None and has_language_code_form(each)), None)
        if code is None:
            raise ConfigError(
                f"{folder.path} does not say its {side} language; "
                f"give --{side}-language, or {side}_language in [models.{name}]"
            )
        found.append(code)
    return found[0], found[1]


class LanguageRouter:
    """Finds the models that translate from one language to another."""

    def __init__(self, pairs: dict[tuple[str, str], str], pivots: tuple[str, ...]) -> None:
        """`pairs` are the names of the models by their languages."""
        self._pairs = pairs
        self._pivots = [code for code in (match_language(each, self.all_codes()) for each in pivots) if code]

    def all_codes(self) -> list[str]:
        return list(dict.fromkeys(code for pair in self._pairs for code in pair))

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(source for source, _ in self._pairs))

    def find_route(self, source: str, target: str) -> tuple[str, ...] | None:
        """Return the names of one model or two; none for a language to itself; None if there is no way."""
        if source == target:
            return ()
        if (source, target) in self._pairs:
            return (self._pairs[source, target],)
        for pivot in self._pivots:
            if (source, pivot) in self._pairs and (pivot, target) in self._pairs:
                return self._pairs[source, pivot], self._pairs[pivot, target]
        return None

    def served_pairs(self) -> list[tuple[str, str]]:
        codes = self.all_codes()
        return [(a, b) for a in self.sources for b in codes if a != b and self.find_route(a, b)]

    def languages(self) -> list[ServedLanguage]:
        codes = self.all_codes()
        return [
            ServedLanguage(
                source,
                language_name(source),
                (source, *(code for code in codes if code != source and self.find_route(source, code))),
            )
            for source in self.sources
        ]

    def match(self, code: str) -> str:
        """Return the served language that a client means; raise if there is none."""
        found = match_language(code, self.all_codes())
        if found is None:
            pairs = self.served_pairs()
            raise UnsupportedLanguageError(
                f"{code[:40]} is not supported; the server translates {pairs_in_words(pairs)}", code, pairs
            )
        return found

    def route(self, source: str, target: str) -> tuple[str, ...]:
        """Return the route between two served languages; raise if there is none."""
        found = self.find_route(source, target)
        if found is None:
            pairs = self.served_pairs()
            raise UnsupportedLanguageError(
                f"no model translates {source} to {target}; the server translates {pairs_in_words(pairs)}",
                target,
                pairs,
            )
        return found

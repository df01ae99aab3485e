"""Settings of `regard serve`: models, limits and access, from serve.toml or from the command line."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from regard.config import build_section, check_ranges, read_settings, setting
from regard.errors import ConfigError, require_setting
from regard.inference.engine_selection import EngineName, RequestedPrecision
from regard.server.translation.language_codes import has_language_code_form
from regard.translation.engines import DeviceName

MODELS_SECTION = "models"
HOST_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
PUBLIC_URL = re.compile(rf"https?://{HOST_NAME.pattern}(:\d{{1,5}})?/?")
MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DEFAULT_CANARIES = ("1", "A.")
"""Any model translates them to something."""


@dataclass(frozen=True)
class ModelSettings:
    """One model, `[models.NAME]`."""

    path: str = setting("", is_path=True)
    """Run or model folder of `regard train`; a relative path starts at the folder of serve.toml."""
    source_language: str | None = None
    """Language it translates from; empty: as the model says."""
    target_language: str | None = None
    """Language it translates to; empty: as the model says."""
    engine: EngineName = "auto"
    """Engine, as in `regard translate`."""
    device: DeviceName = "auto"
    """Where it computes."""
    precision: RequestedPrecision = "auto"
    """Precision of the engine."""
    threads: int | None = setting(None, at_least=1, at_most=1024)
    """Threads; none: one per core."""
    canaries: tuple[str, ...] = DEFAULT_CANARIES
    """Texts that must have a translation before the model is used, at the start and at each reload."""

    def __post_init__(self) -> None:
        check_ranges(self)
        require_setting(bool(self.path), "path", repr(self.path), "give the model folder")
        for code in (self.source_language, self.target_language):
            advice = "write a language code such as en or pt-BR"
            require_setting(code is None or has_language_code_form(code), "language", repr(code), advice)


@dataclass(frozen=True)
class LimitSettings:
    """What a request may ask for, and how long it may wait, `[limits]`."""

    text_characters: int = setting(5000, at_least=1, at_most=10**7)
    """Characters of a text."""
    texts: int = setting(128, at_least=1, at_most=10**5)
    """Texts of a request."""
    request_characters: int = setting(200_000, at_least=1, at_most=10**8)
    """Characters of all texts of a request."""
    alternatives: int = setting(8, at_least=0, at_most=100)
    """Further translations of a text."""
    beam: int = setting(16, at_least=1, at_most=1000)
    """Hypotheses that a request may ask for."""
    phrases: int = setting(200, at_least=0, at_most=10**5)
    """Glossary entries and forbidden phrases of a request."""
    deadline_seconds: float = setting(30.0, at_least=0.1, at_most=3600.0)
    """Longest time from a request to its answer."""
    max_wait_seconds: float = setting(8.0, at_least=0.1, at_most=3600.0)
    """A request that would wait longer is refused; clients wait more patiently than they retry."""
    batch_seconds: float = setting(0.25, at_least=0.001, at_most=60.0)
    """Predicted time of a batch."""
    batch_timeout_seconds: float = setting(120.0, at_least=1.0, at_most=3600.0)
    """A model process that takes longer for a batch is restarted."""
    hang_seconds: float = setting(10.0, at_least=1.0, at_most=3600.0)
    """A model process that shows no sign of life for so long is restarted."""
    drain_seconds: float = setting(30.0, at_least=0.0, at_most=3600.0)
    """Time to finish requests when the server stops."""
    reload_seconds: float = setting(5.0, at_least=0.0, at_most=86400.0)
    """How often changed model folders are looked for; 0: at SIGHUP only."""
    cache_megabytes: int = setting(64, at_least=0, at_most=10**6)
    """Memory of the sentence cache."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class SearchSettings:
    """How texts are translated where a request does not say, `[search]`."""

    beam: int = setting(4, at_least=1, at_most=1000)
    """Hypotheses of the search; 1 is greedy search."""
    deterministic: bool = False
    """Translate each sentence by itself, so that no other sentence changes even the last bit; slower."""
    pivot: tuple[str, ...] = ()
    """Languages through which two models may be joined where no model translates directly."""
    gpus: tuple[int, ...] = setting((), at_least=0, at_most=1023)
    """GPUs by number, with a model process for each; empty: one process."""
    min_confidence: float = setting(0.6, at_least=0.0, at_most=1.0)
    """A text whose language is told with less is refused, if its request does not name the language."""

    def __post_init__(self) -> None:
        check_ranges(self)
        for code in self.pivot:
            require_setting(has_language_code_form(code), "pivot", repr(code), "write codes such as en")


@dataclass(frozen=True)
class AccessSettings:
    """Who may use the server, `[access]`."""

    keys_file: str | None = setting(None, is_path=True)
    """Database of API keys and their quotas, which `regard keys` writes; empty: no key is needed."""
    key_required: bool = False
    """Refuse requests without a key."""
    address_requests_per_minute: int | None = setting(None, at_least=1, at_most=10**6)
    """Requests of an address without a key; none: no limit."""
    address_characters_per_minute: int | None = setting(None, at_least=1, at_most=10**9)
    """Characters of an address without a key; none: no limit."""
    cors_origins: tuple[str, ...] = ()
    """Origins of web pages that may call the API; "*" is every page."""
    public_url: str | None = None
    """The address that browsers use where a proxy stands in front, such as https://translate.example.org."""
    host_names: tuple[str, ...] = ()
    """Further names of the server. With these or `public_url`, requests for other names are refused."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""

    def __post_init__(self) -> None:
        check_ranges(self)
        advice = "name the file of keys with keys_file"
        require_setting(not self.key_required or bool(self.keys_file), "key_required", "true", advice)
        if self.public_url:
            advice = "write an address without a path, such as https://translate.example.org"
            require_setting(
                PUBLIC_URL.fullmatch(self.public_url) is not None, "public_url", repr(self.public_url), advice
            )
        for name in self.host_names:
            advice = "write names without a port, such as translate.example.org"
            require_setting(HOST_NAME.fullmatch(name) is not None, "host_names", repr(name), advice)
        for network in self.trusted_proxies:
            advice = "write addresses or networks, such as 127.0.0.1 or 10.0.0.0/8"
            require_setting(_is_network(network), "trusted_proxies", repr(network), advice)

    @property
    def public_origin(self) -> str | None:
        """Return `public_url` as a browser sends it in Origin."""
        return self.public_url.rstrip("/").lower() if self.public_url else None

    @property
    def public_names(self) -> tuple[str, ...]:
        """Return the names that requests may be for, with that of `public_url`."""
        names = [] if self.public_origin is None else [self.public_origin.partition("://")[2]]
        return tuple(dict.fromkeys([*names, *(name.lower() for name in self.host_names)]))


@dataclass(frozen=True)
class StorageSettings:
    """What the server keeps for its clients, `[storage]`."""

    folder: str | None = setting(None, is_path=True)
    """Folder of the glossaries; empty: they are kept in memory, until the server stops."""
    dictionaries: int = setting(1000, at_least=0, at_most=10**6)
    """Dictionaries of glossaries, of all clients."""
    document_megabytes: int = setting(20, at_least=1, at_most=1000)
    """Size of a document."""
    document_jobs: int = setting(100, at_least=1, at_most=10**5)
    """Documents that wait or are translated, of all clients."""
    document_minutes: float = setting(60.0, at_least=0.01, at_most=10080.0)
    """How long a translated document can be fetched."""
    all_documents_megabytes: int = setting(1000, at_least=1, at_most=10**6)
    """Size of the documents on disk."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class ServeSettings:
    """All settings of a translation server."""

    models: Mapping[str, ModelSettings]
    limits: LimitSettings = field(default_factory=LimitSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)

    def __post_init__(self) -> None:
        if not self.models:
            raise ConfigError('there is no model to serve; name one, as in [models.en-fr] with path = "..."')
        for name in self.models:
            if not MODEL_NAME.fullmatch(name):
                advice = "a name has letters, digits, '.', '_' and '-'"
                raise ConfigError(f"[{MODELS_SECTION}.{name[:80]}] cannot work; {advice}")


def read_serve_settings(path: Path) -> ServeSettings:
    """Read serve.toml; every error names the file, the section and the key."""
    document = read_settings(path)
    try:
        return _build(document, path.resolve().parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def settings_of_model(
    path: Path, source_language: str | None = None, target_language: str | None = None
) -> ServeSettings:
    """Return the settings of a server with one model."""
    model = ModelSettings(str(path.resolve()), source_language, target_language)
    return ServeSettings({"model": model})


def _build(document: Mapping[str, Mapping[str, object]], folder: Path) -> ServeSettings:
    sections = {each.name: each.type for each in fields(ServeSettings)}
    for name in document:
        if name not in sections:
            raise ConfigError(f"[{name}] is not a section; there are {', '.join(sections)}")
    models = {
        name: _build_model(name, values, folder) for name, values in document.get(MODELS_SECTION, {}).items()
    }
    access = build_section(AccessSettings, "access", document.get("access", {}))
    if access.keys_file:
        access = replace(access, keys_file=str(folder / access.keys_file))
    storage = build_section(StorageSettings, "storage", document.get("storage", {}))
    if storage.folder:
        storage = replace(storage, folder=str(folder / storage.folder))
    return ServeSettings(
        models,
        build_section(LimitSettings, "limits", document.get("limits", {})),
        build_section(SearchSettings, "search", document.get("search", {})),
        access,
        storage,
    )


def _build_model(name: str, values: object, folder: Path) -> ModelSettings:
    section = f"{MODELS_SECTION}.{name}"
    if not isinstance(values, Mapping):
        raise ConfigError(f'{section} = {values!r} cannot work; write [{section}] with path = "..."')
    try:
        model = build_section(ModelSettings, section, dict(values))
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if section in text else f"{section}.{text}") from None
    return replace(model, path=str(folder / model.path))


def pairs_in_words(pairs: Sequence[tuple[str, str]]) -> str:
    """Return language pairs as text, for messages."""
    shown = [f"{source}-{target}" for source, target in pairs[:12]]
    return ", ".join([*shown, "..."] if len(pairs) > len(shown) else shown)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True

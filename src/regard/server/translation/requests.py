"""Requests, results and errors of the translation service, and its interface; no HTTP and no torch.

The HTTP surfaces are built on these types alone: tests give them a service without a model.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from regard.documents.web.tagged_text import DEFAULT_TAGS, XmlTags
from regard.errors import RegardError

AUTO_LANGUAGE = "auto"
"""The source language of a request whose texts tell it."""
TextFormat = Literal["text", "html", "xml"]
SegmentMode = Literal["lines", "sentences"]
ResultStatus = Literal["whole", "split", "cut", "skipped", "impossible"]
"""As `translation.result.TranslationStatus`: what was done about a text that was too long."""
ServiceState = Literal["starting", "ready", "draining", "stopped"]


@dataclass(frozen=True)
class TextRequest:
    """Texts to translate with the same options."""

    texts: tuple[str, ...]
    target_language: str
    source_language: str = AUTO_LANGUAGE
    format: TextFormat = "text"
    """Plain text, whose line breaks are kept, or HTML or XML, whose markup is kept."""
    segments: SegmentMode = "lines"
    """Translate each line as a whole, as `regard translate` does, or sentence by sentence. HTML and XML are
    always translated sentence by sentence."""
    alternatives: int = 0
    """Further translations of each text; none for HTML, XML and for a text that was split."""
    glossary: tuple[tuple[str, str], ...] = ()
    """Source phrases and the terms to use for them."""
    forbidden: tuple[str, ...] = ()
    """Phrases that no translation may contain."""
    prefix: str = ""
    """How the translation of each text begins; for plain text only."""
    beam: int | None = None
    """Hypotheses of the search; None: as the server is set. 1 is greedy search."""
    confidences: bool = False
    """Return the model's probability of each word; for plain text only."""
    alignments: bool = False
    """Return which source word each word is a translation of; for plain text only."""
    sentences: bool = False
    """Return the segments of each text with their translations; implied by confidences and alignments."""
    model: str | None = None
    """The name of a model in the settings; None: the one that serves the languages."""
    deadline_seconds: float | None = None
    """When the client stops waiting, counted from the call; None: as the server is set."""
    client: str = ""
    """Whose request it is: clients share the engine fairly. A key's name, or an address."""
    request_id: str = ""
    """For the log; two requests may have the same."""
    xml_tags: XmlTags = DEFAULT_TAGS
    """What is done about the tags of XML."""


class DetectedLanguage(NamedTuple):
    """A language that a text may be in."""

    language: str
    confidence: float
    """From 0 to 1, among the served languages."""


class WordScore(NamedTuple):
    """A word of a translation with the model's probability of its least probable token."""

    text: str
    confidence: float


@dataclass(frozen=True)
class SegmentResult:
    """A line or sentence of a text with its translation."""

    source: str
    """Without surrounding white space."""
    text: str
    score: float | None = None
    """Log-probability over length penalty; None where there is none, as through a third language."""
    alternatives: tuple[str, ...] = ()
    alignment: tuple[tuple[int, int], ...] | None = None
    """Pairs (source word, target word), counted from 0; None: not requested."""
    words: tuple[WordScore, ...] | None = None
    """None: not requested."""
    status: ResultStatus = "whole"
    message: str = ""
    """The status in words; empty if the segment was translated whole."""
    unlike_training: bool | None = None
    """Whether it is unlike the training text of the model; None: unknown."""
    misplaced_terms: tuple[str, ...] = ()
    """Glossary terms that do not stand in place of what they replace, as "phrase -> term"."""


@dataclass(frozen=True)
class TextResult:
    """The translation of one text of a request."""

    text: str
    source_language: str
    target_language: str
    detected: DetectedLanguage | None = None
    """None: the request named the source language."""
    alternatives: tuple[str, ...] = ()
    """Best first; may be fewer than requested."""
    segments: tuple[SegmentResult, ...] | None = None
    """Lines or sentences in order, blank ones left out; None: not requested."""
    status: ResultStatus = "whole"
    """The first segment's that is not "whole"."""
    messages: tuple[str, ...] = ()
    """What was done about segments that could not be translated whole."""
    model: str = ""
    """The name of the model, or of both models on the way through a third language."""


class SegmentEvent(NamedTuple):
    """A finished segment of a stream."""

    text_index: int
    segment_index: int
    """Among the segments of the text; segments may finish in any order."""
    segment: SegmentResult


class TextEvent(NamedTuple):
    """A finished text of a stream."""

    text_index: int
    result: TextResult


StreamEvent = SegmentEvent | TextEvent


class ServedLanguage(NamedTuple):
    """A source language and the languages it is translated to."""

    code: str
    name: str
    """In English."""
    targets: tuple[str, ...]
    """Also the language itself: its texts are returned unchanged."""


class ServedModel(NamedTuple):
    """A model of the server."""

    name: str
    source_language: str
    target_language: str
    version: str
    """The beginning of the SHA-256 of its manifest."""
    engine: str
    """Engine and precision, such as "ctranslate2 int8"."""


class TranslateRequestError(RegardError):
    """A request that is not translated; the message is for the client."""


class InvalidRequestError(TranslateRequestError):
    """A request with values that cannot be used."""


class UnsupportedLanguageError(TranslateRequestError):
    """A language or pair of languages that the server has no model for."""

    def __init__(self, message: str, language: str, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(message)
        self.language = language
        """The code that is not supported, as the client wrote it; the target if only the pair is not."""
        self.pairs = tuple(pairs)
        """The pairs that are."""


class UnsureLanguageError(TranslateRequestError):
    """A text whose language cannot be told; the client should name it."""

    def __init__(self, message: str, text_index: int, candidates: Sequence[DetectedLanguage]) -> None:
        super().__init__(message)
        self.text_index, self.candidates = text_index, tuple(candidates)


class TextTooLongError(TranslateRequestError):
    """A request with more text than the server takes."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit
        """In characters of a text, or in texts of a request."""


class OverloadedError(TranslateRequestError):
    """A request that would have to wait too long."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """In seconds."""


class DeadlineExceededError(TranslateRequestError):
    """A request that was not finished before its deadline."""


class UnavailableError(TranslateRequestError):
    """A server that is starting, or shutting down."""

    def __init__(self, message: str, state: ServiceState, retry_after: int = 5) -> None:
        super().__init__(message)
        self.state, self.retry_after = state, retry_after


class TranslationFailedError(TranslateRequestError):
    """An engine that failed, also when it was tried again."""


@dataclass(frozen=True)
class ServiceMetrics:
    """Counters since the start, and gauges, of the translation service."""

    state: ServiceState = "starting"
    queued_segments: int = 0
    queued_seconds: float = 0.0
    """Predicted time to translate what is queued, which autoscaling should watch."""
    running_segments: int = 0
    running_batches: int = 0
    requests: int = 0
    segments: int = 0
    """Segments answered by a model, the cache not counted."""
    source_tokens: int = 0
    target_tokens: int = 0
    batches: int = 0
    batch_sizes: Mapping[int, int] = field(default_factory=dict)
    """Number of batches by size, the size rounded up to a power of two."""
    cache_hits: int = 0
    cache_misses: int = 0
    cache_bytes: int = 0
    coalesced: int = 0
    """Segments that joined an equal one already queued or running."""
    skipped: int = 0
    """Segments dropped from the queue because their client had gone or their deadline had passed."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Refused requests by reason: overloaded, deadline, language, unsure, too_long, invalid, unavailable,
    failed."""
    worker_restarts: int = 0
    worker_memory_bytes: int = 0
    reloads: int = 0
    failed_reloads: int = 0
    models: tuple[ServedModel, ...] = ()


@dataclass(frozen=True)
class ReloadResult:
    """What a reload did."""

    changed: tuple[str, ...] = ()
    """Names of the models that were replaced."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Models that stay as they were, with the reason."""


@runtime_checkable
class TranslationService(Protocol):
    """Translates requests of many clients at once; every method raises `TranslateRequestError`s only."""

    async def translate(self, request: TextRequest) -> list[TextResult]:
        """Return a result for each text, in order. Cancel the call to drop what is still queued."""
        ...

    def stream(self, request: TextRequest) -> AsyncIterator[StreamEvent]:
        """Yield segments as they finish, and each text once its segments are; close it to drop the rest.

        A request that is refused raises before the first event.
        """
        ...

    def languages(self) -> list[ServedLanguage]:
        """Return the source languages with their targets, pivots included."""
        ...

    def models(self) -> list[ServedModel]:
        """Return the models that are loaded."""
        ...

    def detect(self, text: str) -> list[DetectedLanguage]:
        """Return the served languages that a text may be in, best first."""
        ...

    @property
    def ready(self) -> bool:
        """Whether requests are accepted and a model process is alive."""
        ...

    @property
    def state(self) -> ServiceState: ...

    async def start(self) -> None:
        """Start the model processes; returns once every model is loaded, or raises the reason."""
        ...

    async def drain(self) -> None:
        """Refuse new requests, answer those accepted, and stop the model processes."""
        ...

    async def reload(self) -> ReloadResult:
        """Replace the models whose folders have changed, without dropping a request."""
        ...

    def metrics(self) -> ServiceMetrics: ...

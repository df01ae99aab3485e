"""A translation service without a model: it upper-cases; for tests of what stands on the service."""

from dataclasses import dataclass, field

from regard.documents.web.html import read_html
from regard.documents.web.tagged_text import read_tagged_text
from regard.server.translation.requests import (
    AUTO_LANGUAGE,
    DetectedLanguage,
    InvalidRequestError,
    ReloadResult,
    SegmentEvent,
    SegmentResult,
    ServedLanguage,
    ServedModel,
    ServiceMetrics,
    TextEvent,
    TextResult,
    UnavailableError,
    UnsupportedLanguageError,
    UnsureLanguageError,
    WordScore,
)

NAMES = {"en": "English", "fr": "French", "de": "German"}
PAIRS = (("en", "fr"), ("en", "de"), ("fr", "en"))


def upper_case(text):
    return text.upper()


@dataclass
class FakeTranslationService:
    """Translates en-fr, en-de and fr-en to upper case; a text with "le" is French, one of digits unsure.

    `error` is raised for every request if it is set; `requests` are those that were made.
    """

    state: str = "ready"
    error: Exception | None = None
    translate_text: object = upper_case
    requests: list = field(default_factory=list)
    closed_streams: int = 0

    @property
    def ready(self):
        return self.state == "ready"

    async def start(self):
        self.state = "ready"

    async def drain(self):
        self.state = "stopped"

    async def reload(self):
        return ReloadResult()

    def languages(self):
        targets = {code: (code, *(b for a, b in PAIRS if a == code)) for code in NAMES}
        return [ServedLanguage(code, NAMES[code], targets[code]) for code in NAMES if len(targets[code]) > 1]

    def models(self):
        return [ServedModel(f"{a}-{b}", a, b, "0123456789ab", "fake fp32") for a, b in PAIRS]

    def metrics(self):
        return ServiceMetrics(state=self.state, requests=len(self.requests), models=tuple(self.models()))

    def detect(self, text):
        if not any(character.isalpha() for character in text):
            return [DetectedLanguage("en", 0.5), DetectedLanguage("fr", 0.5)]
        languages = ("fr", "en") if " le " in f" {text.lower()} " else ("en", "fr")
        return [DetectedLanguage(languages[0], 0.98), DetectedLanguage(languages[1], 0.02)]

    async def translate(self, request):
        return [event.result async for event in self.stream(request) if isinstance(event, TextEvent)]

    async def stream(self, request):
        self.requests.append(request)
        if self.state != "ready":
            raise UnavailableError(f"the server is {self.state}", self.state)
        if self.error is not None:
            raise self.error
        if request.format != "text" and (request.prefix or request.alignments or request.confidences):
            raise InvalidRequestError("prefix, alignments and confidences are for plain text")
        results = [self._translate(request, index, text) for index, text in enumerate(request.texts)]
        try:
            for index, (segments, result) in enumerate(results):
                for number, segment in enumerate(segments):
                    yield SegmentEvent(index, number, segment)
                yield TextEvent(index, result)
        except GeneratorExit:
            self.closed_streams += 1
            raise

    def _translate(self, request, index, text):
        detected = None
        source = request.source_language
        if source == AUTO_LANGUAGE:
            detected = self.detect(text)[0]
            source = detected.language
            if detected.confidence < 0.9:
                raise UnsureLanguageError("the language is not clear", index, self.detect(text))
        target = request.target_language
        for code in (source, target):
            if code not in NAMES:
                raise UnsupportedLanguageError(f"{code} is not supported", code, PAIRS)
        if source != target and (source, target) not in PAIRS:
            raise UnsupportedLanguageError(f"no model translates {source} to {target}", target, PAIRS)
        change = (lambda text: text) if source == target else self.translate_text
        if request.format != "text":
            is_html = request.format == "html"
            template = read_html(text) if is_html else read_tagged_text(text, request.xml_tags)
            sources = list(template.segments)
            translated = template.render([change(each) for each in sources])
        else:
            sources = [line.strip() for line in text.split("\n") if line.strip()]
            translated = "\n".join(change(line.strip()) for line in text.split("\n"))
        segments = tuple(self._segment(request, each, change(each)) for each in sources)
        wants = request.sentences or request.alignments or request.confidences
        others = tuple(f"{translated} {n + 2}" for n in range(request.alternatives))
        result = TextResult(
            translated,
            source,
            target,
            detected,
            others,
            segments if wants else None,
            model=f"{source}-{target}",
        )
        return segments, result

    @staticmethod
    def _segment(request, source, text):
        words = text.split()
        return SegmentResult(
            source,
            text,
            -0.5,
            alignment=tuple((n, n) for n in range(len(words))) if request.alignments else None,
            words=tuple(WordScore(word, 0.9) for word in words) if request.confidences else None,
        )

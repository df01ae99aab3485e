"""Progress of one request: its segments on their way through one model or two, and its results."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from regard.errors import DataError
from regard.server.scheduling.fair_queue import BatchKey
from regard.server.scheduling.scheduler import JobKey, SegmentJob
from regard.server.translation.model_registry import TextRoute
from regard.server.translation.requests import (
    InvalidRequestError,
    SegmentEvent,
    SegmentResult,
    TextEvent,
    TextRequest,
    TextResult,
    TextTooLongError,
    WordScore,
)
from regard.server.translation.serve_settings import LimitSettings, SearchSettings
from regard.server.translation.served_models import ModelVersion
from regard.server.translation.text_segments import SegmentedText, split_text
from regard.server.worker.protocol import SegmentOptions, SegmentTranslation, encode_options
from regard.text.glossary import Glossary
from regard.text.unicode import reject_lone_surrogates
from regard.translation.long_text import TextParts, merge_parts, split_long_texts
from regard.translation.options import TranslateOptions
from regard.translation.result import Translation, WordConfidence


def check_request(request: TextRequest, limits: LimitSettings) -> None:
    """Raise for values that cannot be used, before any work is done."""
    if len(request.texts) > limits.texts:
        raise TextTooLongError(
            f"{len(request.texts):,} texts; a request may have {limits.texts:,}", limits.texts
        )
    longest = max(map(len, request.texts), default=0)
    if longest > limits.text_characters:
        raise TextTooLongError(
            f"a text of {longest:,} characters; it may have {limits.text_characters:,}",
            limits.text_characters,
        )
    if sum(map(len, request.texts)) > limits.request_characters:
        raise TextTooLongError(
            f"more than {limits.request_characters:,} characters in one request", limits.request_characters
        )
    _require(request.format in ("text", "html", "xml"), "the format must be text, html or xml")
    _require(0 <= request.alternatives <= limits.alternatives, f"at most {limits.alternatives} alternatives")
    beam = request.beam
    _require(beam is None or 1 <= beam <= limits.beam, f"the beam must be from 1 to {limits.beam}")
    deadline = request.deadline_seconds
    _require(deadline is None or (math.isfinite(deadline) and deadline > 0), "the deadline must be above 0")
    phrases = [phrase for entry in request.glossary for phrase in entry] + list(request.forbidden)
    count = len(request.glossary) + len(request.forbidden)
    _require(count <= limits.phrases, f"at most {limits.phrases} glossary entries and forbidden phrases")
    _require(all(phrase.strip() for phrase in phrases), "a phrase must have a visible character")
    _require(max(map(len, [*phrases, request.prefix]), default=0) <= 1000, "a phrase is too long")
    if request.format != "text":
        asks_for_words = request.alignments or request.confidences or bool(request.prefix)
        _require(not asks_for_words, "prefix, alignments and confidences are for plain text, not for markup")
    try:
        for number, text in enumerate((*request.texts, *phrases, request.prefix), start=1):
            reject_lone_surrogates(f"text {number}", text)
    except DataError as error:
        raise InvalidRequestError(str(error)) from None


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidRequestError(message)


NO_PARTS = TextParts([], [])
MAX_SEGMENTS = 10_000
"""Lines or sentences of a request: each costs time whatever its length."""


@dataclass(eq=False)
class PendingSegment:
    """A segment on its way."""

    text_index: int
    segment_index: int
    source: str
    leg: int = 0
    """Which model of the route it is with."""
    input: str = ""
    """What that model translates."""
    version: ModelVersion | None = None
    parts: TextParts = NO_PARTS
    options: list[SegmentOptions] = field(default_factory=list)
    """Of each part."""
    translations: list[SegmentTranslation | None] = field(default_factory=list)
    missing: int = 0
    submission: int = 0
    """The number of the submission whose answers count."""
    was_resubmitted: bool = False


@dataclass(eq=False)
class _Text:
    """A text on its way."""

    route: TextRoute
    split: SegmentedText
    results: list[SegmentResult | None]
    missing: int


class RequestProgress:
    """Splits the texts of a request into jobs, and puts the answers together."""

    def __init__(self, request: TextRequest, routes: Sequence[TextRoute], search: SearchSettings) -> None:
        self.request = request
        self._search = search
        self._glossary = Glossary(request.glossary)
        self._encoded: dict[SegmentOptions, str] = {}
        self._texts: list[_Text] = []
        for route, text in zip(routes, request.texts, strict=True):
            self._reject_for_pivot(route)
            split = split_text(text, request)
            count = len(split.segments)
            self._texts.append(_Text(route, split, [None] * count, count))
        count = sum(text.missing for text in self._texts)
        _require(count <= MAX_SEGMENTS, f"at most {MAX_SEGMENTS:,} lines or sentences in a request")

    @property
    def segments(self) -> list[PendingSegment]:
        """All segments, before the first model; for `make_jobs`."""
        return [
            PendingSegment(text_index, index, source, input=source)
            for text_index, text in enumerate(self._texts)
            for index, source in enumerate(text.split.segments)
        ]

    def make_jobs(
        self, segments: Sequence[PendingSegment], versions: Mapping[str, ModelVersion]
    ) -> list[tuple[PendingSegment, int, SegmentJob]]:
        """Return a job for each part of the segments with their next model, in the version of `versions`."""
        by_model: dict[str, list[PendingSegment]] = {}
        for segment in segments:
            route = self._texts[segment.text_index].route
            if route.versions:
                by_model.setdefault(route.versions[segment.leg].name, []).append(segment)
        jobs: list[tuple[PendingSegment, int, SegmentJob]] = []
        for name, group in by_model.items():
            version = versions[name]
            inputs = [segment.input for segment in group]
            split = split_long_texts(inputs, version.tokenizer, version.max_tokens, "split")
            for segment, parts in zip(group, split, strict=True):
                jobs += self._jobs_of(segment, version, parts)
        return jobs

    def finished_without_model(
        self, segments: Sequence[PendingSegment]
    ) -> Iterator[SegmentEvent | TextEvent]:
        """Yield events of segments that need no model: of the same language, or without any token."""
        for segment in segments:
            route = self._texts[segment.text_index].route
            if not route.versions:
                yield from self._finish(segment, SegmentResult(segment.source, segment.source))
            elif segment.missing == 0:
                yield from self._finish(segment, SegmentResult(segment.source, ""))

    def empty_texts(self) -> Iterator[TextEvent]:
        """Yield the results of texts without segments."""
        for index, text in enumerate(self._texts):
            if not text.results:
                yield TextEvent(index, self._text_result(text))

    def add(
        self, segment: PendingSegment, part: int, translation: SegmentTranslation
    ) -> Iterator[SegmentEvent | TextEvent | PendingSegment]:
        """Take the translation of a part; yield the events it completes, or the segment for another model."""
        segment.translations[part] = translation
        segment.missing -= 1
        if segment.missing:
            return
        merged = self._merge(segment)
        route = self._texts[segment.text_index].route
        if segment.leg + 1 < len(route.versions) and merged.status != "impossible":
            segment.leg, segment.input, segment.was_resubmitted = segment.leg + 1, merged.text, False
            yield segment
            return
        yield from self._finish(segment, self._segment_result(segment, merged, len(route.versions) > 1))

    def _reject_for_pivot(self, route: TextRoute) -> None:
        if len(route.versions) > 1:
            pair = (
                f"{route.source_language} to {route.target_language} is translated through a third language"
            )
            _require(not self.request.glossary, f"{pair}, which knows no glossary")
            asks_for_words = self.request.alignments or self.request.confidences
            _require(not asks_for_words, f"{pair}, which has no alignments and no confidences")

    def _jobs_of(
        self, segment: PendingSegment, version: ModelVersion, parts: TextParts
    ) -> Iterator[tuple[PendingSegment, int, SegmentJob]]:
        segment.version, segment.parts = version, parts
        segment.options = [self._options(segment, part) for part in range(len(parts.ids))]
        segment.translations = [None] * len(parts.ids)
        segment.missing = len(parts.ids)
        for part, (text, ids) in enumerate(zip(parts.parts, parts.ids, strict=True)):
            options = segment.options[part]
            encoded = self._encoded.get(options)
            if encoded is None:
                encoded = self._encoded[options] = encode_options(options)
            kind = f"beam {options.beam}{', torch' if options.needs_torch else ''}"
            key = JobKey(BatchKey(version.handle, encoded, kind), text)
            yield segment, part, SegmentJob(key, len(ids) + 1)

    def _options(self, segment: PendingSegment, part: int) -> SegmentOptions:
        """Return the options of one part, as `Translator` has them.

        A prefix is for the beginning of a text; a text without a glossary phrase has no glossary. On the way
        to a third language, only the search is as requested.
        """
        request, search = self.request, self._search
        n_best = 1 if request.format != "text" else request.alternatives + 1
        beam = max(request.beam or search.beam, n_best)
        if segment.leg + 1 < len(self._texts[segment.text_index].route.versions):
            return SegmentOptions(beam, deterministic=search.deterministic)
        has_phrase = bool(request.glossary) and bool(self._glossary.find_matches(segment.input))
        return SegmentOptions(
            beam,
            n_best,
            request.prefix if part == 0 and segment.segment_index == 0 else "",
            request.forbidden,
            request.glossary if has_phrase else (),
            request.alignments,
            request.confidences,
            search.deterministic,
        )

    def _merge(self, segment: PendingSegment) -> Translation:
        """Merge the translations of a segment's parts as `Translator` does."""
        version = segment.version
        assert version is not None
        received = [each for each in segment.translations if each is not None]
        options = TranslateOptions(alignments=self.request.alignments, confidences=self.request.confidences)
        merged = merge_parts(
            segment.input.strip(), segment.parts, [_from_message(each) for each in received], options
        )
        first = segment.options[0]
        if version.calibration is None or first.prefix or first.forbidden or first.glossary:
            return merged  # forced tokens are improbable
        tokens = sum(each.target_tokens for each in received) + len(received)
        is_unlike = version.calibration.is_unlike_training(merged.log_probability, tokens)
        return replace(merged, unlike_training=is_unlike)

    @staticmethod
    def _segment_result(segment: PendingSegment, merged: Translation, is_pivoted: bool) -> SegmentResult:
        words = merged.words
        return SegmentResult(
            segment.source,
            merged.text,
            merged.score if math.isfinite(merged.score) and not is_pivoted else None,
            tuple(other.text for other in merged.alternatives),
            merged.alignment,
            None if words is None else tuple(WordScore(word.text, word.confidence) for word in words),
            merged.status,
            merged.message,
            merged.unlike_training,
            merged.misplaced_terms,
        )

    def _finish(self, segment: PendingSegment, result: SegmentResult) -> Iterator[SegmentEvent | TextEvent]:
        text = self._texts[segment.text_index]
        text.results[segment.segment_index] = result
        text.missing -= 1
        yield SegmentEvent(segment.text_index, segment.segment_index, result)
        if text.missing == 0:
            yield TextEvent(segment.text_index, self._text_result(text))

    def _text_result(self, text: _Text) -> TextResult:
        request, route = self.request, text.route
        results = [each for each in text.results if each is not None]
        wants_segments = request.sentences or request.alignments or request.confidences
        unusual = [each for each in results if each.status != "whole"]
        return TextResult(
            text.split.assemble([each.text for each in results]),
            route.source_language,
            route.target_language,
            route.detected,
            tuple(self._alternatives(text, results)),
            tuple(results) if wants_segments else None,
            unusual[0].status if unusual else "whole",
            tuple(dict.fromkeys(each.message for each in unusual)),
            " + ".join(version.name for version in route.versions),
        )

    def _alternatives(self, text: _Text, results: Sequence[SegmentResult]) -> Iterator[str]:
        """Yield texts made of the next-best translation of every segment that has one."""
        for rank in range(max((len(each.alternatives) for each in results), default=0)):
            yield text.split.assemble(
                [each.alternatives[rank] if rank < len(each.alternatives) else each.text for each in results]
            )


def _from_message(translation: SegmentTranslation) -> Translation:
    words = translation.words
    return Translation(
        translation.text,
        translation.score,
        translation.log_probability,
        alternatives=tuple(Translation(text) for text in translation.alternatives),
        alignment=translation.alignment,
        words=None if words is None else tuple(WordConfidence(*word) for word in words),
        status="whole" if translation.possible else "impossible",
        misplaced_terms=translation.misplaced_terms,
    )

"""Access to the translator page from Python, and a service without a model that it can be tried with."""

import asyncio
from dataclasses import dataclass, field, replace

from regard.server.translation.requests import TextEvent, WordScore
from server.fake_translation import FakeTranslationService

STATUS = "() => globalThis.regard?.translator.live.status.value.kind"
HOSTILE = (
    "</script><img src=x onerror=globalThis.slipped=1> {{7*7}} ${7*7} \u202eevil\u2066 \x00 'it' \"is\" &amp;"
)


@dataclass
class PageService(FakeTranslationService):
    """Waits before texts of `delays`; is unsure of "hmm"; "quark" is unlike its training.

    It waits `pause` seconds after each sentence, and knows its languages once it has started.
    """

    delays: dict = field(default_factory=dict)
    pause: float = 0

    def languages(self):
        return super().languages() if self.state == "ready" else []

    async def stream(self, request):
        await asyncio.sleep(self.delays.get(request.texts[0], 0))
        async for event in super().stream(request):
            if isinstance(event, TextEvent) and event.result.segments:
                segments = tuple(self._with_remarks(each, request) for each in event.result.segments)
                yield event._replace(result=replace(event.result, segments=segments))
            else:
                yield event
                await asyncio.sleep(self.pause)

    @staticmethod
    def _with_remarks(segment, request):
        scores = {"HMM": 0.1, "PERHAPS": 0.5}
        words = [WordScore(each.text, scores.get(each.text, 0.9)) for each in segment.words or ()]
        unplaced = [f"{a} -> {b}" for a, b in request.glossary if b not in segment.text]
        return replace(
            segment,
            words=tuple(words) or None,
            unlike_training="quark" in segment.source,
            misplaced_terms=tuple(unplaced),
        )


def open_translator(page, address="/"):
    page.goto(address)
    page.locator("#source").wait_for()
    return page


def type_text(page, text, status="done"):
    """Replace the text, and wait until the page has this status for it."""
    page.locator("#source").fill(text)
    wait_for(page, text, status)


def wait_for(page, text, status="done"):
    page.wait_for_function(
        f"([text, status]) => regard.translator.text.value === text && ({STATUS})() === status"
        " && (status !== 'done' || regard.translator.shown.value?.result.query.text === text)",
        arg=[text, status],
    )
    wait_until_drawn(page)


def wait_until_drawn(page):
    """Wait two frames: what is shown follows in the next."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def translation(page):
    wait_until_drawn(page)
    return page.locator("#translation").inner_text()


def lit_words(page):
    """Return the lit words of the text and of the translation."""
    wait_until_drawn(page)
    return [page.locator(f"{side} .word.lit").all_text_contents() for side in (".mirror", "#translation")]

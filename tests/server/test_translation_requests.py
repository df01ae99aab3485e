"""The interface of the translation service, and the fake that other tests use."""

import asyncio
import subprocess
import sys

import pytest

from regard.server.translation.requests import (
    OverloadedError,
    SegmentEvent,
    TextRequest,
    TranslationService,
    UnsupportedLanguageError,
    UnsureLanguageError,
)
from server.fake_translation import FakeTranslationService


def translate(*texts, **options):
    return asyncio.run(FakeTranslationService().translate(TextRequest(texts, "fr", **options)))


def test_the_fake_is_a_translation_service():
    assert isinstance(FakeTranslationService(), TranslationService)


def test_lines_and_markup_are_kept():
    assert translate("a cat\n\n two dogs")[0].text == "A CAT\n\nTWO DOGS"
    assert translate("<p>a <b>cat</b></p>", format="html")[0].text == "<p>A <b>CAT</b></p>"


def test_an_unknown_language_names_the_pairs():
    with pytest.raises(UnsupportedLanguageError) as error:
        translate("a cat", source_language="zz")
    assert (error.value.language, ("en", "fr") in error.value.pairs) == ("zz", True)


def test_a_text_whose_language_is_unclear_is_refused():
    with pytest.raises(UnsureLanguageError) as error:
        translate("a cat", "123")
    assert error.value.text_index == 1


def test_segments_come_before_their_text():
    async def collect():
        request = TextRequest(("one\ntwo",), "fr", source_language="en", sentences=True)
        return [event async for event in FakeTranslationService().stream(request)]

    *segments, last = asyncio.run(collect())
    assert [event.segment.text for event in segments if isinstance(event, SegmentEvent)] == ["ONE", "TWO"]
    assert last.result.segments == tuple(event.segment for event in segments)


def test_an_error_can_be_set():
    service = FakeTranslationService(error=OverloadedError("busy", 3))
    with pytest.raises(OverloadedError):
        asyncio.run(service.translate(TextRequest(("a",), "fr")))


def test_the_interface_needs_no_torch():
    code = "import sys, regard.server.translation.requests; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

"""The translation service with real model processes: the answers of `regard translate`, and every refusal."""

import asyncio
import gc
import os
import signal
import subprocess
import sys

import pytest

from regard.cli.main import main
from regard.server.translation.requests import (
    DeadlineExceededError,
    InvalidRequestError,
    OverloadedError,
    SegmentEvent,
    TextEvent,
    TextRequest,
    TextTooLongError,
    TranslationService,
    UnavailableError,
    UnsupportedLanguageError,
    UnsureLanguageError,
)
from regard.server.translation.serve_settings import (
    LimitSettings,
    ModelSettings,
    SearchSettings,
    ServeSettings,
)
from regard.server.translation.service import ScheduledTranslationService
from regard.translation.translator import Translator
from server.random_model import TEXTS, save_random

LINES = [
    *TEXTS,
    "",
    "   ",
    " a bird  sees the cat ",
    "the tree. " * 30 + "a cat sings.",  # longer than the model's limit
    "x",
    "the\u2028cat \x0c sees",
    "é\u0301 ßß 猫が見る。犬が。",
    *(f"the cat {n} sees {n * n} birds" for n in range(20)),
]
PAGE = (
    "<!doctype html><title>a cat</title><p>the <b>cat</b> sees. a dog &amp; a bird sing.</p>"
    '<p translate="no">the dog</p><img alt="a tree"><pre>a cat</pre> <p>&lt;b&gt; a bird</p>'
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    pairs = {"en-fr": ("en", "fr"), "fr-de": ("fr", "de"), "de-en": ("de", "en")}
    return {name: save_random(root / name, seed, pair) for seed, (name, pair) in enumerate(pairs.items(), 1)}


@pytest.fixture(scope="module")
def run():
    """Runs coroutines in one event loop."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="module")
def service(folders, run):
    models = {name: ModelSettings(str(folder), device="cpu") for name, folder in folders.items()}
    limits = LimitSettings(text_characters=2000, texts=40, beam=8, phrases=4, cache_megabytes=0)
    service = ScheduledTranslationService(ServeSettings(models, limits, SearchSettings(pivot=("fr",))), 1)
    run(service.start())
    yield service
    run(service.drain())


def translate_file(folder, path, content, *flags):
    path.write_bytes(content.encode())
    output = path.with_name(f"out-{path.name}")
    main(["translate", str(folder), "--input", str(path), "--output", str(output), "--device", "cpu", *flags])
    return output.read_bytes().decode()


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_answers_are_those_of_regard_translate(folders, run, tmp_path, engine):
    """As one text, as many texts at once, and one after the other."""
    settings = ServeSettings({"m": ModelSettings(str(folders["en-fr"]), engine=engine, device="cpu")})
    service = ScheduledTranslationService(settings, 2)
    text = "\n".join(LINES)
    expected = translate_file(folders["en-fr"], tmp_path / "a.txt", text, "--engine", engine)
    page = translate_file(folders["en-fr"], tmp_path / "page.html", PAGE, "--engine", engine)

    async def collect():
        await service.start()
        try:
            whole = await service.translate(TextRequest((text,), "fr"))
            at_once = await asyncio.gather(*(service.translate(TextRequest((line,), "fr")) for line in LINES))
            html = await service.translate(TextRequest((PAGE,), "fr", format="html"))
            return whole[0].text, [results[0].text for results in at_once], html[0].text
        finally:
            await service.drain()

    whole, at_once, html = run(collect())
    assert whole.split("\n") == expected.removesuffix("\n").split("\n")
    assert at_once == expected.removesuffix("\n").split("\n")
    assert html == page


def test_the_service_implements_the_interface(service):
    assert isinstance(service, TranslationService)
    assert service.ready
    assert {model.name: model.engine for model in service.models()} == {
        "en-fr": "ctranslate2 int8",
        "fr-de": "ctranslate2 int8",
        "de-en": "ctranslate2 int8",
    }


def test_line_ends_and_options_reach_the_text(service, folders, run):
    request = TextRequest(
        ("the cat sees\r\n\r\na bird sings.\n",),
        "fr",
        source_language="EN-us",
        alternatives=2,
        confidences=True,
        alignments=True,
        prefix="a dog",
    )
    [result] = run(service.translate(request))
    translator = Translator.load(folders["en-fr"], "cpu", "torch")
    options = {"n_best": 3, "alignments": True, "confidences": True}
    first = translator.translate_detailed("the cat sees", prefix="a dog", **options)
    second = translator.translate_detailed("a bird sings.", **options)
    assert result.text == f"{first.text}\r\n\r\n{second.text}\n"
    assert result.alternatives[0] == f"{first.alternatives[0].text}\r\n\r\n{second.alternatives[0].text}\n"
    assert [segment.source for segment in result.segments] == ["the cat sees", "a bird sings."]
    assert result.segments[0].alignment == first.alignment
    assert [word.text for word in result.segments[1].words] == second.text.split()
    assert (result.source_language, result.target_language, result.model) == ("en", "fr", "en-fr")


def test_a_text_that_is_too_long_for_the_model_is_translated_in_parts(service, folders, run):
    text = LINES[7]
    [result] = run(service.translate(TextRequest((text,), "fr", source_language="en", confidences=True)))
    expected = Translator.load(folders["en-fr"], "cpu", "torch").translate_detailed(text, confidences=True)
    assert (result.text, result.status) == (expected.text, "split")
    assert result.segments[0].score == pytest.approx(expected.score)
    assert "parts" in result.messages[0]


def test_sentences_are_translated_one_by_one(service, folders, run):
    text = "the cat sees. a dog sings!\na bird"
    [result] = run(service.translate(TextRequest((text,), "fr", source_language="en", segments="sentences")))
    one, two, three = Translator.load(folders["en-fr"], "cpu", "ctranslate2").translate(
        ["the cat sees.", "a dog sings!", "a bird"]
    )
    assert result.text == f"{one} {two}\n{three}"


def test_a_third_language_joins_two_models(service, folders, run):
    [result] = run(service.translate(TextRequest(("the cat sees",), "de", source_language="en")))
    french = Translator.load(folders["en-fr"], "cpu", "ctranslate2").translate("the cat sees")
    german = Translator.load(folders["fr-de"], "cpu", "ctranslate2").translate(french)
    assert (result.text, result.model) == (german, "en-fr + fr-de")
    assert [language.targets for language in service.languages()] == [
        ("en", "fr", "de"),
        ("fr", "de"),
        ("de", "en"),
    ]


def test_a_language_to_itself_changes_nothing(service, run):
    texts = (" a  cat\n", "", PAGE)
    results = run(service.translate(TextRequest(texts, "en", source_language="en")))
    assert [result.text.split() for result in results] == [text.split() for text in texts]
    assert run(service.translate(TextRequest((), "fr"))) == []


def test_the_language_of_each_text_is_told(service, run):
    texts = ("The cat sleeps under the tree.", "Le chat dort sous l'arbre.")
    results = run(service.translate(TextRequest(texts, "de")))
    assert [result.source_language for result in results] == ["en", "fr"]
    assert all(result.detected.confidence > 0.8 for result in results)
    assert service.detect(texts[1])[0].language == "fr"


REFUSED = {
    "language": (
        UnsupportedLanguageError,
        "zz is not supported; the server translates en-fr",
        {"target_language": "zz"},
    ),
    "pair": (
        UnsupportedLanguageError,
        "no model translates fr to en",
        {"source_language": "fr", "target_language": "en"},
    ),
    "model": (InvalidRequestError, "there is no model 'x'; there are en-fr", {"model": "x"}),
    "model pair": (UnsupportedLanguageError, "the model fr-de translates fr to de", {"model": "fr-de"}),
    "unsure": (
        UnsureLanguageError,
        "the language of the text is not clear",
        {"source_language": "auto", "texts": ("ok",)},
    ),
    "long": (TextTooLongError, "a text of 2,001 characters; it may have 2,000", {"texts": ("x" * 2001,)}),
    "many": (TextTooLongError, "41 texts; a request may have 40", {"texts": ("x",) * 41}),
    "lines": (InvalidRequestError, "at most 10,000 lines", {"texts": ("a\n" * 900,) * 12}),
    "surrogate": (InvalidRequestError, "lone surrogate", {"texts": ("a\ud800",)}),
    "beam": (InvalidRequestError, "the beam must be from 1 to 8", {"beam": 9}),
    "alternatives": (InvalidRequestError, "at most 8 alternatives", {"alternatives": -1}),
    "phrase": (InvalidRequestError, "a phrase must have a visible character", {"forbidden": (" ",)}),
    "phrases": (InvalidRequestError, "at most 4 glossary entries", {"glossary": (("a", "b"),) * 5}),
    "html": (
        InvalidRequestError,
        "are for plain text, not for markup",
        {"format": "html", "alignments": True},
    ),
    "pivot": (
        InvalidRequestError,
        "which knows no glossary",
        {"target_language": "de", "glossary": (("a", "b"),)},
    ),
    "deadline": (InvalidRequestError, "the deadline must be above 0", {"deadline_seconds": float("nan")}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_is_refused_in_one_line(service, run, case):
    kind, message, options = REFUSED[case]
    request = {"texts": ("a cat",), "target_language": "fr", "source_language": "en", **options}
    with pytest.raises(kind, match=message.replace("(", r"\(")) as error:
        run(service.translate(TextRequest(**request)))
    assert "\n" not in str(error.value)


def test_segments_are_streamed_before_their_text(service, run):
    async def collect():
        request = TextRequest(("the cat\na dog", "a bird"), "fr", source_language="en")
        return [event async for event in service.stream(request)]

    events = run(collect())
    for index, segments in ((0, 2), (1, 1)):
        own = [event for event in events if event.text_index == index]
        assert [type(event) for event in own] == [SegmentEvent] * segments + [TextEvent]
        texts = {event.segment_index: event.segment.text for event in own[:-1]}
        assert own[-1].result.text == "\n".join(texts[number] for number in sorted(texts))


def test_a_client_that_leaves_drops_its_work(service, run):
    async def leave():
        skipped = service.metrics().skipped
        texts = tuple("\n".join(f"the cat {n} sees {m} dogs" for m in range(40)) for n in range(40))
        [process] = service.process_ids()
        os.kill(process, signal.SIGSTOP)
        task = asyncio.create_task(service.translate(TextRequest(texts, "fr", source_language="en", beam=8)))
        while service.metrics().queued_segments == 0:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        os.kill(process, signal.SIGCONT)
        assert service.metrics().queued_segments == 0
        assert service.metrics().skipped > skipped
        await service.translate(TextRequest(("a cat",), "fr", source_language="en"))

    run(leave())


def test_a_deadline_ends_the_wait(service, run):
    texts = tuple(f"the {n} dog sees {n} cats. " * 9 for n in range(40))
    with pytest.raises(DeadlineExceededError):
        run(service.translate(TextRequest(texts, "fr", source_language="en", beam=8, deadline_seconds=0.01)))
    assert service.metrics().refused["deadline"] >= 1
    assert service.metrics().queued_segments == 0


def test_ten_times_the_capacity_is_refused_with_a_time_to_retry(folders, run):
    settings = ServeSettings(
        {"m": ModelSettings(str(folders["en-fr"]), device="cpu")}, LimitSettings(max_wait_seconds=0.2)
    )
    service = ScheduledTranslationService(settings, 1)

    async def flood():
        await service.start()
        texts = [f"the {n} cat sees a bird and {n} dogs under the tree." for n in range(1200)]
        requests = (
            service.translate(TextRequest((text,), "fr", client=f"{n % 9}")) for n, text in enumerate(texts)
        )
        results = await asyncio.gather(*requests, return_exceptions=True)
        await service.drain()
        return results

    results = run(flood())
    refused = [result for result in results if isinstance(result, OverloadedError)]
    answered = [result for result in results if isinstance(result, list)]
    assert len(refused) + len(answered) == 1200
    assert refused
    assert len(answered) > 20
    assert all(error.retry_after >= 1 for error in refused)
    assert service.metrics().refused["overloaded"] == len(refused)
    with pytest.raises(UnavailableError):
        run(service.translate(TextRequest(("a",), "fr")))


def test_equal_requests_are_translated_once(folders, run):
    settings = ServeSettings({"m": ModelSettings(str(folders["en-fr"]), device="cpu")})
    service = ScheduledTranslationService(settings, 1)

    async def ask():
        await service.start()
        request = TextRequest(("a cat sees",), "fr")
        results = await asyncio.gather(*(service.translate(request) for _ in range(5)))
        results.append(await service.translate(request))
        other = await service.translate(TextRequest(("a cat sees",), "fr", beam=1, alternatives=1))
        await service.drain()
        return results, other

    results, other = run(ask())
    assert len({result[0].text for result in results}) == 1
    assert other[0].alternatives
    metrics = service.metrics()
    assert (metrics.segments, metrics.coalesced, metrics.cache_hits) == (2, 4, 1)


def test_a_drain_answers_what_was_accepted(folders, run):
    settings = ServeSettings({"m": ModelSettings(str(folders["en-fr"]), device="cpu")})
    service = ScheduledTranslationService(settings, 1)

    async def stop():
        await service.start()
        requests = [service.translate(TextRequest((f"a cat sees {n} dogs",), "fr")) for n in range(50)]
        tasks = [asyncio.create_task(request) for request in requests]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await service.drain()
        return await asyncio.gather(*tasks)

    assert all(results[0].text for results in run(stop()))
    assert service.state == "stopped"
    gc.collect()  # nothing is left to warn of


def test_the_front_loads_no_torch(folders):
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from regard.server.translation.requests import *\n"
        "from regard.server.translation.serve_settings import *\n"
        "from regard.server.translation.service import *\n"
        "async def run():\n"
        "    service = ScheduledTranslationService(settings_of_model(Path(sys.argv[1])), 1)\n"
        "    await service.start()\n"
        "    await service.translate(TextRequest(('<p>a cat</p>',), 'fr', format='html'))\n"
        "    await service.drain()\n"
        "asyncio.run(run())\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folders["en-fr"])], check=True, timeout=120)

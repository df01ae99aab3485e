"""The translator page of `regard serve`: what a person sees, types and clicks, in Chromium."""

import json
import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest

from browser.conftest import SENTENCE, record_page
from browser.test_access import HERE, SIZES, TAB_STOPS, TOO_WIDE, violations
from browser.translator_page import (
    HOSTILE,
    STATUS,
    PageService,
    lit_words,
    open_translator,
    translation,
    type_text,
    wait_for,
    wait_until_drawn,
)
from regard.server.operations.access import KeyRequiredError
from regard.server.operations.server_metrics import HttpMetrics
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.document_jobs import DocumentJobs
from regard.server.translation.requests import OverloadedError
from regard.server.translation.serve_settings import LimitSettings, ModelSettings, ServeSettings
from regard.server.translation_server import translation_groups
from server.http_client import run_server
from toy_translation import toy_translation

LIMIT = 2000
# Chromium also calls a stream with an abort signal aborted when it was read to its end
EXPECTED_FAILURE = re.compile(r"status of (400|401|429|503)|ERR_(ABORTED|INTERNET_DISCONN)")


@pytest.fixture(scope="module")
def running():
    """A service without a model, and a client of its server."""
    service = PageService()
    settings = ServeSettings({"model": ModelSettings("x")}, LimitSettings(text_characters=LIMIT))
    documents = DocumentJobs(service)
    context = SurfaceContext(service, settings.limits, documents=documents)

    @asynccontextmanager
    async def closing(_):
        yield
        await documents.close()

    groups = translation_groups(context, settings, HttpMetrics())
    with run_server(*groups, lifespan=closing) as client:
        yield service, client.server.url


@pytest.fixture
def service(running):
    service, _ = running
    service.state, service.error, service.delays, service.pause = "ready", None, {}, 0
    service.requests.clear()
    return service


@pytest.fixture
def page(browser, running, service):  # noqa: ARG001, the service is reset
    """A page at the server; errors, violations of the policy and other requests fail the test."""
    context = browser.new_context(base_url=running[1], viewport={"width": 1280, "height": 800})
    context.set_default_timeout(15_000)
    page = context.new_page()
    log = record_page(page)
    yield page
    context.close()
    assert [error for error in log.errors if not EXPECTED_FAILURE.search(error)] == []
    assert log.external_requests(running[1]) == []


def test_typing_translates_after_a_pause_with_one_request(page, service):
    open_translator(page)
    assert page.locator("#source").evaluate("field => field === document.activeElement")
    page.locator("#source").press_sequentially("the cat\nsleeps", delay=15)
    wait_for(page, "the cat\nsleeps")
    assert translation(page) == "THE CAT\nSLEEPS"
    assert [request.texts for request in service.requests] == [("the cat\nsleeps",)]
    page.locator("#source").fill("")
    wait_for(page, "", "idle")
    assert translation(page) == ""


def test_sentences_are_shown_as_they_are_finished(page, service):
    service.pause = 0.3
    open_translator(page)
    page.locator("#source").fill("a cat\na dog")
    page.wait_for_function("() => document.querySelectorAll('.sentence').length === 1")
    assert page.locator("#translation").inner_text() == "A CAT"
    assert page.evaluate(STATUS) == "translating"
    wait_for(page, "a cat\na dog")
    assert translation(page) == "A CAT\nA DOG"


def test_a_late_answer_is_not_shown(page, service):
    service.delays = {"slow": 0.6}
    open_translator(page)
    shown = page.evaluate_handle("""() => {
      const seen = [];
      const output = document.getElementById("translation");
      new MutationObserver(() => seen.push(output.textContent)).observe(output, { childList: true });
      return seen;
    }""")
    page.locator("#source").fill("slow")
    page.wait_for_function(f"() => ({STATUS})() === 'translating'")
    type_text(page, "fast")
    page.wait_for_timeout(700)
    assert translation(page) == "FAST"
    assert "SLOW" not in shown.json_value()


def test_languages_are_detected_chosen_and_swapped(page, service):
    open_translator(page)
    source, target = page.get_by_label("Translate from"), page.get_by_label("Translate to")
    assert source.locator("option").all_inner_texts() == ["Detect language", "English", "French"]
    source.select_option("auto")
    target.select_option("fr")
    type_text(page, "a cat")
    assert source.locator("option").first.inner_text() == "English – detected"
    assert page.locator("#source").get_attribute("lang") == "en"
    assert page.locator("#translation").get_attribute("lang") == "fr"
    page.get_by_role("button", name="Swap the languages").click()
    wait_for(page, "A CAT")
    assert (source.input_value(), target.input_value()) == ("fr", "en")
    page.reload()
    page.locator("#source").wait_for()
    assert (source.input_value(), target.input_value()) == ("fr", "en")
    assert service.requests[-1].source_language == "fr"
    source.select_option("en")
    target.select_option("de")
    wait_until_drawn(page)
    assert page.get_by_role("button", name="Swap the languages").is_disabled()
    source.select_option("auto")
    type_text(page, "12 34", "unsure")
    assert "The language is not clear" in page.locator(".status-line").inner_text()


def test_alternatives_of_a_sentence_are_offered_and_taken(page, service):
    open_translator(page)
    type_text(page, "a cat\na dog")
    page.locator(".sentence").nth(1).click()
    offered = page.get_by_role("dialog", name="Other translations").get_by_role("button")
    offered.first.wait_for()
    assert offered.all_inner_texts() == ["A DOG 2", "A DOG 3", "A DOG 4", "A DOG 5"]
    offered.nth(1).click()
    page.wait_for_function("() => document.getElementById('translation').innerText === 'A CAT\\nA DOG 3'")
    assert service.requests[1].texts == ("a dog",)
    page.wait_for_function("() => document.querySelectorAll('.sentence')[1] === document.activeElement")


def test_words_light_what_they_translate(page):
    """By the mouse on either side, by the arrow keys in the translation, by the caret in the text."""
    open_translator(page)
    type_text(page, "the cat sleeps.\na dog")
    page.locator("#translation .word", has_text="CAT").hover()
    assert lit_words(page) == [["cat"], ["CAT"]]
    assert page.locator(".detail").inner_text() == "“\u2068cat\u2069” → “\u2068CAT\u2069” · 90 % sure"
    box = page.locator(".mirror .word", has_text="dog").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 10)
    assert lit_words(page) == [["dog"], ["DOG"]]
    page.mouse.move(5, 5)
    assert lit_words(page) == [[], []]
    page.locator(".sentence").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert lit_words(page) == [["sleeps"], ["SLEEPS"]]
    page.wait_for_function("() => document.getElementById('announcer').textContent.includes('SLEEPS')")
    page.locator("#source").focus()
    page.keyboard.press("Control+Home")
    assert lit_words(page) == [["the"], ["THE"]]


def test_uncertain_words_and_remarks_are_shown(page):
    open_translator(page)
    type_text(page, "hmm perhaps a quark\na cat")
    assert page.locator("#translation .unsure").all_inner_texts() == ["HMM"]
    assert page.locator("#translation .less-sure").all_inner_texts() == ["PERHAPS"]
    assert page.locator(".legend").inner_text().split() == ["less", "sure", "unsure"]
    styles = [
        page.locator(f"#translation .{name}").evaluate("word => getComputedStyle(word).textDecorationStyle")
        for name in ("less-sure", "unsure")
    ]
    assert styles == ["dotted", "wavy"]
    assert "Unlike the texts this model learned from" in page.locator(".remarks").inner_text()
    assert page.locator(".sentence.remarked").count() == 1


def test_the_glossary_is_kept_sent_and_its_failures_reported(page, service):
    open_translator(page)
    page.get_by_role("button", name="Glossary").click()
    page.get_by_role("textbox", name="Term").fill("cat")
    page.get_by_role("textbox", name="Translation").fill("matou")
    page.locator("#source").fill("a cat")
    wait_for(page, "a cat")
    assert service.requests[-1].glossary == (("cat", "matou"),)
    page.get_by_text("The glossary’s cat → matou did not fit in").wait_for()
    page.reload()
    open_translator(page)
    type_text(page, "a dog")
    assert service.requests[-1].glossary == (("cat", "matou"),)
    page.get_by_role("button", name="Glossary").click()
    page.get_by_role("button", name="Remove this term").click()
    type_text(page, "a dog again")
    assert service.requests[-1].glossary == ()
    page.get_by_label("Translate to").select_option("de")
    page.get_by_role("heading", name="Glossary, English to German").wait_for()


def test_a_busy_server_is_waited_for_as_long_as_it_says(page, service):
    open_translator(page)
    service.error = OverloadedError("the queue is 9 s long; try again later", 1)
    type_text(page, "a cat", "busy")
    assert page.locator(".status-line").inner_text().startswith("The server is busy.\nTrying again in 1 s.")
    service.error = None
    wait_for(page, "a cat")
    assert translation(page) == "A CAT"
    assert not page.locator(".status-line").is_visible()


def test_a_starting_and_an_unreachable_server_are_waited_for(page, service):
    service.state = "starting"
    page.goto("/")
    page.get_by_text("The server is starting …").wait_for()
    service.state = "ready"
    page.locator("#source").wait_for()
    service.state = "starting"
    type_text(page, "a cat", "starting")
    assert "The server is starting." in page.locator(".status-line").inner_text()
    service.state = "ready"
    page.get_by_role("button", name="Try again now").click()
    wait_for(page, "a cat")
    page.context.set_offline(True)
    type_text(page, "a dog", "offline")
    assert "The server cannot be reached." in page.locator(".status-line").inner_text()
    page.context.set_offline(False)
    wait_for(page, "a dog")
    assert translation(page) == "A DOG"


def test_a_key_is_asked_for_and_kept_for_the_tab(page, service):
    open_translator(page)
    service.error = KeyRequiredError("send an API key")
    type_text(page, "a cat", "key")
    service.error = None
    requests = []
    page.on("request", lambda request: requests.append(request.headers.get("authorization")))
    page.get_by_label("API key of this server").fill("secret")
    page.keyboard.press("Enter")
    wait_for(page, "a cat")
    assert requests == ["Bearer secret"]
    assert not page.get_by_label("API key of this server").is_visible()
    stored = page.evaluate("() => [sessionStorage.getItem('regard.key'), JSON.stringify(localStorage)]")
    assert stored[0] == "secret"
    assert "secret" not in stored[1]


def test_hostile_and_enormous_texts_stay_text(page, service):
    open_translator(page)
    type_text(page, HOSTILE)
    assert page.locator("#translation").text_content() == HOSTILE.upper()
    assert page.locator("#translation img, .mirror img").count() == 0
    page.locator(".sentence").click()
    page.get_by_role("dialog", name="Other translations").get_by_role("button").first.wait_for()
    assert not page.evaluate("() => Boolean(globalThis.slipped)")
    before = len(service.requests)
    type_text(page, "word " * 200_000, "too_long")
    assert "1,000,000 / 2,000" in page.locator(".foot").first.inner_text()
    assert "too long" in page.locator(".status-line").inner_text()
    assert len(service.requests) == before
    type_text(page, "short \U0001f600")
    assert "7 / 2,000" in page.locator(".foot").first.inner_text()


DROP = """files => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) transfer.items.add(new File([text], name));
  const how = { dataTransfer: transfer, bubbles: true, cancelable: true };
  for (const type of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, how));
}"""


def test_documents_are_dropped_or_chosen_followed_and_downloaded(page, service):
    service.delays = {"a dog": 0.6}
    open_translator(page)
    page.evaluate(DROP, [["a.txt", "a dog"], ["b.exe", "?"]])
    rows = page.get_by_role("list", name="Documents").get_by_role("listitem")
    rows.filter(has_text="b.exe").get_by_text("this kind of file is not known").wait_for()
    page.get_by_role("progressbar", name="Progress of a.txt").wait_for()
    rows.filter(has_text="a.txt").get_by_text("Translating …").wait_for()
    with page.expect_download() as download:
        rows.filter(has_text="a.txt").get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "a.fr.txt"
    assert download.value.path().read_text() == "A DOG"
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Document").click()
    chooser.value.set_files({"name": "c.html", "mimeType": "text/html", "buffer": HOSTILE.encode()})
    rows.filter(has_text="c.html").get_by_text("Translated", exact=True).wait_for()
    assert violations(page) == []
    for _ in range(3):
        rows.first.get_by_role("button").click()
    assert not page.get_by_role("list", name="Documents").is_visible()


def test_copying_and_clearing(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_translator(page)
    type_text(page, "a cat\n\na dog")
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("() => navigator.clipboard.readText()") == "A CAT\n\nA DOG"
    page.get_by_role("button", name="Clear the text").click()
    wait_for(page, "", "idle")


def test_everything_is_reached_and_used_by_keyboard(page):
    open_translator(page)
    type_text(page, "hmm a cat\na dog")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    wait_until_drawn(page)
    stops, reached = set(page.evaluate(TAB_STOPS)), set()
    for _ in range(2 * len(stops)):
        page.keyboard.press("Tab")
        here = page.evaluate(HERE)
        if here["stop"] is not None:
            assert here["seen"], f"the focus cannot be seen on {here['what']}"
            reached.add(here["stop"])
    assert len(stops) >= 15
    assert stops <= reached
    page.get_by_role("textbox", name="Term").focus()
    page.keyboard.press("Escape")
    assert page.locator("[aria-controls=glossary]").evaluate("it => it === document.activeElement")
    page.locator(".sentence").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="A DOG 2").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('translation').innerText.endsWith('A DOG 3')")
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.locator("#source").evaluate("field => field === document.activeElement")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_accessibility_rule_is_violated(page, service, theme, size):
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    open_translator(page)
    found = {"empty": violations(page) if size == "wide" else []}
    type_text(page, "hmm perhaps a quark\n" + "w" * 150)
    page.get_by_role("button", name="Glossary").click()
    page.locator(".sentence").first.click()
    page.get_by_role("dialog", name="Other translations").get_by_role("button").first.wait_for()
    found["open"] = violations(page)
    service.error = OverloadedError("busy", 30)
    type_text(page, "a cat", "busy")
    found["busy"] = violations(page)
    assert {name: each for name, each in found.items() if each} == {}
    assert page.evaluate(TOO_WIDE) <= 0


def test_colours_follow_the_system_until_they_are_switched(page):
    background = "() => getComputedStyle(document.documentElement).backgroundColor"
    page.emulate_media(color_scheme="light")
    open_translator(page)
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(background)
    assert light != dark
    page.get_by_role("button", name="Light colours").click()
    page.get_by_role("button", name="Dark colours").wait_for()
    assert page.evaluate(background) == light
    page.reload()
    page.get_by_role("button", name="Dark colours").wait_for()
    assert page.evaluate(background) == light


def test_direction_and_words_are_those_of_the_language(page):
    open_translator(page)
    found = page.evaluate("""async () => {
      const words = await import("regard/translator/words.js");
      const bare = (text) => words.bareWordRanges(text).map(([start, end]) => text.slice(start, end));
      return [
        ["ar", "he", "az-Arab", "en", "zh-Hant", "auto"].map(words.textDirection),
        words.locateParts("a b a", ["a", "b", "a", "c"]),
        words.countCharacters("a\\u{1f600}"),
        bare("«Oui», dit-il !  (l'été\\u00a0$5)"),
      ];
    }""")
    directions = ["rtl", "rtl", "rtl", "ltr", "ltr", "auto"]
    assert found == [directions, [0, 2, 4, None], 2, ["Oui", "dit-il", "!", "l'été", "$5"]]


@pytest.fixture
def served_run(run):
    """The URL of `regard serve` for the trained run, run as a process."""
    command = [sys.executable, "-m", "regard", "serve", str(run), "--port", "0", "--json"]
    command += ["--source-language", "en", "--target-language", "fr"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def test_a_real_model_aligns_the_words_that_light(browser, served_run):
    """The lit source word of each word is the one that the server's own API names."""
    page = browser.new_page(base_url=served_run)
    page.set_default_timeout(15_000)
    log = record_page(page)
    open_translator(page)
    type_text(page, SENTENCE)
    assert translation(page) == toy_translation(SENTENCE)
    body = {"text": SENTENCE, "source": "en", "target": "fr", "alignments": True}
    answer = page.request.post("/api/translate", data=body).json()
    [segment] = answer["translations"][0]["segments"]
    words = page.locator(".sentence .word")
    assert words.count() == len(segment["alignment"]) == len(SENTENCE.split())
    for source, target in segment["alignment"]:
        words.nth(target).hover()
        assert lit_words(page) == [[SENTENCE.split()[source]], [segment["text"].split()[target]]]
    page.close()
    assert [error for error in log.errors if not EXPECTED_FAILURE.search(error)] == []

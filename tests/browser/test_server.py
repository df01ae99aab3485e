"""All pages on the server: no errors, no external requests, the model's numbers."""

from random import Random

import numpy as np
import pytest

from browser.conftest import SENTENCE
from browser.explorer_page import choose, chosen, open_page, shown_attention, shown_trace
from regard.trace.trace import Trace
from toy_translation import toy_translation

KINDS = ("encoder", "decoder", "cross")


def tabs(page):
    return page.locator("nav[aria-label=pages] a")


def test_every_page_opens_from_its_link_without_external_requests(page, server):
    """That there was no error is what the fixture checks."""
    open_page(page)
    for number in range(tabs(page).count()):
        tab = tabs(page).nth(number)
        tab.click()
        page.locator(f'nav a[aria-current=page][data-page="{tab.get_attribute("data-page")}"]').wait_for()
        page.wait_for_function("() => document.querySelector('main').textContent.trim().length > 20")
        assert not page.locator(".problem:visible").count(), page.locator(".problem").inner_text()
    assert len(page.log.requests) > 10
    assert page.log.external_requests(server) == []


INJECT_SCRIPT = """async () => {
  const refused = new Set();
  document.addEventListener("securitypolicyviolation", (event) => refused.add(event.effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "globalThis.slipped = true";
  document.head.append(script);
  document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='globalThis.slipped = true'>");
  document.body.insertAdjacentHTML("beforeend", "<img src='https://elsewhere.example/x.png'>");
  await fetch("https://elsewhere.example/").catch(() => {});
  await new Promise((done) => setTimeout(done, 100));
  return [Boolean(globalThis.slipped), [...refused].sort()];
}"""


def test_the_content_security_policy_blocks_injected_scripts(browser, server):
    """An injected script is not run, and nothing is fetched from another host."""
    page = browser.new_context().new_page()
    page.goto(server)
    page.wait_for_function("() => globalThis.regard")
    slipped, refused = page.evaluate(INJECT_SCRIPT)
    page.context.close()
    assert not slipped
    assert refused == ["connect-src", "img-src", "script-src-attr", "script-src-elem"]


def test_markup_in_a_sentence_is_shown_as_text(page):
    hostile = "<img src=x onerror=alert(1)></script><b>ba</b>"
    open_page(page)
    page.evaluate("text => { regard.app.request.value = { ...regard.app.request.value, text } }", hostile)
    page.wait_for_function("text => regard.app.traceA.value.request.text === text", arg=hostile)
    for number in range(tabs(page).count()):
        tabs(page).nth(number).click()
        assert page.locator("main img, main b:text('ba')").count() == 0


def test_weights_shown_are_those_of_the_tensors(page, translator):
    open_page(page)
    expected_trace = translator.trace(SENTENCE)
    random = Random(0)
    for kind in KINDS:
        expected = expected_trace.attention[kind]
        for _ in range(20):
            layer, head, row, column = (random.randrange(size) for size in expected.shape)
            weights = shown_attention(page, kind, layer + 1, head + 1)
            assert weights[row, column] == pytest.approx(expected[layer, head, row, column], abs=5e-4)
            assert weights.sum(axis=1) == pytest.approx(1, abs=1e-3)
    masked = np.triu_indices(expected_trace.attention["decoder"].shape[-1], 1)
    assert (shown_attention(page, "decoder", 1, 1)[masked] == 0).all()


def test_a_trace_survives_the_round_trip_through_javascript(page, translator):
    open_page(page)
    trace = Trace.from_json(shown_trace(page))
    expected_trace = translator.trace(SENTENCE)
    assert trace.target.tokens == expected_trace.target.tokens
    assert trace.request == expected_trace.request
    for kind in KINDS:
        assert trace.attention[kind] == pytest.approx(expected_trace.attention[kind], abs=1e-4)


def test_row_i_predicts_token_i(page):
    """The best head of a copying model has its weight on the diagonal, not beside it."""
    open_page(page)
    trace = shown_trace(page)
    assert trace["target"]["text"] == toy_translation(SENTENCE)
    words = len(SENTENCE.split())
    best = {}
    for offset in (-1, 0, 1):
        best[offset] = max(
            np.diagonal(shown_attention(page, "cross", layer, head)[: words - 1, : words - 1], offset).mean()
            for layer in (1, 2)
            for head in range(1, 5)
        )
    assert best[0] > 0.8
    assert best[0] > max(best[-1], best[1]) + 0.2


def test_selections_are_in_the_url_and_restored(page):
    open_page(page, "#/attention?kind=encoder&layer=1&head=3")
    assert (chosen(page, "kind"), chosen(page, "layer"), chosen(page, "head")) == ("encoder", 1, 3)
    choose(page, head=2)
    page.wait_for_function("() => location.hash.includes('head=2')")


def test_a_lost_server_is_reported(page):
    open_page(page)
    page.route("**/api/trace", lambda route: route.abort("connectionrefused"))
    page.evaluate("() => { regard.app.request.value = { ...regard.app.request.value, text: 'ko' } }")
    page.wait_for_selector(".problem:visible")
    assert "not running any more" in page.locator(".problem:visible").inner_text()
    page.log.errors.clear()


def test_overwritten_input_is_not_computed(page):
    """After several quick changes the last one is shown."""
    open_page(page)
    for text in ("ba", "ba lu", "ba lu mi", "so tu"):
        page.evaluate("text => { regard.app.request.value = { ...regard.app.request.value, text } }", text)
    page.wait_for_function("() => regard.app.traceA.value.request.text === 'so tu'")
    page.wait_for_function("() => !regard.app.busy.value")
    assert shown_trace(page)["target"]["text"] == toy_translation("so tu")


def test_a_change_in_the_next_frame_is_not_undone(page):
    """The URL is updated one frame later; this must not be read as a navigation."""
    open_page(page)
    page.evaluate("""async () => {
      for (const text of ["ba", "ba lu", "ba lu mi", "so tu"]) {
        regard.app.request.value = { ...regard.app.request.value, text };
        await new Promise(requestAnimationFrame);
      }
    }""")
    page.wait_for_function("() => !regard.app.busy.value && location.hash.includes('text=')")
    page.wait_for_timeout(200)
    assert page.evaluate("[regard.app.request.value.text, regard.app.state.text.value]") == ["so tu", "so tu"]
    assert shown_trace(page)["request"]["text"] == "so tu"

"""The Translate page: typing, alignment, alternatives, several lines and the n-best list."""

import math

import pytest

from browser.conftest import SENTENCE
from browser.explorer_page import open_page, shown_trace
from toy_translation import toy_translation

IDLE = "() => !regard.app.busy.value"


def typed(page, text):
    """Type into the field and wait for the result."""
    page.get_by_role("textbox", name="source text").fill(text)
    page.wait_for_function(f"text => regard.app.draft.value === text && ({IDLE})()", arg=text)


def wait_for_text(page, text):
    page.wait_for_function("text => document.querySelector('.written .words')?.innerText === text", arg=text)


def test_typed_text_is_translated(page, translator):
    open_page(page, "#/translate")
    typed(page, "so mi lu")
    expected = translator.trace("so mi lu").target.text
    assert expected == toy_translation("so mi lu")
    wait_for_text(page, expected)
    assert "3 words · " in page.locator("main .facts").first.inner_text()


def test_continued_typing_sends_one_request(page):
    open_page(page, "#/translate")
    requests = []
    page.on(
        "request", lambda request: requests.append(request) if request.url.endswith("/api/trace") else None
    )
    field = page.get_by_role("textbox", name="source text")
    field.fill("")
    field.press_sequentially("so mi tu", delay=20)
    wait_for_text(page, toy_translation("so mi tu"))
    assert [request.post_data_json["text"] for request in requests] == ["so mi tu"]


def test_choosing_an_alternative_keeps_the_tokens_before_it(page, translator):
    open_page(page, "#/translate")
    trace = shown_trace(page)
    page.locator(".written .word").nth(2).click()
    offered = page.locator(".panel .candidate")
    t = next(t for t, token in enumerate(trace["target"]["tokens"]) if token["word"] == 2)
    for row, candidate in zip(offered.all(), trace["steps"][t]["top"], strict=True):
        assert row.locator(".number").inner_text() == f"{math.exp(candidate['logprob']):.3f}"
    taken = trace["target"]["tokens"][t]["id"]
    others = [
        (i, each) for i, each in enumerate(trace["steps"][t]["top"]) if each["id"] not in (0, 1, 2, taken)
    ]
    place, chosen = others[0]
    offered.nth(place).click()
    page.wait_for_function("() => regard.app.traceA.value.request.prefix.length && !regard.app.busy.value")
    prefix = [token["id"] for token in trace["target"]["tokens"][:t]] + [chosen["id"]]
    now = shown_trace(page)
    assert [token["id"] for token in now["target"]["tokens"]][: t + 1] == prefix
    wait_for_text(page, translator.trace(SENTENCE, prefix=prefix).target.text)
    page.get_by_role("button", name="translate freely").click()
    wait_for_text(page, toy_translation(SENTENCE))


def test_pointing_at_a_word_highlights_its_alignment(page):
    open_page(page, "#/translate")
    page.locator(".written .word").nth(1).hover()
    page.wait_for_function("() => document.querySelector('main .status').textContent")
    lit = page.evaluate(
        """() => [...document.querySelectorAll("[aria-label='source words'] .word")]
          .map(word => Number(word.style.getPropertyValue("--lit")))"""
    )
    expected = page.evaluate(
        """async () => {
          const { alignment, axisLabels, groupTokens } = await import("regard/trace.js");
          const words = axisLabels(regard.app.trace.value, "cross", { words: true });
          const matrix = alignment(regard.app.trace.value);
          const { values, columns } = groupTokens(matrix, words.rows, words.columns);
          return Array.from(values.subarray(columns, 2 * columns - 1));
        }"""
    )
    assert lit == pytest.approx([share if share >= 0.05 else 0 for share in expected], abs=1e-6)
    assert max(lit) == lit[1] > 0.5
    page.locator("[aria-label='source words'] .word").nth(3).focus()
    page.wait_for_function(
        "() => /so.” is aligned to/.test(document.querySelector('main .status').textContent)"
    )


def test_several_lines_are_listed_and_each_can_be_traced(page):
    open_page(page, "#/translate")
    typed(page, "ba lu\n\nmi so tu")
    lines = page.locator(".lines > li")
    page.wait_for_function("() => document.querySelectorAll('.lines > li').length === 3")
    assert toy_translation("ba lu") in lines.nth(0).inner_text()
    assert toy_translation("mi so tu") in lines.nth(2).inner_text()
    lines.nth(2).get_by_role("button", name="Look inside").click()
    page.wait_for_function("() => regard.app.traceA.value.source.text === 'mi so tu'")
    assert page.get_by_role("textbox", name="source text").input_value() == "ba lu\n\nmi so tu"
    assert lines.count() == 3


def test_a_text_too_long_to_trace_is_translated(page):
    open_page(page, "#/translate")
    typed(page, " ".join(["ba lu mi so tu."] * 60))
    page.wait_for_function("() => regard.app.lineTranslations.value")
    assert "at most 256 can be traced" in page.locator("#too-long").inner_text()
    assert page.locator(".lines .words").inner_text()
    assert page.get_by_role("alert").filter(has_text="256").count() == 1
    assert [error for error in page.log.errors if "413" not in error] == []
    page.log.errors.clear()


def test_the_n_best_list_shows_score_differences(page):
    open_page(page, "#/translate")
    beam = shown_trace(page)["beam"]
    best, other = beam["nodes"][beam["finished"][0]["node"]], beam["nodes"][1]
    page.evaluate(
        """nodes => {
          const trace = regard.app.traceA.value;
          const finished = nodes.map((node, rank) => ({ node, rank }));
          regard.app.traceA.value = { ...trace, beam: { ...trace.beam, finished } };
        }""",
        [best["id"], other["id"]],
    )
    page.wait_for_function("() => document.querySelectorAll('.n-best li').length === 2")
    first, second = page.locator(".n-best li").all()
    assert first.inner_text().startswith(toy_translation(SENTENCE))
    assert second.inner_text().startswith(other["text"])
    shown = [
        float(text.replace("−", "-")) for text in page.locator(".n-best .number").all_inner_texts() if text
    ]
    behind = other["score"] - best["score"]
    assert shown == pytest.approx([best["score"], other["score"], behind], abs=1e-3)
    page.get_by_text("only 2 ended").wait_for()
    boxes = [each.bounding_box() for each in second.locator("div > *").all()]
    assert max(box["y"] for box in boxes) < min(box["y"] + box["height"] for box in boxes)


def test_short_words_are_wide_enough_for_touch(page):
    open_page(page, "#/translate")
    typed(page, "i ba lu")
    page.get_by_role("button", name="i", exact=True).first.wait_for()
    widths = page.locator(".word").evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")
    assert min(widths) >= 24


def test_text_is_split_into_words_or_tokens_without_spaces(page):
    open_page(page, "#/translate")
    found = page.evaluate(
        """async () => {
          const { wordUnits } = await import("regard/units.js");
          const token = (start, end, word) => ({ start, end, word, text: "" });
          const cut = (text, tokens) =>
            wordUnits(tokens, text).map(({ start, end }) => text.slice(start, end));
          return [
            cut("visits it", [token(0, 5, 0), token(5, 6, 0), token(7, 9, 1)]),
            cut("这是一个", [token(0, 1, 0), token(1, 2, 0), token(2, 4, 0)]),
            cut("a😀b c", [token(0, 1, 0), token(1, 2, 0), token(1, 2, 0), token(2, 3, 0), token(4, 5, 1)]),
          ];
        }"""
    )
    assert found == [["visits", "it"], ["这", "是", "一个"], ["a😀b", "c"]]


def test_a_text_unlike_the_training_text_has_a_note(page, translator):
    open_page(page, "#/translate")
    note = page.get_by_text("Unlike the training text")
    typed(page, "so mi lu")
    wait_for_text(page, toy_translation("so mi lu"))
    assert not note.is_visible()
    strange = "ZZ9 xx ?!"
    assert translator.trace(strange).target.unlike_training
    typed(page, strange)
    note.wait_for()
    typed(page, f"so mi lu\n{strange}")
    page.locator(".lines strong").wait_for()
    assert page.locator(".lines > li").filter(has_text="unlike the training text").count() == 1

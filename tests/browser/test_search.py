"""The Search page: steps, candidates and beam are those of the trace."""

import math
import re
import runpy
from pathlib import Path

import pytest

from browser.conftest import SENTENCE
from browser.explorer_page import choose, chosen, open_page, shown_trace


def number(text):
    return float(text.replace("−", "-"))


def test_the_player_moves_from_step_to_step(page):
    open_page(page, "#/search")
    last = len(shown_trace(page)["target"]["tokens"]) - 1
    page.locator("h1").click()
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    page.wait_for_function("() => !document.querySelector('[data-key=back]').disabled")
    page.keyboard.press("Shift+Space")
    assert chosen(page, "step") == 1
    page.get_by_role("button", name="last step").click()
    assert chosen(page, "step") == last
    page.wait_for_function("() => document.querySelector('[data-key=next]').disabled")
    page.get_by_role("slider", name="step").fill("1")
    assert chosen(page, "step") == 0
    page.wait_for_function("() => document.querySelectorAll('.so-far .token').length === 2")
    page.get_by_role("radio", name="Training").click()
    page.wait_for_function(
        "n => document.querySelectorAll('.so-far .token').length === n", arg=2 * (last + 1)
    )


def test_candidates_have_the_probabilities_of_the_trace(page, translator):
    open_page(page, "#/search?step=2")
    step = translator.trace(SENTENCE).steps[2]
    rows = page.locator("[aria-label='next word'] .candidate")
    assert rows.count() == len(step.top)
    for row, candidate in zip(rows.all(), step.top, strict=True):
        assert row.locator(".piece").inner_text().lstrip("·") == candidate.text
        assert number(row.locator(".number").inner_text()) == pytest.approx(
            math.exp(candidate.logprob), abs=2e-3
        )
    assert f"rank {step.rank}" in page.locator("[aria-label='next word'] .facts").inner_text()


def test_layer_predictions_are_listed_with_the_final_one(page, translator):
    open_page(page, "#/search?step=1")
    trace = translator.trace(SENTENCE)
    rows = page.locator("[aria-label='layer by layer'] tbody tr").all()
    for row, guesses in zip(rows, trace.logit_lens, strict=True):
        numbers = [number(text) for text in row.locator("td").all_inner_texts()[1:]]
        assert numbers == pytest.approx([guesses[1].prob, guesses[1].prob_final], abs=2e-3)
    taken = trace.target.tokens[1].id
    agreed = [guesses[1].id == taken for guesses in trace.logit_lens]
    first = next(i + 1 for i in range(len(agreed)) if all(agreed[i:]))
    assert f"decided in layer {first}." in page.locator("[aria-label='layer by layer']").inner_text()


def test_only_generated_rows_are_shown_and_future_keys_are_masked(page):
    open_page(page, "#/search?step=2&layer=1&head=3")
    page.locator("[aria-label='masked self-attention'] [data-key=t]").click()
    table = page.locator("[aria-label='masked self-attention'] table")
    weights = page.evaluate(
        """async () => {
          const { attentionWeights } = await import("regard/trace.js");
          return Array.from(attentionWeights(regard.app.trace.value, "decoder", 1, 3).values);
        }"""
    )
    width = math.isqrt(len(weights))
    rows = table.locator("tbody tr").all()
    assert len(rows) == 3
    for r, row in enumerate(rows):
        cells = row.locator("td").all_inner_texts()
        assert cells[r + 1 :] == ["masked"] * (width - r - 1)
        assert [number(cell) for cell in cells[: r + 1]] == pytest.approx(
            weights[r * width : r * width + r + 1], abs=1e-4
        )


def test_the_matrix_of_a_long_translation_fits(page):
    open_page(page, "#/search?step=2&layer=1&head=3")
    page.evaluate("""() => {
      const ids = regard.app.trace.value.target.tokens.slice(0, -1).map((token) => token.id);
      regard.app.request.value = { ...regard.app.request.value, target: Array(10).fill(ids).flat() };
    }""")
    page.wait_for_function("() => regard.app.trace.value.target.forced && !regard.app.busy.value")
    tokens = page.evaluate("regard.app.trace.value.target.tokens.length")
    assert tokens > 40
    page.locator("[aria-label='masked self-attention'] [data-key=t]").click()
    table = page.locator("[aria-label='masked self-attention'] table")
    columns = table.locator("thead th").all_inner_texts()
    assert columns[3:] == ["…"] * 21
    weights = page.evaluate(
        """async () => {
          const { attentionWeights } = await import("regard/trace.js");
          return Array.from(attentionWeights(regard.app.trace.value, "decoder", 1, 3).values);
        }"""
    )
    cells = table.locator("tbody tr").nth(2).locator("td").all_inner_texts()
    assert [number(cell) for cell in cells[:3]] == pytest.approx(
        weights[2 * tokens : 2 * tokens + 3], abs=1e-4
    )


def test_the_best_beam_node_is_the_translation_and_scores_add_up(page):
    open_page(page, "#/search")
    trace = shown_trace(page)
    nodes = trace["beam"]["nodes"]
    for node in nodes:
        before = 0 if node["parent"] is None else nodes[node["parent"]]["sum"]
        assert node["sum"] == pytest.approx(before + node["logprob"], abs=1e-4)
    text = page.locator(".hypothesis").inner_text()
    assert text.startswith(trace["target"]["text"] + " — finished, rank")
    ids = page.evaluate(
        """async () => {
          const { tokenIds, bestHypothesis } = await import("regard/hypothesis.js");
          const { beam } = regard.app.trace.value;
          return tokenIds(beam, bestHypothesis(beam));
        }"""
    )
    assert ids == [token["id"] for token in trace["target"]["tokens"][:-1]]


def test_a_selected_hypothesis_shows_its_score_computation(page):
    open_page(page, "#/search?pruned=1")
    trace = shown_trace(page)
    nodes = trace["beam"]["nodes"]
    end = nodes[trace["beam"]["finished"][0]["node"]]
    page.locator(".beam").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    node = nodes[chosen(page, "node") - 1]
    assert node["id"] == end["parent"]
    assert chosen(page, "step") == node["t"]
    formula = "() => document.querySelector('.score').textContent"
    page.wait_for_function(f"n => ({formula})().includes(`((5 + ${{n}}) / 6)`)", arg=node["t"] + 1)
    total, penalty, score = map(number, re.findall(r"[−\d.]+", page.evaluate(formula))[-3:])
    assert (total, score) == pytest.approx((node["sum"], node["score"]), abs=1e-3)
    assert penalty == pytest.approx(((6 + node["t"]) / 6) ** trace["beam"]["alpha"], abs=1e-3)


def test_the_beam_has_all_hypotheses_and_optionally_the_pruned(page):
    open_page(page, "#/search")
    nodes = shown_trace(page)["beam"]["nodes"]
    kept = [node for node in nodes if node["state"] != "pruned"]
    sums = """() => [...document.querySelectorAll(".beam text")].map(each => each.textContent)
      .filter(text => /^−?\\d+\\.\\d\\d$/.test(text))"""
    assert sorted(map(number, page.evaluate(sums))) == pytest.approx(
        sorted(node["sum"] for node in kept), abs=0.0051
    )
    page.get_by_label("show pruned").check()
    page.wait_for_function(f"n => ({sums})().length === n", arg=len(nodes))
    assert len(nodes) > len(kept)


def test_a_hypothesis_can_be_traced_and_continued(page):
    open_page(page, "#/search")
    beam = shown_trace(page)["beam"]
    node = next(each for each in beam["nodes"] if each["t"] == 1 and each["rank"] == 1)
    ids = [beam["nodes"][node["parent"]]["token"], node["token"]]
    choose(page, node=node["id"] + 1)
    page.get_by_role("button", name="Continue from here").click()
    page.wait_for_function("() => regard.app.traceA.value.request.prefix.length && !regard.app.busy.value")
    trace = shown_trace(page)
    assert trace["request"]["prefix"] == ids == [token["id"] for token in trace["target"]["tokens"][:2]]
    winner = trace["beam"]["finished"][0]["node"]
    other = next(each for each in trace["beam"]["nodes"] if each["state"] == "kept" and each["id"] != winner)
    page.get_by_text("This hypothesis is the translation").wait_for()
    assert page.get_by_role("button", name="Look inside this hypothesis").count() == 0
    choose(page, node=other["id"] + 1)
    page.get_by_role("button", name="Look inside this hypothesis").click()
    page.wait_for_function("() => regard.app.traceA.value.target.forced && !regard.app.busy.value")
    assert "there is no beam" in page.locator("[aria-label=beam]").inner_text()
    page.get_by_role("button", name="Search for it").click()
    page.wait_for_function("() => regard.app.traceA.value.beam && !regard.app.busy.value")
    assert shown_trace(page)["request"]["prefix"] == []


def test_greedy_search_is_drawn_from_its_divergence(page):
    open_page(page, "#/search")
    result = page.evaluate(
        """async () => {
          const { layoutBeam } = await import("regard/draw/beam_tree.js");
          const node = (id, parent, t, rank, text) =>
            ({ id, parent, t, rank, text, token: id, logprob: -1, sum: -1, score: -1, state: "kept" });
          const nodes = [node(0, null, 0, 0, "a"), node(1, null, 0, 1, "b"), node(2, 1, 1, 0, "c")];
          const beam = { size: 2, alpha: 0.6, nodes, finished: [{ node: 2, rank: 0 }],
            greedy: { tokens: [0, 5], text: "a e", score: -3, diverges_at: 0 } };
          const drawn = layoutBeam(beam, false, ["a", "e"]);
          const above = drawn.greedy[0].y < drawn.columns[0][0].y;
          return { aside: drawn.greedy.map(({ text }) => text), above };
        }"""
    )
    assert result == {"aside": ["a", "e"], "above": True}


def test_a_single_row_has_an_adjustable_colour_scale(page):
    open_page(page, "#/search?step=1&layer=1&head=1")
    source = page.locator("[aria-label='cross-attention']")
    assert "this row attends" in source.locator(".status").inner_text()
    assert source.locator(".scale").inner_text().split()[-1] == "1"
    page.get_by_label("stretch the scale").check()
    trace = shown_trace(page)
    weights = page.evaluate(
        """async () => {
          const { attentionWeights } = await import("regard/trace.js");
          return Array.from(attentionWeights(regard.app.trace.value, "cross", 1, 1).values);
        }"""
    )
    width = len(trace["source"]["tokens"])
    top = source.locator(".scale").inner_text().split()[-1]
    assert float(top) == pytest.approx(max(weights[width : 2 * width]), abs=0.0051)


def test_different_tokens_are_not_subtracted_and_cards_are_labelled(page):
    open_page(page, "#/search")
    page.evaluate("() => { regard.app.whatIf.change({ target: 'ul ab' }); regard.app.whatIf.run() }")
    page.wait_for_function("() => regard.app.traceB.value && !regard.app.whatIf.running.value")
    page.get_by_role("radio", name="B − A").click()
    for card in ("masked self-attention", "cross-attention"):
        page.locator(f"[aria-label='{card}']").get_by_text("cannot be subtracted").wait_for()
    page.locator("[aria-label='next word']").get_by_text("After the same tokens A chose").wait_for()
    a, b = page.evaluate("() => [regard.app.traceA.value, regard.app.traceB.value]")
    pairs = zip(a["target"]["tokens"], b["target"]["tokens"], strict=False)
    parted = next(t for t, (then, now) in enumerate(pairs) if then["id"] != now["id"])
    choose(page, step=parted + 1)
    page.locator("[aria-label='next word']").get_by_text("A has other tokens").wait_for()
    page.get_by_role("link", name="Model").click()
    cells = [row.locator("td").all_inner_texts() for row in page.locator("[data-lens] tbody tr").all()]
    lens = list(reversed(b["logit_lens"]))
    alone = [[number(cell.split()[-1]) for cell in row] for row in cells[parted + 1 :]]
    assert alone == [
        pytest.approx([layer[t]["prob"] for layer in lens], abs=0.0051) for t in range(parted + 1, len(cells))
    ]
    page.locator("[aria-label='layer by layer']").get_by_text("A and B have different words from").wait_for()


def test_the_mark_of_the_chosen_candidate_is_on_one_line(page):
    open_page(page, "#/search?step=2")
    mark = page.locator(".taken", has_text="chosen").first
    assert mark.evaluate("(span) => span.offsetHeight < 2 * parseFloat(getComputedStyle(span).fontSize)")
    assert mark.evaluate("(span) => span.scrollWidth <= span.clientWidth")


def test_the_script_of_the_documentation_waits_for_what_the_page_has(page):
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs/pictures/explorer.py"))
    open_page(page, script["PAGES"]["attention"])
    page.wait_for_function(script["READY"])
    page.get_by_role("button", name="Switch head").click()
    page.wait_for_function(script["CHANGED"])

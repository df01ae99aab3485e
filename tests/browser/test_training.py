"""The Training page: live curves of metrics.jsonl."""

import json

import pytest

from browser.explorer_page import open_page
from regard.plots.scale import LinearScale
from regard.text.unicode import diff_words
from regard.training.logs.metrics_file import METRICS_FILE


def table(page, title):
    """Return the table of a chart, by x value."""
    chart = page.locator("section").filter(has=page.get_by_role("heading", name=title))
    chart.get_by_role("button", name="Table").click()
    names = chart.locator("thead th").all_inner_texts()
    rows = chart.locator("tbody tr")
    places = rows.locator("th").all_inner_texts()
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    result = zip(places, cells, strict=True)
    return {float(x.replace(",", "")): dict(zip(names, row, strict=True)) for x, row in result}


def test_curves_show_the_recorded_numbers(page, run):
    rows = [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]
    open_page(page, "#/training")
    page.get_by_role("heading", name="Loss, nats").wait_for()
    losses, scores = table(page, "Loss, nats"), table(page, "BLEU and chrF")
    for row in rows:
        if row["kind"] == "train":
            assert float(losses[row["step"]]["training, raw"]) == pytest.approx(row["loss"], rel=1e-5)
        if row["kind"] == "valid":
            assert float(losses[row["step"]]["validation"]) == pytest.approx(row["loss"], rel=1e-5)
            assert float(scores[row["step"]]["BLEU"]) == pytest.approx(row["bleu"], rel=1e-5)
    valid = [row for row in rows if row["kind"] == "valid"]
    assert page.get_by_text(valid[-1]["signature"]).is_visible()
    watched = page.locator(".watched")
    for sample in valid[-1]["samples"]:
        assert watched.get_by_text(sample["source"], exact=True).is_visible()
        assert watched.get_by_role("cell", name=sample["hypothesis"], exact=True).first.is_visible()
    lengths = json.loads((run / "data.json").read_text())["lengths"]["source"]
    rows = table(page, "Sentences by length")
    assert [float(rows[x]["source"]) for x in lengths["bins"][: len(lengths["counts"])]] == lengths["counts"]
    groups = next(row for row in reversed(valid) if row["best"])["bleu_by_length"]
    rows = table(page, "BLEU by source length")
    assert [float(rows[x]["BLEU"]) for x in groups["bins"]] == [*groups["bleu"], 0]


def test_new_rows_appear_and_rewritten_rows_are_replaced(page, run):
    metrics = run / METRICS_FILE
    before = metrics.read_bytes()
    last = [json.loads(line) for line in before.splitlines() if b'"train"' in line][-1]
    later = {**last, "step": last["step"] + 10, "loss": 0.12345, "time_s": last["time_s"] + 1}
    open_page(page, "#/training")
    page.get_by_text(f"step {last['step']}").first.wait_for()
    try:
        with metrics.open("ab") as file:
            file.write(json.dumps(later).encode() + b"\n")
        page.get_by_text("training loss 0.123").wait_for()
    finally:
        metrics.write_bytes(before)
    page.get_by_text(f"training loss {last['loss']:.3f}").wait_for()


def test_averaged_checkpoints_are_a_separate_marker(page, run):
    metrics = run / METRICS_FILE
    before = metrics.read_bytes()
    last = [json.loads(line) for line in before.splitlines() if b'"valid"' in line][-1]
    mean = {**last, "kind": "mean", "bleu": 12.5, "loss": 0.375, "checkpoints": 5}
    try:
        metrics.write_bytes(before + json.dumps(mean).encode() + b"\n")
        open_page(page, "#/training")
        page.get_by_text("average of 5 checkpoints").first.wait_for()
        scores, losses = table(page, "BLEU and chrF"), table(page, "Loss, nats")
    finally:
        metrics.write_bytes(before)
    assert float(scores[last["step"]]["average of 5 checkpoints"]) == 12.5
    assert float(scores[last["step"]]["BLEU"]) == pytest.approx(last["bleu"], rel=1e-5)
    assert float(losses[last["step"]]["average of 5 checkpoints"]) == 0.375


def test_the_chart_shows_the_values_at_the_cursor(page, run):
    open_page(page, "#/training?axis=tokens")
    rows = [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]
    tokens = sum(row.get("target_tokens", 0) for row in rows)
    last = max(row["step"] for row in rows if row.get("kind") == "train")
    page.get_by_text(f"step {last}").first.wait_for()
    reading = page.get_by_text(f"target tokens seen {tokens:,}: ")
    for _ in range(10):  # while rows still arrive the chart is drawn anew, and the needle is gone
        page.locator(".chart").first.press("End")
        page.wait_for_timeout(200)
        if reading.count():
            break
    reading.wait_for()


def test_ticks_and_changed_words_equal_those_of_regard_plot(page):
    open_page(page, "#/training")
    for low, high in [(0.0, 2e3), (0.1, 7.3), (0.0, 0.003), (0.0, 27e3), (-1.0, 3e9), (0.97, 0.99)]:
        result = page.evaluate(
            "async (scale) => (await import('regard/live/axis_scale.js')).ticks(scale, 5)",
            {"low": low, "high": high, "start": 0, "end": 1},
        )
        expected = LinearScale(low, high, 0.0, 1.0).ticks(5)
        assert [text for _, text in result] == [text for _, text in expected]
        assert [value for value, _ in result] == pytest.approx([value for value, _ in expected])
    for before, now in [
        (None, "a b"),
        ("a b c", "a x c d"),
        ("", "a"),
        ("a b", "a b"),
        ("the cat sat", "a cat sat down"),
    ]:
        result = page.evaluate(
            "async ([before, now]) => (await import('regard/live/word_diff.js')).diffWords(before, now)",
            [before, now],
        )
        assert [(each["word"], each["isNew"]) for each in result] == list(diff_words(before, now))


def test_a_long_training_keeps_extremes_and_gaps(page):
    open_page(page, "#/training")
    result = page.evaluate("""async () => {
      const { downsample, smooth } = await import("regard/live/training_history.js");
      const odd = { 3333: 99, 1234: -99, 4000: NaN };
      const all = Array.from({ length: 5000 }, (_, i) => [i, odd[i] ?? i % 7]);
      return { few: downsample(all).map(([x]) => x), mean: smooth(all)[2500][1] };
    }""")
    assert len(result["few"]) <= 600
    assert {1234, 3333, 4000} <= set(result["few"])
    assert result["mean"] == pytest.approx(3, abs=0.1)

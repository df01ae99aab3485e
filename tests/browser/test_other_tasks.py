"""The pages of a classifier and of a forecaster."""

import math
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from rich.console import Console

from browser.conftest import record_page
from labelled_corpus import tiny_classification_run, write_labelled_file
from regard.checkpoint import find_model_folder
from regard.classification.task import train_classification
from regard.classification.tracing import ClassifierTracer
from regard.forecasting.task import train_forecasting
from regard.forecasting.tracing import ForecasterTracer
from synthetic_series import small_forecast_run, write_wave_series

QUIET = Console(quiet=True)
TEXT = "I saw a cat today"


@contextmanager
def open_explorer(browser, *arguments):
    """Yield a page at `regard explore`; any error on it fails the test."""
    command = [sys.executable, "-m", "regard", "explore", "--no-browser", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as process:
        try:
            address = process.stdout.readline().split()[-1]
            context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
            context.set_default_timeout(15_000)
            page = context.new_page()
            log = record_page(page)
            yield page
            context.close()
        finally:
            process.kill()
    assert log.errors == []
    assert log.external_requests(address) == []


def row_weights(page, kind, layer, head, row):
    """Return one row of weights from the page."""
    return page.evaluate(
        """async ([kind, layer, head, row]) => {
            const { attentionWeights } = await import("regard/trace.js");
            const matrix = attentionWeights(regard.app.trace.value, kind, layer, head);
            return [...matrix.values.slice(row * matrix.columns, (row + 1) * matrix.columns)];
        }""",
        [kind, layer, head, row],
    )


@pytest.fixture(scope="module")
def classified(tmp_path_factory):
    place = tmp_path_factory.mktemp("things")
    train_classification(
        tiny_classification_run(write_labelled_file(place / "things.tsv")), place / "run", QUIET
    )
    return place / "run"


def test_a_classifier_shows_the_attention_of_its_class_token(browser, classified):
    tracer = ClassifierTracer.load(find_model_folder(classified), "cpu")
    expected = tracer.trace(TEXT)
    with open_explorer(browser, classified, "--text", TEXT) as page:
        page.goto("/")
        page.wait_for_selector(".strip .token")
        tabs = page.locator("nav a").all_inner_texts()
        assert tabs == ["Attention", "Training"]
        assert page.locator("[aria-label='source tokens'] .token").first.inner_text() == "<s>"
        label = page.locator("[aria-label='target tokens'] .token").first.inner_text()
        best = expected.target.tokens[0]
        assert label.split()[0] == best.text
        assert f"{100 * math.exp(best.logprob):.0f}%" in label
        assert row_weights(page, "encoder", 1, 2, 0) == pytest.approx(
            expected.attention["encoder"][0, 1, 0].tolist(), abs=5e-4
        )
        assert "Decoder" not in page.locator("main").inner_text()
        page.keyboard.press("k")  # there is one kind only
        page.get_by_role("button", name="edit the source").click()
        page.keyboard.type("the dog is here")
        page.keyboard.press("Enter")
        page.locator("[aria-label='source tokens'] .token", has_text="dog").wait_for()


def test_a_forecaster_shows_attention_between_time_patches(browser, tmp_path):
    table = write_wave_series(tmp_path / "waves.csv")
    train_forecasting(small_forecast_run(table), tmp_path / "run", QUIET)
    expected = ForecasterTracer.load(find_model_folder(tmp_path / "run"), table, "cpu").trace("heat")
    with open_explorer(browser, tmp_path / "run", "--series", table, "--text", "heat") as page:
        page.goto("/#/attention?kind=cross")
        page.wait_for_selector(".strip .token")
        assert page.locator(".strip .caption").all_inner_texts() == ["past", "future"]
        future = page.locator("[aria-label='target tokens'] .token").all_inner_texts()
        assert future == [token.text for token in expected.target.tokens]
        assert row_weights(page, "cross", 1, 1, 0) == pytest.approx(
            expected.attention["cross"][0, 0, 0].tolist(), abs=5e-4
        )
        assert "masked" not in page.locator("main .bar").first.inner_text()  # it sees the whole horizon

"""Exported pages: from disk, in a frame and in a notebook, without external requests."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import regard
from browser.conftest import SENTENCE, record_page
from browser.explorer_page import OPENED, chosen, open_page, shown_attention

VIEW = "#/attention?kind=cross&layer=1&head=2"


@pytest.fixture(scope="module")
def file(translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "trace.html"
    translator.trace(SENTENCE, qkv=True).save(path)
    return path


@pytest.fixture
def alone(browser):
    """A page without a server."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.log = record_page(page)
    yield page
    context.close()
    assert page.log.errors == []


def test_a_file_shows_the_trace_and_requests_nothing(alone, file, translator):
    open_page(alone, address=file.as_uri())
    expected = translator.trace(SENTENCE)
    for kind, weights in expected.attention.items():
        assert shown_attention(alone, kind, 2, 1) == pytest.approx(weights[1, 0], abs=5e-4)
    requests = alone.log.external_requests()
    assert [url.partition("#")[0] for url in requests] == [file.as_uri()]


def test_every_page_of_a_file_opens(alone, file):
    open_page(alone, address=file.as_uri())
    tabs = alone.locator("nav[aria-label=pages] a")
    for number in range(tabs.count()):
        tabs.nth(number).click()
        assert alone.locator("main").inner_text().strip()
        assert alone.locator(".problem:visible").count() == 0


def test_a_sandboxed_frame_opens_at_the_given_view(alone, translator):
    trace = translator.trace(SENTENCE)
    alone.set_content(
        f"<h1>notebook</h1>{trace.show('attention', kind='cross', layer=1, head=2)._repr_html_()}"
    )
    frame = alone.wait_for_selector("iframe").content_frame()
    frame.wait_for_function(OPENED)
    assert (chosen(frame, "kind"), chosen(frame, "layer"), chosen(frame, "head")) == ("cross", 1, 2)
    assert shown_attention(frame, "cross", 1, 2) == pytest.approx(trace.attention["cross"][0, 1], abs=5e-4)
    assert frame.evaluate("() => { try { return Boolean(parent.document) } catch { return false } }") is False
    assert alone.log.external_requests() == []


def test_two_frames_in_one_document_are_independent(alone, translator):
    first, second = translator.trace(SENTENCE), translator.trace("ko ra")
    alone.set_content(first._repr_html_() + second._repr_html_())
    for frame, trace in zip(alone.query_selector_all("iframe"), (first, second), strict=True):
        inside = frame.content_frame()
        inside.wait_for_function(OPENED)
        assert inside.evaluate("() => regard.app.traceA.value.source.text") == trace.source.text


def test_the_page_exports_what_it_shows(page, alone, tmp_path):
    open_page(page, VIEW)
    content = page.evaluate(
        """async () => {
          const body = JSON.stringify({ request: regard.app.traceA.value.request, view: location.hash });
          const headers = { "Content-Type": "application/json" };
          return (await fetch("/api/export", { method: "POST", headers, body })).text();
        }"""
    )
    (tmp_path / "page.html").write_text(content, "utf-8")
    alone.goto((tmp_path / "page.html").as_uri())
    alone.wait_for_function(OPENED)
    assert (chosen(alone, "layer"), chosen(alone, "head")) == (1, 2)
    assert shown_attention(alone, "cross", 1, 2) == pytest.approx(shown_attention(page, "cross", 1, 2), abs=0)


def test_an_exported_figure_has_its_words_as_text(page):
    open_page(page, VIEW)
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").first.click()
    tree = ElementTree.parse(download.value.path())
    words = {"".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert set(SENTENCE.split()) <= {word for text in words for word in text.split()}


def test_an_exported_table_has_the_numbers(page, translator):
    open_page(page, VIEW)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").first.click()
    rows = download.value.path().read_text("utf-8").splitlines()
    values = np.array([[float(value) for value in row.split(",")[1:]] for row in rows[1:]])
    assert values == pytest.approx(translator.trace(SENTENCE).attention["cross"][0, 1], abs=5e-4)


def test_a_notebook_shows_a_trace(run, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    cell = f"import regard\nregard.Translator.load({str(run)!r}, 'cpu', 'torch').trace({SENTENCE!r})"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    (output,) = notebook.cells[0].outputs
    frame = output["data"]["text/html"]
    assert frame.startswith("<iframe ")
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert len(frame) < 5_000_000


def test_the_file_size_is_mostly_the_trace(file):
    document = file.read_text("utf-8")
    trace_json = re.search(r'id="regard-trace">(.*?)</script>', document, re.DOTALL)[1]
    assert regard.Trace.from_json(json.loads(trace_json)).source.text == SENTENCE
    assert len(document) - len(trace_json) < 250_000

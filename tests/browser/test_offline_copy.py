"""The Export menu: the trace as JSON and as an offline page."""

import json

from browser.conftest import record_page
from browser.explorer_page import open_page, shown_trace


def download(page, name, folder):
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download_info:
        page.get_by_role("button", name=name).click()
    path = folder / download_info.value.suggested_filename
    download_info.value.save_as(path)
    return path


def test_the_menu_downloads_the_trace(page, tmp_path):
    open_page(page)
    path = download(page, "The trace as JSON", tmp_path)
    assert path.name == "regard-ba-lu-mi-so-tu.json"
    assert json.loads(path.read_text("utf-8")) == shown_trace(page)


def test_the_menu_downloads_a_page_with_the_current_view(page, browser, tmp_path):
    open_page(page, "#/attention?kind=encoder&layer=1&head=2")
    path = download(page, "This translation as one HTML page", tmp_path)
    other = browser.new_page()
    log = record_page(other)
    open_page(other, view="", address=path.as_uri())
    assert other.get_by_role("heading", name="Encoder · layer 1 · head 2").is_visible()
    assert other.get_by_role("button", name="What if").count() == 0
    other.get_by_role("button", name="Export").click()
    assert other.get_by_role("button", name="This translation as one HTML page").count() == 0
    assert shown_trace(other)["attention"] == shown_trace(page)["attention"]
    assert log.errors == []
    assert log.external_requests() == [path.as_uri()]
    other.close()


def test_a_large_table_is_truncated_and_its_csv_is_complete(page, tmp_path):
    open_page(page)
    page.evaluate(
        """async () => {
          const { downloadBar } = await import("regard/parts/downloads.js");
          const names = (n) => Array.from({ length: n }, (_, i) => String(i));
          const table = () => ({ rows: names(127), columns: names(177), values: (r, c) => `${r}.${c}` });
          const taken = downloadBar({ name: () => "large", table, svg: () => "" });
          document.querySelector("main").replaceChildren(taken);
        }"""
    )
    page.get_by_role("button", name="Table").click()
    page.get_by_text("The first 66 of 127 rows and 60 of 177 columns; CSV has them all.").wait_for()
    assert page.locator("main tbody tr").count() == 66
    assert page.locator("main tbody td").last.inner_text() == "65.59"
    with page.expect_download() as download_info:
        page.get_by_role("button", name="CSV").click()
    download_info.value.save_as(tmp_path / "large.csv")
    lines = (tmp_path / "large.csv").read_text("utf-8").splitlines()
    assert len(lines) == 128
    assert lines[-1].endswith(",126.176")

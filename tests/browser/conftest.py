"""Fixtures for tests in Chromium: a trained run, `regard explore` as a process, a page without errors."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from regard.translation.translator import Translator
from toy_translation import train_toy_model

SENTENCE = "ba lu mi so tu"
CHROMIUM_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOCAL_SCHEMES = ("data", "blob", "about")
"""URL schemes that cause no network request."""


def pytest_collection_modifyitems(items):
    """Mark every test in this folder with `browser`."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    """The path of Chromium; without it tests are skipped, or fail if REGARD_REQUIRE_BROWSER=1."""
    log = os.environ.get("REGARD_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_COMMANDS)), None)
    if log:
        return log
    message = (
        "no Chromium here: install one (on Debian, apt-get install chromium) or name it in REGARD_CHROMIUM"
    )
    if os.environ.get("REGARD_REQUIRE_BROWSER") == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser(chromium):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def run(chromium, tmp_path_factory):
    """A run that was trained to reverse words; REGARD_COPYING names an existing one."""
    assert chromium
    before = os.environ.get("REGARD_COPYING")
    return Path(before) if before else train_toy_model(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def translator(run):
    """The same model in this process, for comparison."""
    return Translator.load(run, "cpu", "torch")


@pytest.fixture(scope="session")
def server(run):
    """The URL of `regard explore`, run as a process."""
    command = [sys.executable, "-m", "regard", "explore", str(run), "--no-browser", "--text", SENTENCE]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " http://127.0.0.1:" in line
        yield line.split()[-1]
        process.terminate()
        process.wait(10)


@dataclass
class PageLog:
    """Errors and requests of a page."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def external_requests(self, server=None):
        """Return the requested URLs that are neither the server's nor local."""
        host = urlsplit(server).netloc if server else None
        return [
            url
            for url in self.requests
            if urlsplit(url).scheme not in LOCAL_SCHEMES and (host is None or urlsplit(url).netloc != host)
        ]


def record_page(page):
    """Record all errors and requests of a page from now on."""
    log = PageLog()
    page.on("pageerror", lambda error: log.errors.append(str(error)))
    page.on("requestfailed", lambda request: log.errors.append(f"{request.url}: {request.failure}"))
    page.on(
        "console",
        lambda message: log.errors.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("request", lambda request: log.requests.append(request.url))
    return log


@pytest.fixture
def page(browser, server):
    """A page at the server; errors and requests to other hosts fail the test."""
    context = browser.new_context(base_url=server, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    host = urlsplit(server).netloc
    context.route(
        lambda url: urlsplit(url).scheme.startswith("http") and urlsplit(url).netloc != host, refuse
    )
    page = context.new_page()
    page.log = record_page(page)
    yield page
    context.close()
    aborted = [error for error in page.log.errors if error.endswith("net::ERR_ABORTED")]
    assert [error for error in page.log.errors if error not in aborted] == []
    assert page.log.external_requests(server) == []


def refuse(route):
    route.abort("addressunreachable")

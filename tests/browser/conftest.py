"""A real Chromium, a server as a person starts it, and a page that tolerates no error and no stranger."""

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
PLACES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OURS = ("data", "blob", "about")
"""Addresses of these kinds leave the machine no more than a variable does."""


def pytest_collection_modifyitems(items):
    """Every test in this folder needs a browser."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    """Where it is; without one the tests are skipped, unless REGARD_REQUIRE_BROWSER says that it must be."""
    found = os.environ.get("REGARD_CHROMIUM") or next(filter(None, map(shutil.which, PLACES)), None)
    if found:
        return found
    said = "no Chromium here: install one (on Debian, apt-get install chromium) or name it in REGARD_CHROMIUM"
    if os.environ.get("REGARD_REQUIRE_BROWSER") == "1":
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


@pytest.fixture(scope="session")
def browser(chromium):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def run(chromium, tmp_path_factory):
    """The folder of a run that learnt to copy words; REGARD_COPYING names one that did so before."""
    assert chromium
    before = os.environ.get("REGARD_COPYING")
    return Path(before) if before else train_toy_model(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def translator(run):
    """The same model in this process, to compare with."""
    return Translator.load(run, "cpu", "torch")


@pytest.fixture(scope="session")
def server(run):
    """The address of `regard explore`, run as a person runs it."""
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
class Watched:
    """What happened behind a page."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def strangers(self, server=None):
        """The addresses asked that are neither the server's nor inside the page."""
        host = urlsplit(server).netloc if server else None
        return [
            url
            for url in self.requests
            if urlsplit(url).scheme not in OURS and (host is None or urlsplit(url).netloc != host)
        ]


def watched(page):
    """Every error and every request of the page from now on."""
    found = Watched()
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("requestfailed", lambda request: found.errors.append(f"{request.url}: {request.failure}"))
    page.on(
        "console",
        lambda message: found.errors.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("request", lambda request: found.requests.append(request.url))
    return found


@pytest.fixture
def page(browser, server):
    """A page at the server, which nothing but the server may be asked for; errors fail the test."""
    context = browser.new_context(base_url=server, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    host = urlsplit(server).netloc
    context.route(
        lambda url: urlsplit(url).scheme.startswith("http") and urlsplit(url).netloc != host, refuse
    )
    page = context.new_page()
    page.watched = watched(page)
    yield page
    context.close()
    aborted = [error for error in page.watched.errors if error.endswith("net::ERR_ABORTED")]
    assert [error for error in page.watched.errors if error not in aborted] == []
    assert page.watched.strangers(server) == []


def refuse(route):
    route.abort("addressunreachable")

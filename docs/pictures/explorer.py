"""Take the screenshots of the explorer in the documentation; every number in them is the model's own.

pip install playwright    # and a Chromium on the PATH
python docs/pictures/explorer.py runs/demo docs/pictures
"""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

SENTENCE = "Jane visits Africa in September."
PAGES = {
    "translate": "#/translate",
    "attention": "#/attention?kind=cross&layer=2&head=1",
    "steps": "#/steps?kind=cross&layer=2&head=1&token=1&walk=6",
    "search": "#/search?step=2",
    "model": "#/model?token=1",
    "positions": "#/positions",
    "training": "#/training",
}
READY = "() => globalThis.regard?.app.traceA.value && !regard.app.busy.value"
CHANGED = "() => regard.app.traceB.value && !regard.app.whatIf.running.value"
WIDTH, HEIGHT = 1320, 960


def main(run: str, out: str) -> None:
    command = [sys.executable, "-m", "regard", "explore", run, "--no-browser", "--text", SENTENCE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            take_all(server.stdout.readline().split()[-1], Path(out))
        finally:
            server.terminate()


def take_all(address: str, out: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name, view in PAGES.items():
            take(page, address + view, out / f"explorer-{name}.png")
        page.emulate_media(color_scheme="dark")
        page.goto(address + PAGES["attention"])
        page.wait_for_function(READY)
        page.get_by_role("button", name="Switch head").click()
        page.wait_for_function(CHANGED)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(500)
        page.screenshot(path=out / "explorer-what-if.png")
        browser.close()


def take(page: Page, address: str, path: Path) -> None:
    page.goto(address)
    page.wait_for_function(READY)
    page.wait_for_timeout(1500)
    page.screenshot(path=path)


if __name__ == "__main__":
    main(*sys.argv[1:])

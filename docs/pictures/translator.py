"""Take the screenshots of the translator page in the documentation, with the demo's model.

pip install playwright    # and a Chromium on the PATH
python docs/pictures/translator.py runs/demo docs/pictures
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

TEXT = """\
Jane visits Africa in September. The glass that we bought is yellow.

Why did your sister not listen to them? Juliette will not work at the bakery in August."""
DONE = "() => regard.translator.live.status.value.kind === 'done'"


def main(run: str, out: str) -> None:
    command = [sys.executable, "-m", "regard", "serve", run, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            take_all(json.loads(server.stdout.readline())["url"], Path(out))
        finally:
            server.terminate()


def take_all(address: str, out: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 500})
        translate(page, address)
        page.locator("#translation .word", has_text="jaune").hover()
        page.wait_for_timeout(300)
        page.screenshot(path=out / "translator.png")
        page = browser.new_page(viewport={"width": 360, "height": 800}, color_scheme="dark")
        translate(page, address)
        page.locator(".sentence").nth(1).click()
        page.locator(".alternatives button").first.wait_for()
        page.wait_for_timeout(300)
        page.screenshot(path=out / "translator-phone.png")
        browser.close()


def translate(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#source").fill(TEXT)
    page.wait_for_function(DONE)


if __name__ == "__main__":
    main(*sys.argv[1:])

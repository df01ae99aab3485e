"""Keyboard, screen reader, small screens, both themes: what one can reach, everyone can."""

import pytest

from browser.looking import open_page

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
MOVING = """() => [...document.querySelectorAll("*")].filter((element) => {
  const style = getComputedStyle(element);
  const long = (text) => text.split(",").some((each) => parseFloat(each) > 0.01);
  const animated = style.animationName !== "none" && long(style.animationDuration);
  return animated || long(style.transitionDuration);
}).map((element) => element.outerHTML.slice(0, 80))"""
SIZES = {"wide": (1280, 900), "narrow": (360, 740)}


def violations(page):
    """What axe finds wrong, in words."""
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_page_breaks_a_rule_of_accessibility(page, theme, size):
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    open_page(page)
    tabs = page.locator("nav[aria-label=pages] a")
    found = {}
    for number in range(tabs.count()):
        tabs.nth(number).click()
        page.wait_for_timeout(100)
        found[tabs.nth(number).inner_text()] = violations(page)
        overflow = page.evaluate(TOO_WIDE)
        assert overflow <= 0, f"{tabs.nth(number).inner_text()} is {overflow} px too wide"
    assert {name: each for name, each in found.items() if each} == {}


def test_nothing_moves_for_those_who_want_no_motion(page):
    page.emulate_media(reduced_motion="reduce")
    open_page(page)
    moving = page.evaluate(MOVING)
    assert moving == []

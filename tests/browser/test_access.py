"""Keyboard, screen reader, small screens, both themes: what one can reach, everyone can."""

import pytest

from browser.explorer_page import open_page

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


TAB_STOPS = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]")].filter((element) =>
  element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true }))
  .map((element) => ((element.stop ??= String(Math.random())), element.stop))"""
HERE = """() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
  const seen = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
  return { stop: element.stop ?? null, seen, what: element.outerHTML.slice(0, 80) };
}"""


def test_the_tab_key_reaches_everything_on_every_page_and_is_seen_there(page):
    open_page(page, "#/translate")
    page.keyboard.press("w")
    names = page.locator("nav[aria-label=pages] a").all_inner_texts()
    for name in names:
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_timeout(300)
        wanted, reached = set(page.evaluate(TAB_STOPS)), set()
        for _ in range(2 * len(wanted)):  # past the end and round once more
            page.keyboard.press("Tab")
            here = page.evaluate(HERE)
            if here["stop"] is not None:
                assert here["seen"], f"{name}: the focus cannot be seen on {here['what']}"
                reached.add(here["stop"])
            if wanted <= reached:
                break
        assert len(wanted) > 20
        assert wanted <= reached, f"{name}: {len(wanted - reached)} of {len(wanted)} are not reached"


@pytest.mark.parametrize(("theme", "size"), [("light", "narrow"), ("dark", "wide")])
def test_what_opens_breaks_no_rule_either(page, theme, size):
    """The drawer with B − A, tables, lines, the list of keys, the worked example, answers to questions."""
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    page.get_by_role("button", name="Switch head 1.1 off").click()
    page.wait_for_function("() => regard.app.b.value && !regard.app.whatIf.running.value")
    page.get_by_role("radio", name="B − A").click()
    page.keyboard.press("t")
    found = {"B − A and its table": violations(page)}
    page.get_by_role("radio", name="Lines").click()
    found["lines"] = violations(page)
    page.keyboard.press("?")
    found["keys"] = violations(page)
    page.keyboard.press("Escape")
    open_page(page, "#/steps")
    page.get_by_role("radio", name="The worked example").click()
    found["the worked example"] = violations(page)
    open_page(page, "#/model")
    for button in page.locator("[data-question] button").all():
        button.click()
    page.wait_for_timeout(1500)
    found["answers"] = violations(page)
    assert {name: each for name, each in found.items() if each} == {}


def test_nothing_moves_for_those_who_want_no_motion(page):
    page.emulate_media(reduced_motion="reduce")
    open_page(page)
    moving = page.evaluate(MOVING)
    assert moving == []

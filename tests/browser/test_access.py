"""Accessibility: axe rules, keyboard, small screens, both colour schemes, reduced motion."""

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
    """Return the violations that axe reports."""
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_page_violates_an_accessibility_rule(page, theme, size):
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    open_page(page)
    tabs = page.locator("nav[aria-label=pages] a")
    violations_by_page = {}
    for number in range(tabs.count()):
        tabs.nth(number).click()
        page.wait_for_timeout(100)
        violations_by_page[tabs.nth(number).inner_text()] = violations(page)
        overflow = page.evaluate(TOO_WIDE)
        assert overflow <= 0, f"{tabs.nth(number).inner_text()} is {overflow} px too wide"
    assert {name: each for name, each in violations_by_page.items() if each} == {}


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


def test_every_control_is_reachable_by_tab_with_visible_focus(page):
    open_page(page, "#/translate")
    page.keyboard.press("w")
    names = page.locator("nav[aria-label=pages] a").all_inner_texts()
    for name in names:
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_timeout(300)
        stops, reached = set(page.evaluate(TAB_STOPS)), set()
        for _ in range(2 * len(stops)):  # past the end and round once more
            page.keyboard.press("Tab")
            here = page.evaluate(HERE)
            if here["stop"] is not None:
                assert here["seen"], f"{name}: the focus cannot be seen on {here['what']}"
                reached.add(here["stop"])
            if stops <= reached:
                break
        assert len(stops) > 20
        assert stops <= reached, f"{name}: {len(stops - reached)} of {len(stops)} are not reached"


@pytest.mark.parametrize(("theme", "size"), [("light", "narrow"), ("dark", "wide")])
def test_opened_parts_violate_no_accessibility_rule(page, theme, size):
    """The what-if drawer, tables, lines, the list of keys, the worked example, probe results."""
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    page.get_by_role("button", name="Switch head 1.1 off").click()
    page.wait_for_function("() => regard.app.traceB.value && !regard.app.whatIf.running.value")
    page.get_by_role("radio", name="B − A").click()
    page.keyboard.press("t")
    violations_by_page = {"B − A and its table": violations(page)}
    page.get_by_role("radio", name="Lines").click()
    violations_by_page["lines"] = violations(page)
    page.keyboard.press("?")
    violations_by_page["keys"] = violations(page)
    page.keyboard.press("Escape")
    open_page(page, "#/steps")
    page.get_by_role("radio", name="The worked example").click()
    violations_by_page["the worked example"] = violations(page)
    open_page(page, "#/model")
    for button in page.locator("[data-question] button").all():
        button.click()
    page.wait_for_timeout(1500)
    violations_by_page["answers"] = violations(page)
    assert {name: each for name, each in violations_by_page.items() if each} == {}


def test_reduced_motion_stops_all_animation(page):
    page.emulate_media(reduced_motion="reduce")
    open_page(page)
    moving = page.evaluate(MOVING)
    assert moving == []

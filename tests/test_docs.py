"""The tests, names, links and settings on the documentation pages exist."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAPER = (ROOT / "docs/paper.md").read_text(encoding="utf-8")
IDS = {"A": 5, "B": 7, "C": 12, "D": 15, "E": 7, "F": 10, "G": 8, "H": 4, "I": 4}


def test_every_topic_has_a_row():
    rows = set(re.findall(r"^\| ([A-I]\d+) \|", PAPER, re.MULTILINE))
    assert rows == {f"{letter}{n}" for letter, last in IDS.items() for n in range(1, last + 1)}


def test_every_cited_test_exists():
    cited = re.findall(r"(tests/[\w/]+\.py)::(test_\w+)", PAPER)
    assert len(cited) > 60
    missing = [
        f"{file}::{name}"
        for file, name in cited
        if not re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert missing == []


def test_every_cited_name_is_in_its_file():
    cited = re.findall(r"\[([\w/]+\.py)\] ((?:`[\w.]+`(?:, )?)+)", PAPER)
    paths = dict(re.findall(r"^\[([\w/]+\.py)\]: (\S+)", PAPER, re.MULTILINE))
    names = [(paths[file], name) for file, listed in cited for name in re.findall(r"[\w.]+\w", listed)]
    assert len(names) > 60
    missing = [
        (file, name)
        for file, name in names
        if not re.search(rf"\b{name.rpartition('.')[2]}\b", (ROOT / "docs" / file).read_text("utf-8"))
    ]
    assert missing == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=str)
def test_every_relative_link_has_a_target(page):
    text = page.read_text(encoding="utf-8")
    assert "@@" not in text
    links = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE)
    assert [link for link in links if not (page.parent / link).exists()] == []


def decision(name):
    return " ".join((ROOT / "docs/decisions" / name).read_text(encoding="utf-8").split())


def test_the_decision_on_dependencies_names_every_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [re.split("[<>=]", requirement)[0] for requirement in project["dependencies"]]
    [listed] = re.findall(
        r"at run time on ([^.]+), and on nothing else", decision("0001-few-dependencies.md")
    )
    assert re.split(r", | and ", listed) == required


@pytest.mark.parametrize(
    "record", ["0001-few-dependencies.md", "0013-incremental-decoder.md", "0015-the-explorers-server.md"]
)
def test_decisions_state_no_size_of_the_code_that_goes_out_of_date(record):
    assert re.findall(r"(?:\d+|hundred|dozen) (?:lines|routes|modules)", decision(record)) == []


def test_packages_are_linked_at_their_repositories():
    links = {
        link
        for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
        for link in re.findall(r"\]\((https?://[^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert links
    assert sorted(link for link in links if not re.match(r"https://github\.com/[\w.-]+/[\w.-]+$", link)) == []


def test_the_settings_page_matches_the_source():
    page = runpy.run_path(str(ROOT / "docs/settings.py"))["page"]()
    assert '| `train.judge` | `"loss"` | The validation metric that selects the best checkpoint;' in page
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == page, "run python docs/settings.py"

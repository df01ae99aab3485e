"""Pages generated from the code match it, and pages that cite the code cite what exists."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["architecture", "api"])
def test_a_generated_page_matches_the_source(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    page = runpy.run_path(str(ROOT / f"docs/{name}.py"))["page"]()
    assert (ROOT / f"docs/{name}.md").read_text("utf-8") == page, f"run python docs/{name}.py"


@pytest.mark.parametrize("page", ["glossary.md", "architecture.md"])
def test_each_name_is_in_the_file_cited_before_it(page):
    text = (ROOT / "docs" / page).read_text("utf-8")
    cited = re.findall(r"\]\(\.\./(src/regard/[\w/]+\.py)\) ((?:`\w+`(?:, | and )?)+)", text)
    names = [(file, name) for file, some in cited for name in re.findall(r"\w+", some) if name != "and"]
    assert len(names) > 20
    missing = [
        (file, name)
        for file, name in names
        if not re.search(
            rf"^\s*(?:def|class) {name}\b|^{name}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE
        )
    ]
    assert missing == []


def test_the_readme_names_every_package():
    readme = (ROOT / "README.md").read_text("utf-8")
    packages = sorted(path.parent.name for path in (ROOT / "src/regard").glob("*/__init__.py"))
    assert [name for name in packages if f"(src/regard/{name})" not in readme] == []


def test_the_readme_can_be_read_to_the_end():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150

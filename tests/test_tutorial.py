"""The tutorial notebook runs from the first cell to the last, here with a few training steps."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "docs" / "tutorial.ipynb"
SMALL = """
PAIRS = 400
TRANSLATOR = {"steps": 2}
CLASSIFIER = {"steps": 2}
FORECASTER = {"steps": 2}
"""


@pytest.fixture(scope="module")
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_notebook_is_valid_and_has_no_outputs(notebook):
    nbformat.validate(notebook)
    assert [cell.outputs for cell in code_cells(notebook)] == [[]] * len(code_cells(notebook))
    assert {cell.execution_count for cell in code_cells(notebook)} == {None}


def test_the_parameters_are_those_that_the_test_replaces(notebook):
    [parameters] = [cell for cell in code_cells(notebook) if "parameters" in cell.metadata.get("tags", [])]
    names, replaced = {}, {}
    exec(parameters.source, names)
    exec(SMALL, replaced)
    assert names.keys() == replaced.keys()
    assert names["TRANSLATOR"]["minutes"] <= 1


def test_the_notebook_runs(notebook, tmp_path):
    cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    [parameters] = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    parameters.source = SMALL
    run = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(run, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = [output for cell in code_cells(run) for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error" or output.get("name") == "stderr"]
    assert " parameters" in (text := "".join(output.get("text", "") for output in shown))
    assert "\x1b" not in text  # a notebook has no cursor to move
    html = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert any(table.startswith("<iframe ") for table in html)
    assert sum("<table" in table for table in html) >= 6
    assert {path.name for path in (tmp_path / "tutorial-runs").iterdir()} == {"translator", "forecaster"}

"""The types that an editor shows for calls of the public API."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CALLS = """
from typing import Any, assert_type

import pandas
import polars

import regard

forecaster = regard.Forecaster.load("model")
assert_type(forecaster.predict(pandas.DataFrame()), pandas.DataFrame)
assert_type(forecaster.predict(polars.DataFrame(), 5, quantiles=True), polars.DataFrame)
assert_type(forecaster.predict("load.csv"), dict[str, list[Any]])
assert_type(regard.Classifier(steps=1).fit([], []), regard.Classifier)
translator = regard.Translator.load("model")
assert_type(translator.translate("text"), str)
assert_type(translator.translate(["text"], beam=2), list[str])
assert_type(translator.translate("text", n_best=3), list[str])
assert_type(translator.translate(("text",), n_best=3), list[list[str]])
assert_type(translator.translate_detailed("text"), regard.Translation)
assert_type(translator.translate_detailed(["text"], forbidden="a"), list[regard.Translation])
"""


def check_types(folder: Path, code: str) -> str:
    (folder / "calls.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", str(folder / "calls.py")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_the_types_of_calls_are_precise(tmp_path):
    assert check_types(tmp_path, CALLS).startswith("0 errors"), check_types(tmp_path, CALLS)


def test_a_keyword_that_does_not_exist_is_a_type_error(tmp_path):
    code = 'import regard\n\nregard.Translator.load("model").translate("text", baem=3)\n'
    assert "reportCallIssue" in check_types(tmp_path, code)

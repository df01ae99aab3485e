"""X2: a model folder from a stranger loads or fails with one line, quickly and without taking the memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import SaveError

pytestmark = pytest.mark.fault
ROOT = Path(__file__).parent.parent.parent
EXTRA_MEGABYTES = 200.0


def load_mutants(folder, first, count):
    """Return how the command ended for each mutant; one process, forked for each, loads them all."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "faults.hostile.load_mutants", folder, first, count]
    process = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return [json.loads(line) for line in process.stdout.splitlines()]


def is_within_promise(mutant):
    """Return whether a command ended as promised: no signal, little memory, at most one error line."""
    lines = mutant["stderr"].splitlines()
    if mutant["signal"] or mutant["megabytes"] > 2 * mutant["files"] + EXTRA_MEGABYTES:
        return False
    if "Traceback" in mutant["stderr"] or "regard: unexpected" in mutant["stderr"]:
        return False
    if mutant["code"] in (1, SaveError.exit_code):
        return len(lines) == 1 and lines[0].startswith("regard: ") and len(lines[0]) < 2100
    return mutant["code"] in (0, 4)  # 4: lines that could not be translated


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(("first", "count"), [(0, 200), pytest.param(200, 2000, marks=pytest.mark.slow)])
def test_mutated_models_load_or_fail_with_one_line(tmp_path, first, count):
    pytest.importorskip("ctranslate2")
    mutants = load_mutants(tmp_path, first, count)
    assert len(mutants) == count
    assert [mutant for mutant in mutants if not is_within_promise(mutant)] == []
    # The suite is of use only if the models without mutation load, and most mutations are noticed.
    kinds = {mutant["kind"] for mutant in mutants}
    assert {mutant["kind"] for mutant in mutants if mutant["code"] == 0} == kinds
    for mutant in mutants:  # size and time of the changed file are as before
        if mutant["kind"] == "conversion" and "sealed again" not in mutant["mutation"]:
            assert "it is created again" in mutant["stderr"], mutant
    refused = [mutant for mutant in mutants if mutant["kind"] != "conversion" and mutant["code"] == 1]
    assert len(refused) > 0.6 * count

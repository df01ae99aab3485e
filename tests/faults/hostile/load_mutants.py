"""Loads mutated models through the command line, each in a forked process; prints one JSON object per model.

python load_mutants.py FOLDER FIRST COUNT: mutants FIRST, FIRST + 1, ..., of all tasks and engines in turn.
"""

import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random

import ctranslate2  # noqa: F401
import torch

# What a command imports late is imported here, once.
import regard.classification.label_predictor
import regard.forecasting.forecaster
import regard.inference.ctranslate2
import regard.inference.eager
import regard.inference.incremental
import regard.training.memory
import regard.translation.line_worker
import regard.translation.translator  # noqa: F401
from faults.hostile.mutations import mutate_conversion, mutate_model
from faults.hostile.sample_models import write_sample_models
from regard.cli.main import main

CPU_SECONDS, SECONDS = 5, 60
"""Limits of one model: the machine may be busy, but computing must not take longer."""
EXTRA_ADDRESS_SPACE = 4 * 2**30
"""Far more than is allowed, but not all of the memory of the machine."""
UNEXPECTED = 99
COMMANDS = {
    "translation": ["translate", "MODEL", "--engine", "torch", "--device", "cpu", "--input", "TEXT"],
    "ctranslate2": [
        *("translate", "MODEL", "--engine", "ctranslate2", "--threads", "1"),
        *("--device", "cpu", "--input", "TEXT"),
    ],
    "classification": ["classify", "MODEL", "--device", "cpu", "--input", "TEXT"],
    "forecasting": ["forecast", "MODEL", "SERIES", "--device", "cpu"],
}
COMMANDS["conversion"] = COMMANDS["ctranslate2"]
KINDS = list(COMMANDS)
TASK = {"ctranslate2": "translation", "conversion": "translation"}


def load_mutants(place: Path, first: int, count: int) -> None:
    torch.set_num_threads(1)
    models = write_sample_models(place)
    (place / "text.txt").write_text("the cat sees the dog.\na bird.\n")
    shutil.copytree(models["translation"], place / "converted")  # gets a conversion of CTranslate2 below
    for kind in KINDS:
        unchanged = place / "converted" if kind == "conversion" else models[TASK.get(kind, kind)]
        result = run_forked(place, kind, unchanged)
        assert result["code"] == result["signal"] == 0, result
    for number in range(first, first + count):
        kind, random = KINDS[number % len(KINDS)], Random(number)
        folder = place / "mutant"
        base = place / "converted" if kind == "conversion" else models[TASK.get(kind, kind)]
        shutil.copytree(base, folder)
        mutate = mutate_conversion if kind == "conversion" else mutate_model
        done = mutate(folder, random)
        megabytes = sum(each.lstat().st_size for each in folder.rglob("*")) / 1e6
        result = run_forked(place, kind, folder)
        row = {"number": number, "kind": kind, "mutation": done, "files": megabytes, **result}
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()
        shutil.rmtree(folder)


def run_forked(place: Path, kind: str, folder: Path) -> dict[str, object]:
    """Run the command of a model in a process of its own; return how it ended, and the memory it took."""
    words = {"MODEL": str(folder), "TEXT": str(place / "text.txt"), "SERIES": str(place / "waves.csv")}
    pid = os.fork()
    if not pid:
        _run_limited(place, [words.get(word, word) for word in COMMANDS[kind]])
    start = time.monotonic()
    _, status, usage = os.wait4(pid, 0)
    peak = place / "peak"
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "code": os.WEXITSTATUS(status),
        "stderr": (place / "stderr").read_text(errors="replace")[-3000:],
        "megabytes": float(peak.read_text()) if peak.exists() else 0.0,
        "seconds": round(time.monotonic() - start, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
    }


def _run_limited(place: Path, arguments: list[str]) -> None:
    """Run a command in this process and leave it."""
    (place / "peak").unlink(missing_ok=True)
    for descriptor, path in ((0, os.devnull), (1, os.devnull), (2, place / "stderr")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), descriptor)
    before, address_space = _memory("VmHWM"), _memory("VmSize")
    limit = int((address_space + 2) * 1e6) + EXTRA_ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(SECONDS)
    code: object = 0
    try:
        main(arguments)
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = UNEXPECTED
    (place / "peak").write_text(str(_memory("VmHWM") - before))
    sys.stderr.flush()
    os._exit(int(code or 0))  # pyright: ignore[reportArgumentType]


def _memory(name: str) -> float:
    """Return a figure of /proc/self/status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


if __name__ == "__main__":
    load_mutants(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

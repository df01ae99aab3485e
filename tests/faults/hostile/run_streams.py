"""Runs commands with closed, full and broken streams, each in a forked process; prints one JSON object each.

python -m faults.hostile.run_streams FOLDER
"""

import json
import os
import sys
from pathlib import Path

import torch

# What a command imports late is imported here, once.
import regard.classification.label_predictor
import regard.classification.tracing
import regard.forecasting.backtest
import regard.forecasting.forecaster
import regard.inference.eager
import regard.inference.incremental
import regard.metrics.compare
import regard.metrics.translation
import regard.translation.line_worker
import regard.translation.translator  # noqa: F401
from faults.hostile.sample_models import write_sample_models
from regard.cli.main import main

COMMANDS = {
    "translate": "translate translator --engine torch --device cpu --input text.txt",
    "classify": "classify classifier --device cpu --input text.txt",
    "forecast": "forecast forecaster waves.csv --device cpu",
    "score": "score --hypotheses text.txt --reference text.txt",
    "score labels": "score classifier --device cpu --labelled labels.tsv",
    "score series": "score forecaster --device cpu --series waves.csv",
    "check": "check --labelled labels.tsv",
    "check series": "check --series waves.csv",
    "look": "look classifier the --device cpu",
    "trace": "trace classifier the --device cpu -o -",
    "version": "--version",
    "help": "translate --help",
}
STREAMS = ("stdout full", "stdout closed", "stdout broken", "stderr closed", "stdin closed", "all closed")


def run_all(place: Path) -> None:
    torch.set_num_threads(1)
    write_sample_models(place)
    (place / "text.txt").write_text("the cat sees the dog.\na bird.\n")
    (place / "labels.tsv").write_text("animal\tthe cat\ncolour\ta bird\n" * 20)
    os.chdir(place)
    for name, command in COMMANDS.items():
        for streams in STREAMS:
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                redirect(streams)
                main(command.split())
                return
            status = os.waitpid(pid, 0)[1]
            row = {
                "command": name,
                "streams": streams,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
                "code": os.WEXITSTATUS(status),
                "stderr": Path("stderr").read_text(),
            }
            sys.stdout.write(json.dumps(row) + "\n")


def redirect(streams: str) -> None:
    """Redirect the streams of this process, as Python has them when it starts with them redirected."""
    replace(1, os.open(os.devnull, os.O_WRONLY))
    replace(2, os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    match streams:
        case "stdout full":
            replace(1, os.open("/dev/full", os.O_WRONLY))
        case "stdout broken":
            reader, writer = os.pipe()
            os.close(reader)
            replace(1, writer)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if streams in (f"{name} closed", "all closed"):
            os.close(descriptor)
            setattr(sys, name, None)
        elif name != "stdin":
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def replace(descriptor: int, other: int) -> None:
    os.dup2(other, descriptor)
    os.close(other)


if __name__ == "__main__":
    run_all(Path(sys.argv[1]))

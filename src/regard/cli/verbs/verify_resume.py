"""`regard verify-resume`: prove that a killed and resumed training equals an uninterrupted one."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.api.run_settings import resolve_settings
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.train_args import add_train_arguments, read_training_request
from regard.errors import RegardError
from regard.training.logs.metrics_file import METRICS_FILE, read_losses

if TYPE_CHECKING:
    from regard.training.setup import RunConfig

KILL_ATTEMPTS = 5

DESCRIPTION = """\
Trains the first steps of your own run twice, in temporary folders: once
without a break, and once killed (SIGKILL) half way and resumed. Compares the
loss of every step and the SHA-256 of weights and optimizer state after the
last step. Exits with 1 if anything differs.
"""

EPILOG = """\
example
  regard verify-resume --source train.en --target train.fr --preset tiny
"""


def add_verify_resume_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "verify-resume",
        help="prove that a killed and resumed training equals an uninterrupted one",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_train_arguments(parser)
    parser.add_argument(
        "--steps",
        dest="compared_steps",
        metavar="N",
        type=NumberArgument(int, 6, 10**6),
        default=30,
        help="steps to train, %(type)s (default: 30)",
    )
    parser.set_defaults(run=run_verify_resume)


def run_verify_resume(options: argparse.Namespace) -> None:
    from rich.console import Console

    from regard.config import to_toml

    run = shorten_run(
        resolve_settings(read_training_request(options), Console(highlight=False, markup=False)),
        options.compared_steps,
    )
    with tempfile.TemporaryDirectory(prefix="regard-verify-") as place:
        config = Path(place) / "run.toml"
        config.write_text(to_toml(run), encoding="utf-8")
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        sys.stdout.write(f"  training {options.compared_steps} steps\n")
        _wait_for_success(_start_training(config, whole))
        sys.stdout.write("  training them again\n")
        step = _train_and_kill(config, killed, options.compared_steps // 2)
        sys.stdout.write(f"  killed after step {step}; resuming\n")
        _wait_for_success(_start_training(config, killed))
        sys.stdout.write(_compare_runs(whole, killed, options.compared_steps))


def shorten_run(run: "RunConfig", steps: int) -> "RunConfig":
    """Return the run ended early, saved often and logged at each step; nothing that affects a step changes.

    The memory limit is off, since free memory may differ from one start to the next.
    """
    from regard.training.setup import replace_sections
    from regard.translation.run import TranslationRun

    train = replace(
        run.train,
        steps=steps,
        minutes=None,
        epochs=None,
        planned=(),
        save_every=max(2, steps // 5),
        log_every=1,
        patience=None,
    )
    if isinstance(run, TranslationRun):  # validations are not compared
        run = replace(run, data=replace(run.data, bleu_pairs=1))
    return replace_sections(
        run, train=replace(train, judge="loss"), compute=replace(run.compute, memory="any")
    )


def _start_training(config: Path, out: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "regard", "train", "--config", str(config), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _wait_for_success(process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate()
    if process.returncode:
        raise RegardError(errors.decode("utf-8", "replace").strip().removeprefix("regard: "))


def _train_and_kill(config: Path, out: Path, after: int) -> int:
    """Train and kill the process once that many steps are recorded; return the step it had reached.

    On a busy machine a short training may end before it is killed: it is started again.
    """
    metrics = out / METRICS_FILE
    for _ in range(KILL_ATTEMPTS):
        shutil.rmtree(out, ignore_errors=True)
        process = _start_training(config, out)
        while process.poll() is None and not metrics.exists():
            time.sleep(0.001)
        while process.poll() is None and len(read_losses(metrics)) < after:
            time.sleep(0.001)
        process.kill()
        _, errors = process.communicate()
        if process.returncode < 0:
            return max(read_losses(metrics))
        if process.returncode:
            raise RegardError(errors.decode("utf-8", "replace").strip().removeprefix("regard: "))
    raise RegardError("the training ended before it could be killed; give a larger --steps")


def _compare_runs(whole: Path, killed: Path, steps: int) -> str:
    """Return the comparison as text; raise RegardError if anything differs."""
    from regard.checkpoint import WEIGHTS_FILE, file_sha256
    from regard.training.state import OPTIMIZER_FILE

    first, second = (read_losses(run / METRICS_FILE) for run in (whole, killed))
    equal = [step for step in first if step in second and first[step] == second[step]]
    text = f"  losses     {len(equal)} of {steps} equal\n"
    same = len(equal) == len(first) == len(second) == steps
    for name, what in ((WEIGHTS_FILE, "weights"), (OPTIMIZER_FILE, "optimizer")):
        a, b = (file_sha256(run / f"step-{steps:06}" / name) for run in (whole, killed))
        same = same and a == b
        text += f"  {what:<10} SHA-256 {a[:16]} and {b[:16]}: {'equal' if a == b else 'different'}\n"
    if not same:
        sys.stdout.write(text)
        raise RegardError(
            "the killed and resumed run differs from the uninterrupted one; if two uninterrupted runs differ "
            "as well, the device does not compute deterministically"
        )
    return text + "  the killed and resumed run equals the uninterrupted one, bit for bit\n"

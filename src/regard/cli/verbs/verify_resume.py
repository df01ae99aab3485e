"""`regard verify-resume`: prove that a killed and resumed training equals an uninterrupted one."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.api.run_settings import resolve_settings
from regard.cli.args.common_args import add_json_argument
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.train_args import add_train_arguments, read_training_request
from regard.cli.output import print_json
from regard.cli.verbosity import progress_console
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
    add_json_argument(parser, "print the comparison as one JSON object, the progress on stderr")
    parser.set_defaults(run=run_verify_resume)


def run_verify_resume(options: argparse.Namespace) -> None:
    from regard.config import to_toml

    console = progress_console(options)
    run = shorten_run(resolve_settings(read_training_request(options), console), options.compared_steps)
    with tempfile.TemporaryDirectory(prefix="regard-verify-") as place:
        config = Path(place) / "run.toml"
        config.write_text(to_toml(run), encoding="utf-8")
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        console.print(f"  training {options.compared_steps} steps")
        _wait_for_success(_start_training(config, whole))
        console.print("  training them again")
        step = _train_and_kill(config, killed, options.compared_steps // 2)
        console.print(f"  killed after step {step}; resuming")
        _wait_for_success(_start_training(config, killed))
        comparison = compare_runs(whole, killed, options.compared_steps)
    if options.json:
        print_json({**comparison, "killed_after": step})
    else:
        console.print(_as_text(comparison))
    if not comparison["equal"]:
        raise RegardError(
            "the killed and resumed run differs from the uninterrupted one; if two uninterrupted runs differ "
            "as well, the device does not compute deterministically"
        )


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


def compare_runs(whole: Path, killed: Path, steps: int) -> dict[str, Any]:
    """Return which losses and files of two runs are equal, as a document."""
    from regard.checkpoint import WEIGHTS_FILE, file_sha256
    from regard.training.state import OPTIMIZER_FILE

    first, second = (read_losses(run / METRICS_FILE) for run in (whole, killed))
    equal = [step for step in first if step in second and first[step] == second[step]]
    files = {
        what: [file_sha256(run / f"step-{steps:06}" / name) for run in (whole, killed)]
        for name, what in ((WEIGHTS_FILE, "weights"), (OPTIMIZER_FILE, "optimizer"))
    }
    same = len(equal) == len(first) == len(second) == steps and all(a == b for a, b in files.values())
    return {"steps": steps, "equal_losses": len(equal), "sha256": files, "equal": same}


def _as_text(comparison: dict[str, Any]) -> str:
    lines = [f"  losses     {comparison['equal_losses']} of {comparison['steps']} equal"]
    for what, (a, b) in comparison["sha256"].items():
        lines.append(f"  {what:<10} SHA-256 {a[:16]} and {b[:16]}: {'equal' if a == b else 'different'}")
    if comparison["equal"]:
        lines.append("  the killed and resumed run equals the uninterrupted one, bit for bit")
    return "\n".join(lines)

"""`regard verify-resume`: is a run that was killed and gone on with the same, bit for bit?"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.train_args import add_train_arguments, resolve_settings
from regard.errors import RegardError, require_setting

if TYPE_CHECKING:
    from regard.train.setup import RunConfig

METRICS = "metrics.jsonl"

DESCRIPTION = """\
Trains the first steps of your own run twice, in temporary folders: once whole, and once killed
(SIGKILL) in the middle and gone on with. Compares the loss of every step and the SHA-256 of
weights and optimizer after the last. Exits with 1 if anything differs.
"""

EPILOG = """\
example
  regard verify-resume --source train.en --target train.fr --preset tiny
"""


def add_verify_resume_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "verify-resume",
        help="prove that a killed training goes on as if it had not been",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_train_arguments(parser)
    parser.add_argument("--steps", metavar="N", type=int, default=30, help="steps to train (default: 30)")
    parser.set_defaults(run=run_verify_resume)


def run_verify_resume(options: argparse.Namespace) -> None:
    from rich.console import Console

    from regard.config import to_toml

    require_setting(options.steps >= 6, "--steps", options.steps, "it must be at least 6")
    run = shorten_run(resolve_settings(options, Console(highlight=False, markup=False)), options.steps)
    with tempfile.TemporaryDirectory(prefix="regard-verify-") as place:
        config = Path(place) / "run.toml"
        config.write_text(to_toml(run), encoding="utf-8")
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        sys.stdout.write(f"  training {options.steps} steps\n")
        _wait_for_success(_start_training(config, whole))
        sys.stdout.write("  training them again\n")
        at = _kill_after(_start_training(config, killed), killed, options.steps // 2)
        sys.stdout.write(f"  killed after step {at}; going on\n")
        _wait_for_success(_start_training(config, killed))
        sys.stdout.write(_compare_runs(whole, killed, options.steps))


def shorten_run(run: "RunConfig", steps: int) -> "RunConfig":
    """The run, ended early, saved often and every loss written; nothing that a step depends on is changed.

    Free memory, which may differ from one start to the next, is not asked for.
    """
    from regard.train.setup import replace_sections
    from regard.translation.run import TranslationRun

    train = replace(
        run.train, steps=steps, save_every=max(2, steps // 5), log_every=1, minutes=None, patience=None
    )
    if isinstance(run, TranslationRun):  # validations are not what is looked at
        run = replace(run, data=replace(run.data, bleu_pairs=1))
    return replace_sections(
        run, train=replace(train, judge="loss"), compute=replace(run.compute, memory="any")
    )


def read_losses(run: Path) -> dict[int, str]:
    """The loss of each step as exact text, by step."""
    *lines, _ = (run / METRICS).read_text(encoding="utf-8").split("\n")  # a kill may cut the last
    facts = [json.loads(line) for line in lines]
    return {line["step"]: json.dumps(line["loss"]) for line in facts if line["kind"] == "train"}


def _start_training(config: Path, out: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "regard", "train", "--config", str(config), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _wait_for_success(process: "subprocess.Popen[bytes]") -> None:
    _, said = process.communicate()
    if process.returncode:
        raise RegardError(said.decode("utf-8", "replace").strip().removeprefix("regard: "))


def _kill_after(process: "subprocess.Popen[bytes]", out: Path, after: int) -> int:
    """Kills it once that step is recorded; the step it had reached."""
    while process.poll() is None and not (out / METRICS).exists():
        time.sleep(0.001)
    while process.poll() is None and len(read_losses(out)) < after:
        time.sleep(0.001)
    process.kill()
    process.communicate()
    if process.returncode >= 0:
        raise RegardError("the run was over before it could be killed; give a larger --steps")
    return max(read_losses(out))


def _compare_runs(whole: Path, killed: Path, steps: int) -> str:
    """What was compared, for a person; refused if anything differs."""
    from regard.checkpoint import WEIGHTS_FILE, file_sha256
    from regard.train.state import OPTIMIZER_FILE

    first, second = read_losses(whole), read_losses(killed)
    equal = [step for step in first if first[step] == second.get(step)]
    said = f"  losses     {len(equal)} of {steps} equal\n"
    same = len(equal) == len(first) == len(second) == steps
    for name, what in ((WEIGHTS_FILE, "weights"), (OPTIMIZER_FILE, "optimizer")):
        a, b = (file_sha256(run / f"step-{steps:06}" / name) for run in (whole, killed))
        same = same and a == b
        said += f"  {what:<10} SHA-256 {a[:16]} and {b[:16]}: {'equal' if a == b else 'different'}\n"
    if not same:
        sys.stdout.write(said)
        raise RegardError(
            "a run that was killed and gone on with is not the same; if two whole runs differ as well, "
            "it is the device that computes differently each time"
        )
    return said + "  the run that was killed and gone on with is the same, bit for bit\n"

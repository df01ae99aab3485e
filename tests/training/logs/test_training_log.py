import io
import json
import math
import re
import sys
import types
from dataclasses import replace

import pytest
from rich.console import Console

from regard.errors import ConfigError
from regard.text.corpus_files import FileLines
from regard.training.logs.console import fit_status_line, format_header, sparkline
from regard.training.logs.training_log import LogInterval, TrainingLog
from regard.training.task import ValidationResult, ValidationSample

CURSOR = re.compile(r"\x1b\[(?:\?25|\d*[ABCDJK])|\r")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch):
    for name in ("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def make_terminal(width=100, **options):
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, markup=False, highlight=False, **options
    )


def plain_console():
    return Console(file=io.StringIO(), width=100, markup=False, highlight=False)


def make_interval(step, **changes):
    defaults = {
        "epoch": 0,
        "loss": 2.31,
        "learning_rate": 7e-4,
        "grad_norm": 1.0,
        "source_tokens": 4000,
        "target_tokens": 5640,
    }
    return LogInterval(
        step, **{**defaults, "pad_fraction": 0.06, "seconds": 0.2, "memory_mb": 512.0, **changes}
    )


def make_validation(loss=2.0, hypothesis="le chat", **metrics):
    samples = [
        ValidationSample("the cat", "le chat", hypothesis),
        ValidationSample("a dog", "un chien", "un"),
    ]
    metrics = {"loss": loss, "perplexity": math.exp(loss), "bleu": 31.4, "chrf": 52.0, **metrics}
    return ValidationResult(metrics, {"bleu_signature": "tok:13a"}, samples)


def read_rows(path):
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()]


def test_the_live_line_shows_step_loss_speed_and_eta(tmp_path):
    console, clock = make_terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 100_000, resumed_step=12_380, clock=clock) as log:
        clock.now = 0.2
        log.log_interval(make_interval(12_400))
    output = console.file.getvalue()
    assert "step 12,400/100,000  loss 2.31  ppl 10.1  lr 7.0e-4  48.2k tok/s  pad 6%  ETA 14:36  ▁" in output
    assert CURSOR.search(output)


def test_a_loss_of_nan_is_shown_and_recorded_as_null(tmp_path):
    console, clock = make_terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 100, clock=clock) as log:
        clock.now = 1
        log.log_interval(make_interval(1, loss=math.nan, grad_norm=math.inf, skipped_steps=1))
    assert "loss nan  ppl nan" in console.file.getvalue()
    (row,) = read_rows(tmp_path / "m")
    assert (row["loss"], row["ppl"], row["grad_norm"], row["skipped"]) == (None, None, None, 1)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_the_live_line_fits_every_width(width):
    parts = {
        "step": "step 1/2",
        "loss": "loss 2",
        "ppl": "ppl 9",
        "lr": "lr 1",
        "speed": "9k",
        "eta": "ETA 3",
    }
    output = fit_status_line({**parts, "pad": "pad 6%"}, [1.0] * 50, width)
    assert len(output) <= max(width, len("step 1/2  loss 2  ETA 3"))
    assert "loss 2" in output
    assert "ETA 3" in output


def test_a_sparkline_is_scaled_from_the_lowest_to_the_highest_value():
    assert sparkline([8.0, 4.5, 1.0]) == "█▅▁"
    assert sparkline([2.0, math.nan, 2.0]) == "▁ ▁"
    assert sparkline([]) == ""


def test_the_eta_includes_the_time_of_validations(tmp_path):
    """Steps of one second with nine seconds of validation between them."""
    console, clock = make_terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 100, clock=clock) as log:
        for step in (1, 2):
            clock.now += 10 if step > 1 else 1
            log.log_interval(make_interval(step, seconds=1.0))
    assert "step 2/100" in console.file.getvalue()
    assert f"ETA {98 * (1 + 9 / 2) // 60:.0f}:" in console.file.getvalue()


def test_the_eta_is_limited_by_train_minutes(tmp_path):
    console, clock = make_terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 10**6, minutes=2.0, seconds_before=30.0, clock=clock) as log:
        clock.now = 10
        log.log_interval(make_interval(1, seconds=10.0))
        assert log.elapsed_seconds == 40
    assert "ETA 1:20" in console.file.getvalue()


def test_without_a_terminal_a_status_line_is_printed_every_30_seconds(tmp_path):
    console, clock = plain_console(), Clock()
    with TrainingLog(tmp_path / "m", console, 1000, clock=clock) as log:
        for step in range(1, 101):
            clock.now = float(step)
            log.log_interval(make_interval(step))
        log.log_validation(100, make_validation())
    output = console.file.getvalue()
    assert [line.split()[1] for line in output.splitlines() if "tok/s" in line] == [
        "30/1,000",
        "60/1,000",
        "90/1,000",
    ]
    assert "\x1b" not in output
    assert not CURSOR.search(output)


def test_in_ci_there_is_no_live_line(tmp_path, monkeypatch):
    monkeypatch.setenv("CI", "true")
    console, clock = make_terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 1000, clock=clock) as log:
        clock.now = 31
        log.log_interval(make_interval(1))
        log.log_interval(make_interval(2))
    assert console.file.getvalue().count("tok/s") == 1
    assert not CURSOR.search(console.file.getvalue())


def test_no_color_drops_colours_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console, clock = make_terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 1000, clock=clock) as log:
        clock.now = 1
        log.log_interval(make_interval(1))
        log.log_validation(1, make_validation(hypothesis="le chien"), best=True)
        log.log_validation(2, make_validation(hypothesis="le chat"))
    output = console.file.getvalue()
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", output)
    assert CURSOR.search(output)


def test_a_validation_prints_a_row_of_metrics_and_a_sample(tmp_path):
    console = plain_console()
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_validation(500, make_validation(2.5))
        log.log_validation(1000, make_validation(2.25), best=True)
    assert console.file.getvalue().splitlines() == [
        "       step     time     loss      ppl     BLEU     chrF",
        "        500     0:00    2.500    12.18    31.40    52.00",
        "        source      the cat",
        "        reference   le chat",
        "        hypothesis  le chat",
        "      1,000     0:00    2.250     9.49    31.40    52.00  best",
        "        source      the cat",
        "        reference   le chat",
        "        hypothesis  le chat",
    ]


def test_words_of_a_hypothesis_that_changed_are_coloured(tmp_path):
    console = make_terminal()
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_validation(1, make_validation(hypothesis="le chien dort"))
        assert "\x1b[32m" not in console.file.getvalue()
        log.log_validation(2, make_validation(hypothesis="le chat dort"))
    assert "le \x1b[32mchat\x1b[0m dort" in console.file.getvalue()


def test_a_hypothesis_is_stripped_of_control_characters_and_truncated(tmp_path):
    console = plain_console()
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_validation(1, make_validation(hypothesis="a\x1b[2J\n" + "猫" * 400))
    output = console.file.getvalue()
    assert "\x1b" not in output
    assert all(console.measure(line).maximum <= 100 for line in output.splitlines())
    assert output.splitlines()[-1].endswith("…")


def test_rows_of_metrics_have_the_documented_keys(tmp_path):
    clock = Clock()
    with TrainingLog(tmp_path / "m", plain_console(), 1000, clock=clock) as log:
        log.log_run_metadata({"loss_floor": 1.2})
        clock.now = 2.5
        log.log_interval(make_interval(20, skipped_steps=1))
        log.log_validation(20, make_validation(math.nan), best=True)
    run, train, valid = read_rows(tmp_path / "m")
    assert run == {"kind": "run", "loss_floor": 1.2}
    assert train == {
        "kind": "train",
        "step": 20,
        "epoch": 0,
        "time_s": 2.5,
        "loss": 2.31,
        "ppl": 10.0744,
        "lr": 7e-4,
        "grad_norm": 1.0,
        "source_tokens": 4000,
        "target_tokens": 5640,
        "tokens_per_s": 48200.0,
        "pad_fraction": 0.06,
        "memory_mb": 512.0,
        "skipped": 1,
    }
    assert valid == {
        "kind": "valid",
        "step": 20,
        "time_s": 2.5,
        "loss": None,
        "nll": None,
        "ppl": None,
        "bleu": 31.4,
        "chrf": 52.0,
        "signature": "tok:13a",
        "best": True,
        "samples": [
            {"source": "the cat", "reference": "le chat", "hypothesis": "le chat"},
            {"source": "a dog", "reference": "un chien", "hypothesis": "un"},
        ],
    }


def test_a_skipped_step_is_printed_with_some_lines_and_recorded_with_all(tmp_path):
    console = plain_console()
    some, others = FileLines(("a.en", "a.fr"), tuple(range(7, 40))), FileLines(("b.tsv",), (3,))
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_skipped_step(1_234, [some, others])
    shown = ", ".join(map(str, range(7, 27)))
    assert console.file.getvalue() == (
        "  step 1,234 skipped: the loss or its gradient is not finite "
        f"(a.en and a.fr lines {shown} and 13 more; b.tsv line 3)\n"
    )
    assert read_rows(tmp_path / "m") == [
        {"kind": "skip", "step": 1234, "files": ["a.en", "a.fr"], "lines": list(range(7, 40))},
        {"kind": "skip", "step": 1234, "files": ["b.tsv"], "lines": [3]},
    ]


def test_a_resumed_log_continues_step_and_time(tmp_path):
    clock = Clock()
    with TrainingLog(tmp_path / "m", plain_console(), 1000, clock=clock) as log:
        for step in (10, 20, 30):
            log.log_interval(make_interval(step))
    with TrainingLog(
        tmp_path / "m", plain_console(), 1000, resumed_step=20, seconds_before=7.0, clock=clock
    ) as log:
        assert log.step == 20
        clock.now = 1.0
        log.log_interval(make_interval(25))
    assert [(row["step"], row["time_s"]) for row in read_rows(tmp_path / "m")] == [
        (10, 0),
        (20, 0),
        (25, 8.0),
    ]


class BrokenPipe(io.StringIO):
    def write(self, _):
        raise BrokenPipeError


@pytest.mark.parametrize("force_terminal", [True, False])
def test_a_broken_pipe_does_not_end_a_training(tmp_path, force_terminal):
    clock = Clock()
    with TrainingLog(
        tmp_path / "m", Console(file=BrokenPipe(), force_terminal=force_terminal), 10, clock=clock
    ) as log:
        clock.now = 31
        log.log_interval(make_interval(1))
        log.log_validation(1, make_validation())
        log.log_message("something")
    assert len(read_rows(tmp_path / "m")) == 2


def test_the_header_is_aligned():
    assert list(format_header([("model", "2+2 layers"), ("", "more"), ("device", "cpu")])) == [
        "model   2+2 layers",
        "        more",
        "device  cpu",
    ]


class Writer:
    """Replaces the SummaryWriter of TensorBoard."""

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.scalars, self.closed, self.full = (
            folder,
            purge_step,
            [],
            False,
            False,
        )
        Writer.last = self

    def add_scalar(self, *scalar):
        if self.full:
            raise OSError("No space left on device")
        self.scalars.append(scalar)

    def close(self):
        self.closed = True


@pytest.fixture
def tensorboard(monkeypatch):
    module = types.ModuleType("torch.utils.tensorboard.writer")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.ModuleType("torch.utils.tensorboard"))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", module)


@pytest.mark.usefixtures("tensorboard")
def test_tensorboard_gets_the_same_scalars(tmp_path):
    with TrainingLog(
        tmp_path / "m", plain_console(), 1000, resumed_step=10, tensorboard=True, clock=Clock()
    ) as log:
        log.log_run_metadata({"steps": 1000})
        log.log_interval(make_interval(20))
        log.log_validation(20, make_validation())
    assert Writer.last.folder == str(tmp_path / "tensorboard")
    assert Writer.last.purge_step == 11
    assert ("train/loss", 2.31, 20) in Writer.last.scalars
    assert ("valid/bleu", 31.4, 20) in Writer.last.scalars
    assert Writer.last.closed


@pytest.mark.usefixtures("tensorboard")
def test_a_failing_tensorboard_writer_is_reported_once(tmp_path):
    console = plain_console()
    with TrainingLog(tmp_path / "m", console, 1000, tensorboard=True, clock=Clock()) as log:
        Writer.last.full = True
        log.log_interval(make_interval(1))
        log.log_interval(make_interval(2))
    assert console.file.getvalue().count("TensorBoard's files cannot be written") == 1
    assert len(read_rows(tmp_path / "m")) == 2


def test_a_missing_tensorboard_package_is_an_error_before_training(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(ConfigError, match=r"pip install .regard\[tensorboard\]"):
        TrainingLog(tmp_path / "m", plain_console(), 10, tensorboard=True)


def test_averaged_checkpoints_are_recorded_with_a_kind_of_their_own(tmp_path):
    console = make_terminal()
    with TrainingLog(tmp_path / "m", console, 100) as log:
        log.log_averaged_checkpoints(
            100, 5, "bleu", replace(make_validation(), chart_data={"bleu_by_length": {"bins": [1, 9]}})
        )
    (row,) = read_rows(tmp_path / "m")
    assert (row["kind"], row["step"], row["checkpoints"]) == ("mean", 100, 5)
    assert (row["bleu"], row["signature"], row["bleu_by_length"]) == (31.4, "tok:13a", {"bins": [1, 9]})
    assert "best" not in row  # the explorer would take it for a checkpoint
    assert "mean of the last 5 checkpoints: bleu 31.4000" in console.file.getvalue()

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
from regard.train.logs.console import fit_status_line, format_header, sparkline
from regard.train.logs.training_log import LogInterval, TrainingLog
from regard.train.task import FileLines, ValidationResult, ValidationSample

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


def terminal(width=100, **options):
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, markup=False, highlight=False, **options
    )


def plain():
    return Console(file=io.StringIO(), width=100, markup=False, highlight=False)


def stretch(step, **facts):
    usual = {
        "epoch": 0,
        "loss": 2.31,
        "learning_rate": 7e-4,
        "grad_norm": 1.0,
        "source_tokens": 4000,
        "target_tokens": 5640,
    }
    return LogInterval(step, **{**usual, "pad_fraction": 0.06, "seconds": 0.2, "memory_mb": 512.0, **facts})


def validation(loss=2.0, hypothesis="le chat", **metrics):
    samples = [
        ValidationSample("the cat", "le chat", hypothesis),
        ValidationSample("a dog", "un chien", "un"),
    ]
    metrics = {"loss": loss, "perplexity": math.exp(loss), "bleu": 31.4, "chrf": 52.0, **metrics}
    return ValidationResult(metrics, {"bleu_signature": "tok:13a"}, samples)


def lines(path):
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()]


def test_the_live_line_says_where_the_training_stands(tmp_path):
    console, clock = terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 100_000, resumed_step=12_380, clock=clock) as log:
        clock.now = 0.2
        log.log_interval(stretch(12_400))
    said = console.file.getvalue()
    assert "step 12,400/100,000  loss 2.31  ppl 10.1  lr 7.0e-4  48.2k tok/s  pad 6%  ETA 14:36  ▁" in said
    assert CURSOR.search(said)


def test_a_training_that_is_no_number_still_has_a_line(tmp_path):
    console, clock = terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 100, clock=clock) as log:
        clock.now = 1
        log.log_interval(stretch(1, loss=math.nan, norm=math.inf, skipped=1))
    assert "loss nan  ppl nan" in console.file.getvalue()
    (line,) = lines(tmp_path / "m")
    assert (line["loss"], line["ppl"], line["grad_norm"], line["skipped"]) == (None, None, None, 1)


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
    said = fit_status_line({**parts, "pad": "pad 6%"}, [1.0] * 50, width)
    assert len(said) <= max(width, len("step 1/2  loss 2  ETA 3"))
    assert "loss 2" in said
    assert "ETA 3" in said


def test_a_spark_line_goes_from_the_lowest_to_the_highest():
    assert sparkline([8.0, 4.5, 1.0]) == "█▅▁"
    assert sparkline([2.0, math.nan, 2.0]) == "▁ ▁"
    assert sparkline([]) == ""


def test_validations_cost_time_that_the_eta_counts(tmp_path):
    """Ten steps of a second, ten seconds of validation after each of them: 90 steps are 180 seconds."""
    console, clock = terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 100, clock=clock) as log:
        for step in (1, 2):
            clock.now += 10 if step > 1 else 1
            log.log_interval(stretch(step, seconds=1.0))
    assert "step 2/100" in console.file.getvalue()
    assert f"ETA {98 * (1 + 9 / 2) // 60:.0f}:" in console.file.getvalue()


def test_the_eta_is_never_longer_than_the_minutes_that_are_left(tmp_path):
    console, clock = terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 10**6, minutes=2.0, seconds_before=30.0, clock=clock) as log:
        clock.now = 10
        log.log_interval(stretch(1, seconds=10.0))
        assert log.elapsed_seconds == 40
    assert "ETA 1:20" in console.file.getvalue()


def test_without_a_terminal_there_is_a_line_every_half_minute_and_no_cursor(tmp_path):
    console, clock = plain(), Clock()
    with TrainingLog(tmp_path / "m", console, 1000, clock=clock) as log:
        for step in range(1, 101):
            clock.now = float(step)
            log.log_interval(stretch(step))
        log.log_validation(100, validation())
    said = console.file.getvalue()
    assert [line.split()[1] for line in said.splitlines() if "tok/s" in line] == [
        "30/1,000",
        "60/1,000",
        "90/1,000",
    ]
    assert "\x1b" not in said
    assert not CURSOR.search(said)


def test_ci_is_no_place_for_a_live_line(tmp_path, monkeypatch):
    monkeypatch.setenv("CI", "true")
    console, clock = terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 1000, clock=clock) as log:
        clock.now = 31
        log.log_interval(stretch(1))
        log.log_interval(stretch(2))
    assert console.file.getvalue().count("tok/s") == 1
    assert not CURSOR.search(console.file.getvalue())


def test_no_color_drops_colour_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console, clock = terminal(), Clock()
    with TrainingLog(tmp_path / "m", console, 1000, clock=clock) as log:
        clock.now = 1
        log.log_interval(stretch(1))
        log.log_validation(1, validation(hypothesis="le chien"), best=True)
        log.log_validation(2, validation(hypothesis="le chat"))
    said = console.file.getvalue()
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", said)
    assert CURSOR.search(said)


def test_a_validation_is_a_row_that_stays_with_its_sample(tmp_path):
    console = plain()
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_validation(500, validation(2.5))
        log.log_validation(1000, validation(2.25), best=True)
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


def test_the_words_that_changed_are_marked_in_colour(tmp_path):
    console = terminal()
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_validation(1, validation(hypothesis="le chien dort"))
        assert "\x1b[32m" not in console.file.getvalue()
        log.log_validation(2, validation(hypothesis="le chat dort"))
    assert "le \x1b[32mchat\x1b[0m dort" in console.file.getvalue()


def test_a_hypothesis_cannot_move_the_cursor_nor_fill_the_screen(tmp_path):
    console = plain()
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_validation(1, validation(hypothesis="a\x1b[2J\n" + "猫" * 400))
    said = console.file.getvalue()
    assert "\x1b" not in said
    assert all(console.measure(line).maximum <= 100 for line in said.splitlines())
    assert said.splitlines()[-1].endswith("…")


def test_metrics_have_the_agreed_names(tmp_path):
    clock = Clock()
    with TrainingLog(tmp_path / "m", plain(), 1000, clock=clock) as log:
        log.log_run_metadata({"loss_floor": 1.2})
        clock.now = 2.5
        log.log_interval(stretch(20, skipped=1))
        log.log_validation(20, validation(math.nan), best=True)
    run, train, valid = lines(tmp_path / "m")
    assert run == {"kind": "run", "loss_floor": 1.2}
    assert train == {
        "kind": "train",
        "step": 20,
        "epoch": 0,
        "time_s": 2.5,
        "loss": 2.31,
        "nll": None,
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


def test_a_skipped_step_is_said_with_some_of_its_lines_and_recorded_with_all(tmp_path):
    console = plain()
    some, others = FileLines(("a.en", "a.fr"), tuple(range(7, 40))), FileLines(("b.tsv",), (3,))
    with TrainingLog(tmp_path / "m", console, 1000, clock=Clock()) as log:
        log.log_skipped_step(1_234, [some, others])
    shown = ", ".join(map(str, range(7, 27)))
    assert console.file.getvalue() == (
        "  step 1,234 skipped: the loss or its gradient is not finite "
        f"(a.en and a.fr lines {shown} and 13 more; b.tsv line 3)\n"
    )
    assert lines(tmp_path / "m") == [
        {"kind": "skip", "step": 1234, "files": ["a.en", "a.fr"], "lines": list(range(7, 40))},
        {"kind": "skip", "step": 1234, "files": ["b.tsv"], "lines": [3]},
    ]


def test_a_resumed_log_goes_on_where_it_was(tmp_path):
    clock = Clock()
    with TrainingLog(tmp_path / "m", plain(), 1000, clock=clock) as log:
        for step in (10, 20, 30):
            log.log_interval(stretch(step))
    with TrainingLog(tmp_path / "m", plain(), 1000, resumed_step=20, seconds_before=7.0, clock=clock) as log:
        assert log.step == 20
        clock.now = 1.0
        log.log_interval(stretch(25))
    assert [(line["step"], line["time_s"]) for line in lines(tmp_path / "m")] == [(10, 0), (20, 0), (25, 8.0)]


class Gone(io.StringIO):
    def write(self, _):
        raise BrokenPipeError


@pytest.mark.parametrize("force_terminal", [True, False])
def test_a_screen_that_is_gone_does_not_end_a_training(tmp_path, force_terminal):
    clock = Clock()
    with TrainingLog(
        tmp_path / "m", Console(file=Gone(), force_terminal=force_terminal), 10, clock=clock
    ) as log:
        clock.now = 31
        log.log_interval(stretch(1))
        log.log_validation(1, validation())
        log.log_message("something")
    assert len(lines(tmp_path / "m")) == 2


def test_the_header_is_aligned():
    assert list(format_header([("model", "2+2 layers"), ("", "more"), ("device", "cpu")])) == [
        "model   2+2 layers",
        "        more",
        "device  cpu",
    ]


class Writer:
    """In the place of TensorBoard's."""

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
def test_tensorboard_gets_the_same_figures(tmp_path):
    with TrainingLog(tmp_path / "m", plain(), 1000, resumed_step=10, tensorboard=True, clock=Clock()) as log:
        log.log_run_metadata({"steps": 1000})
        log.log_interval(stretch(20))
        log.log_validation(20, validation())
    assert Writer.last.folder == str(tmp_path / "tensorboard")
    assert Writer.last.purge_step == 11
    assert ("train/loss", 2.31, 20) in Writer.last.scalars
    assert ("valid/bleu", 31.4, 20) in Writer.last.scalars
    assert Writer.last.closed


@pytest.mark.usefixtures("tensorboard")
def test_a_board_that_cannot_be_written_is_said_once(tmp_path):
    console = plain()
    with TrainingLog(tmp_path / "m", console, 1000, tensorboard=True, clock=Clock()) as log:
        Writer.last.full = True
        log.log_interval(stretch(1))
        log.log_interval(stretch(2))
    assert console.file.getvalue().count("TensorBoard's files cannot be written") == 1
    assert len(lines(tmp_path / "m")) == 2


def test_a_board_that_is_not_installed_is_said_before_training(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(ConfigError, match="pip install tensorboard"):
        TrainingLog(tmp_path / "m", plain(), 10, tensorboard=True)


def test_the_mean_of_checkpoints_is_recorded_apart_from_validations(tmp_path):
    console = terminal()
    with TrainingLog(tmp_path / "m", console, 100) as log:
        log.log_averaged_checkpoints(
            100, 5, "bleu", replace(validation(), chart_data={"bleu_by_length": {"bins": [1, 9]}})
        )
    (line,) = lines(tmp_path / "m")
    assert (line["kind"], line["step"], line["checkpoints"]) == ("mean", 100, 5)
    assert (line["bleu"], line["signature"], line["bleu_by_length"]) == (31.4, "tok:13a", {"bins": [1, 9]})
    assert "best" not in line  # or the slider would take it for a checkpoint
    assert "mean of the last 5 checkpoints: bleu 31.4000" in console.file.getvalue()

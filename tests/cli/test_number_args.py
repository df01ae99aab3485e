"""Every number on the command line and in the settings has a range, and outside of it one error line."""

import argparse
import contextlib
import io
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from regard.classification.run import ClassificationRun
from regard.cli.args.number_args import NumberArgument
from regard.cli.main import _build_parser, main
from regard.config import apply_settings, parse_assignments, section_traits
from regard.errors import ConfigError
from regard.forecasting.run import ForecastingRun
from regard.runtime import max_parallel
from regard.translation.engines import EngineOptions
from regard.translation.run import TranslationRun

VALUES = ("-1", "0", "1" + "0" * 20, "1" * 5000, "nan", "inf", "-inf", "1e-300", "", "x", "\u0663", "1_0")
VERBS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
NUMBER_FLAGS = [
    (verb, action.option_strings[-1], action.type)
    for verb, parser in VERBS.items()
    for action in parser._actions
    if isinstance(action.type, NumberArgument)
]
TEXT_FLAGS_WITH_NUMBERS = [
    *(("train", "--memory", value) for value in VALUES if value),
    *(("train", "--set", f"train.steps={value}") for value in VALUES),
    *(("train", "--seeds", f"1,{value}") for value in VALUES),
    *(("look", "--head", value) for value in VALUES),
    *(("look", "--mask-source", value) for value in VALUES if value),
    *(("look", "--ablate-head", f"cross:{value}:1") for value in VALUES),
    *(("look", "--skip-sublayer", f"decoder:{value}:ffn") for value in VALUES),
    *(("translate", "--device", value) for value in ("cuda:99", "cuda:-1", "mps", "")),
]
RUNS = (TranslationRun(), ClassificationRun(), ForecastingRun())
UNLIMITED = {"--horizon", "--extend-vocabulary", "--minutes", "--steps", "--epochs", "--seed"}
"""Flags of `regard train` whose limits are those of the setting."""


def numeric_settings():
    """Yield each run with the full name of each of its settings that is a number or a list of numbers."""
    for run in RUNS:
        for section in fields(run):
            for key, hint in get_type_hints(type(getattr(run, section.name))).items():
                kinds = {hint, *get_args(hint)} | {each for kind in get_args(hint) for each in get_args(kind)}
                if kinds & {int, float}:
                    yield run, f"{section.name}.{key}"


SETTINGS = list(numeric_settings())


def command(verb, *words):
    """Return a command line with values for the required arguments."""
    required = [
        *(
            action.option_strings[-1]
            for action in VERBS[verb]._actions
            if action.option_strings and action.required
        )
    ]
    positional = [
        next(iter(action.choices)) if action.choices else "missing"
        for action in VERBS[verb]._actions
        if not action.option_strings and action.nargs not in ("?", "*")
    ]
    return [verb, *positional, *(word for flag in required for word in (flag, "out.json")), *words]


def run_command(arguments):
    """Run a command; return its exit code and stderr."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stderr(stderr),
        contextlib.redirect_stdout(stdout),
        pytest.raises(SystemExit) as stop,
    ):
        main(arguments)
    return stop.value.code, stderr.getvalue()


def check_one_line(code, stderr):
    assert code in (1, 2)
    *usage, message, end = stderr.split("\n")
    assert len(usage) == (code == 2)  # the usage comes before a message about wrong arguments
    assert message.startswith("regard: ")
    assert "unexpected" not in message
    assert end == ""
    assert len(message) < 2100


def test_every_number_flag_has_a_range_that_help_can_show():
    undeclared = [
        (verb, action.dest)
        for verb, parser in VERBS.items()
        for action in parser._actions
        if action.type in (int, float)
        or (
            isinstance(action.type, NumberArgument)
            and not action.type.has_limits
            and not (verb in ("train", "verify-resume") and UNLIMITED & {*action.option_strings})
        )
    ]
    assert undeclared == []
    assert len(NUMBER_FLAGS) > 30


@pytest.mark.parametrize("value", VALUES)
def test_every_number_flag_of_every_verb_is_refused_or_read(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    for verb, flag, number in NUMBER_FLAGS:
        if verb == "demo":  # would train if the number is valid
            continue
        code, stderr = run_command(command(verb, f"{flag}={value}"))
        check_one_line(code, stderr)
        if value in ("nan", "inf", "1" + "0" * 20, "1" * 5000, "", "x") and number.has_limits:
            assert flag in stderr, stderr


@pytest.mark.parametrize("flag", ["--pairs", "--steps"])
@pytest.mark.parametrize("value", ["-1", "0", "nan", "inf", "1" + "0" * 20, ""])
def test_a_number_of_the_demo_is_refused(tmp_path, monkeypatch, flag, value):
    monkeypatch.chdir(tmp_path)
    check_one_line(*run_command(["demo", f"{flag}={value}"]))


@pytest.mark.parametrize(("verb", "flag", "value"), TEXT_FLAGS_WITH_NUMBERS)
def test_numbers_within_text_flags_are_refused_or_read(tmp_path, monkeypatch, verb, flag, value):
    monkeypatch.chdir(tmp_path)
    check_one_line(*run_command(command(verb, f"{flag}={value}")))


@pytest.mark.parametrize(("run", "name"), SETTINGS, ids=[f"{run.task}-{name}" for run, name in SETTINGS])
def test_every_number_setting_is_refused_or_read(run, name):
    for value in (*VALUES, "1e400", "[nan]", "[-1, 1e300]", "true", "1979-05-27"):
        with contextlib.suppress(ConfigError):
            apply_settings(run, parse_assignments([f"{name}={value}"]))
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        apply_settings(run, parse_assignments([f"{name}=1{'0' * 20}"]))
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        apply_settings(run, parse_assignments([f"{name}=nan"]))


def test_every_number_setting_of_a_run_has_limits():
    """All numbers but shares, which are checked as such, have a largest value."""
    shares = {
        *("dropout", "attention_dropout", "activation_dropout", "piece_dropout", "bpe_dropout", "quantiles"),
        *("beta1", "beta2", "label_smoothing", "pinball", "ema"),
    }
    unlimited = set()
    for run, name in SETTINGS:
        section, _, key = name.partition(".")
        if section_traits(getattr(run, section))[key].at_most is None:
            unlimited.add(key)
    assert unlimited <= shares


def test_the_largest_number_of_threads_depends_on_the_machine():
    EngineOptions(threads=max_parallel())
    with pytest.raises(
        ConfigError, match=f"threads = 100000 cannot work; it must be at most {max_parallel()}"
    ):
        EngineOptions(threads=100_000)

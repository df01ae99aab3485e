"""Arguments of every verb: repeated, abbreviated and unknown flags."""

import argparse
from pathlib import Path

import pytest

from regard.cli.args.command_parser import StoreOnce
from regard.cli.main import _build_parser, main

VERBS = next(
    action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
VALUE_FLAGS = [
    (
        verb,
        action.option_strings[-1],
        {"--metrics": "bleu"}.get(action.option_strings[-1], (action.choices or ["1"])[0]),
    )
    for verb, parser in VERBS.items()
    for action in parser._actions
    if action.option_strings and isinstance(action, StoreOnce)
]
REPEATABLE = {
    ("score", "--reference"),
    ("translate", "--require"),
    ("train", "--source"),
    ("train", "--columns"),
}


def wrong_arguments(capsys, *arguments) -> str:
    """Run a command with wrong arguments; return its message, which follows the usage on stderr."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    usage, message, end = capsys.readouterr().err.split("\n")
    assert usage.startswith("usage: regard ")
    assert message.startswith("regard: ")
    assert end == ""
    return message


@pytest.mark.parametrize(("verb", "flag", "value"), VALUE_FLAGS)
def test_a_value_flag_given_twice_is_rejected(capsys, verb, flag, value):
    message = wrong_arguments(capsys, verb, "x", flag, value, f"{flag}={value}")
    assert f"{flag} is given twice; give it once (see `regard {verb} --help`)" in message


def test_every_verb_has_value_flags_and_some_are_repeatable():
    assert {verb for verb, _, _ in VALUE_FLAGS} == set(VERBS) - {"info", "list", "completion"}
    assert not REPEATABLE & {(verb, flag) for verb, flag, _ in VALUE_FLAGS}


def test_repeatable_flags_keep_all_values():
    options = _build_parser().parse_args(
        ["train", "--source", "a", "--source", "b", "--columns", "x", "y", "--columns", "z"]
    )
    assert (options.source, options.columns) == (["a", "b"], ["x", "y", "z"])


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["translate", "run", "--glossar", "x"], "--glossary"),
        (["score", "--hypo", "x"], "--hypotheses"),
        (["check", "--sour", "x"], "--source"),
    ],
)
def test_an_abbreviated_flag_is_rejected_with_the_whole_one(capsys, arguments, flag):
    message = wrong_arguments(capsys, *arguments)
    assert f"{arguments[-2]} is not a flag of `regard {arguments[0]}`; did you mean {flag}?" in message


def test_no_verb_takes_abbreviated_flags():
    assert not any(parser.allow_abbrev for parser in VERBS.values())


def test_an_unknown_flag_is_rejected_with_the_nearest_one(capsys):
    message = wrong_arguments(capsys, "translate", "run", "--reprt", "x")
    assert message == (
        "regard: --reprt is not a flag of `regard translate`; did you mean --report? "
        "(see `regard translate --help`)"
    )
    assert "did you mean" not in wrong_arguments(capsys, "translate", "run", "--zzzzzz")


def test_other_wrong_arguments_are_one_line(capsys):
    assert "invalid choice: 'all'" in wrong_arguments(capsys, "translate", "run", "--long", "all")
    assert "MODEL" in wrong_arguments(capsys, "translate")


@pytest.mark.parametrize(
    ("verb", "advice"),
    [("tranlate", "; did you mean translate?"), ("clasify", "; did you mean classify?"), ("xyz", "")],
)
def test_an_unknown_verb_suggests_the_nearest(capsys, verb, advice):
    message = wrong_arguments(capsys, verb, "x")
    assert message == f"regard: {verb} is not a verb of `regard`{advice} (see `regard --help`)"


def test_the_usage_of_a_verb_names_its_arguments(capsys):
    with pytest.raises(SystemExit):
        main(["forecast"])
    assert capsys.readouterr().err.startswith("usage: regard forecast MODEL FILE [flags]\n")


def test_positional_arguments_may_follow_flags():
    for words in (
        ["translate", "m", "--beam", "1", "a", "b"],
        ["translate", "m", "a", "--beam", "1", "b"],
        ["translate", "--beam", "1", "m", "a", "b"],
    ):
        options = _build_parser().parse_args(words)
        assert (options.model, options.files, options.beam) == (Path("m"), [Path("a"), Path("b")], 1)
    options = _build_parser().parse_args(["plot", "a", "-o", "x.svg", "b"])
    assert options.runs == [Path("a"), Path("b")]
    assert _build_parser().parse_args(["list", "--json", "runs"]).folder == Path("runs")


@pytest.mark.parametrize("words", [["list", "--json", "a", "b"], ["info", "m", "--json", "n"], ["demo", "x"]])
def test_positional_arguments_that_a_verb_does_not_have_are_rejected(capsys, words):
    assert words[-1] in wrong_arguments(capsys, *words)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["train", "--dropout", "0.2"], "it is the setting model.dropout: --set model.dropout=VALUE"),
        (
            ["train", "--batch-tokens=99"],
            "it is the setting data.batch_tokens: --set data.batch_tokens=VALUE",
        ),
        (
            ["translate", "x", "--d-ff", "9"],
            "the setting model.d_ff of `regard train`: --set model.d_ff=VALUE",
        ),
    ],
)
def test_a_setting_taken_for_a_flag_is_named(capsys, arguments, advice):
    assert advice in wrong_arguments(capsys, *arguments)


def test_without_arguments_the_help_is_printed(capsys):
    main([])
    assert capsys.readouterr().out.startswith("usage: regard ")

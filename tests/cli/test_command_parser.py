"""Arguments of every verb: repeated, abbreviated and unknown flags."""

import argparse
from pathlib import Path

import pytest

from regard.classification.run import ClassificationRun
from regard.cli.args.command_parser import StoreOnce
from regard.cli.args.familiar_names import FAMILIAR_FLAGS, FAMILIAR_SETTINGS, FAMILIAR_VERBS, SETTING_UNITS
from regard.cli.main import _build_parser, main
from regard.config import run_traits
from regard.translation.run import TranslationRun

VERBS = next(
    action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
VALUE_FLAGS = [
    (
        verb,
        action.option_strings[-1],
        {"--metrics": "bleu", "--expires": "2030-01-01"}.get(
            action.option_strings[-1], (action.choices or ["1"])[0]
        ),
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
    first = "add" if verb == "keys" else "x"
    message = wrong_arguments(capsys, verb, first, flag, value, f"{flag}={value}")
    assert f"{flag} is given twice; give it once (see `regard {verb} --help`)" in message


def test_every_verb_has_value_flags_and_some_are_repeatable():
    assert {verb for verb, _, _ in VALUE_FLAGS} == set(VERBS) - {"info", "list", "completion", "help"}
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
            "it is the setting data.batch_tokens, in tokens: --set data.batch_tokens=VALUE",
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


def test_the_names_of_other_toolkits_lead_to_flags_and_settings_that_exist():
    flags = {flag for parser in VERBS.values() for flag in parser._option_string_actions}
    assert set(FAMILIAR_FLAGS.values()) <= flags
    settings = {name for run in (TranslationRun(), ClassificationRun()) for name in run_traits(run)}
    assert set(FAMILIAR_SETTINGS.values()) | set(SETTING_UNITS) <= settings
    for advice in FAMILIAR_VERBS.values():
        word = advice.split()[0].strip(",;")
        assert word in VERBS or word in {"--version"}, advice
    assert not set(FAMILIAR_VERBS) & set(VERBS)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (
            ["translate", "x", "--beam_size", "4"],
            "--beam_size is not a flag of `regard translate`; it is called --beam",
        ),
        (["translate", "x", "-beam", "4"], "-beam is not a flag of `regard translate`; it is called --beam"),
        (["train", "--src", "x"], "it is called --source"),
        (["train", "--text", "x"], "it is called --text-column"),
        (["translate", "--model", "x"], "the model is the first argument: regard translate MODEL"),
        (["train", "--fp16"], "it is the setting compute.precision: --set compute.precision=VALUE"),
        (["train", "--batch-size", "9"], "it is the setting data.batch_tokens, in tokens: --set"),
        (["train", "a.tmx"], "a.tmx: `regard train` takes files with flags: --pairs a.tmx"),
        (["train", "a.en", "a b"], "takes files with flags: --source a.en --target 'a b'"),
        (["train", "train.steps=9"], "takes settings with a flag: --set train.steps=9"),
        (
            ["check", "a.csv"],
            "--pairs a.csv for translations, --labelled a.csv for labelled texts, --series a.csv",
        ),
        (["check", "a.txt"], "takes files with flags: --source a.txt --target FILE"),
        (["evaluate", "x"], "evaluate is not a verb of `regard`; try `regard score`"),
        (["-q", "translate"], "-q is not a flag of `regard`; flags follow the verb"),
        (["--versoin"], "--versoin is not a flag of `regard`; did you mean --version?"),
        (["help", "tranlate"], "tranlate is not a verb of `regard`; did you mean translate?"),
        (["train"], "there is no run folder; give -o DIR"),
    ],
)
def test_what_is_typed_out_of_habit_is_answered_with_what_to_type(capsys, arguments, advice):
    assert advice in wrong_arguments(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ([], "regard score --hypotheses FILE --reference FILE"),
        (["b"], "regard score --hypotheses a --reference b"),
        (["--reference", "b"], "regard score --hypotheses a"),
        (["m"], "regard score m --labelled a for a classifier, --series a for a forecaster"),
        (["m", "b"], "regard score m --source a --reference b"),
    ],
)
def test_files_without_flags_are_not_taken_for_models(tmp_path, monkeypatch, capsys, arguments, advice):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).write_text("x\n")
    message = wrong_arguments(capsys, "score", "a", *arguments)
    assert message == f"regard: a is a file, not a model; type {advice} (see `regard score --help`)"

"""Inputs of translate and classify: files by name, several of them, texts."""

import gzip
import json

import pytest

from failing_command import run_failing_command
from regard.cli.main import main


@pytest.fixture
def lines(user_folder):
    """A translator on a CPU that needs no conversion, and what it writes for the file `new.en`."""
    main(["translate", "en-fr", "new.en", "-o", "expected", "--engine", "torch"])
    return (user_folder / "expected").read_text("utf-8")


def translate(*arguments):
    main(["translate", "en-fr", "--engine", "torch", *arguments])


def test_a_file_a_text_and_stdin_are_translated_alike(lines, user_folder, capsysbinary):
    texts = (user_folder / "new.en").read_text().splitlines()
    translate("--text", texts[0], "--text", texts[1])
    assert capsysbinary.readouterr().out.decode() == lines
    translate("--input", "new.en", "-o", "-")
    assert capsysbinary.readouterr().out.decode() == lines
    translate("new.en")
    assert capsysbinary.readouterr().out.decode() == lines


def test_several_files_are_translated_into_a_folder_by_one_model(
    lines, user_folder, monkeypatch, capsysbinary
):
    (user_folder / "page.html").write_text("<p>the cat is here</p>")
    loads = []
    from regard.translation.line_worker import LineTranslator

    load = LineTranslator.load
    monkeypatch.setattr(LineTranslator, "load", lambda self: (loads.append(1), load(self))[1])
    translate("new.en", "page.html", "-o", "out")
    assert sorted(path.name for path in (user_folder / "out").iterdir()) == ["new.en", "page.html"]
    assert (user_folder / "out" / "new.en").read_text("utf-8") == lines
    assert (user_folder / "out" / "page.html").read_text("utf-8").startswith("<p>")
    assert (len(loads), capsysbinary.readouterr().out) == (1, b"")


def test_the_output_of_a_compressed_file_in_a_folder_is_named_without_the_suffix(lines, user_folder):
    (user_folder / "new.en.gz").write_bytes(gzip.compress((user_folder / "new.en").read_bytes()))
    (user_folder / "out").mkdir()
    translate("new.en.gz", "-o", "out")
    assert [(path.name, path.read_text("utf-8")) for path in (user_folder / "out").iterdir()] == [
        ("new.en", lines)
    ]


def test_one_file_goes_into_an_existing_folder(lines, user_folder):
    (user_folder / "out").mkdir()
    translate("new.en", "-o", "out")
    assert (user_folder / "out" / "new.en").read_text("utf-8") == lines


def test_a_line_that_cannot_be_translated_does_not_stop_the_next_file(lines, user_folder, capsys):
    (user_folder / "bad.en").write_bytes(b"\xff\xff bad\n")
    with pytest.raises(SystemExit) as stop:
        translate("bad.en", "new.en", "-o", "out")
    assert stop.value.code == 4
    assert "regard: bad.en: 1 of 1 lines could not be translated" in capsys.readouterr().err
    assert (user_folder / "out" / "new.en").read_text("utf-8") == lines


@pytest.mark.usefixtures("user_folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new.en", "new.txt"], "2 files need a folder for their outputs; give -o DIR"),
        (["new.en", "new.txt", "-o", "sales.csv"], "2 files need a folder for their outputs; give -o DIR"),
        (["new.en", "./new.en", "-o", "out"], "two of the files are called new.en"),
        (["new.en", "-o", "."], "--out new.en would replace "),
        (["new.en", "--text", "x"], "new.en and --text are two inputs"),
        (
            ["the cat"],
            "the cat does not exist; for a text instead of a file: regard VERB MODEL --text 'the cat'",
        ),
        (["cat"], "cat does not exist; for a text instead of a file: regard VERB MODEL --text cat"),
        (["cat.docx"], "cat.docx does not exist; give the path of a file"),
        (["--text", "a\nb"], "--text has several lines"),
        (["--text", "a", "-o", "en-fr"], "en-fr cannot be written: it is a folder"),
        (["new.en", "-o", "en-fr/model"], "belongs to the model or run"),
    ],
)
@pytest.mark.parametrize(("verb", "model"), [("translate", "en-fr"), ("classify", "reviews")])
def test_inputs_that_cannot_be_meant_are_one_error_line(verb, model, arguments, message):
    message = message.replace("VERB", verb).replace("MODEL", model)
    assert message in run_failing_command(verb, model, *arguments)


@pytest.mark.usefixtures("user_folder")
def test_flags_of_one_file_are_refused_for_texts_and_several_files():
    for arguments, message in (
        (["--text", "a", "--format", "html"], "--format html is for files and stdin"),
        (["--text", "a", "--workers", "2"], "--workers is for files and pipes"),
        (["--text", "a", "--restart"], "--restart is for a FILE with -o OUT"),
        (["new.en", "new.txt", "-o", "out", "--report", "r"], "--report is for one file"),
    ):
        assert message in run_failing_command("translate", "en-fr", *arguments)


def test_texts_and_files_are_classified(user_folder, capsysbinary):
    main(["classify", "reviews", "--text", "tasty food", "--text", "cold soup"])
    expected = capsysbinary.readouterr().out
    assert len(expected.splitlines()) == 2
    main(["classify", "reviews", "new.txt"])
    assert capsysbinary.readouterr().out == expected
    (user_folder / "more.csv").write_text("text\ntasty food\n")
    main(["classify", "reviews", "new.txt", "more.csv", "-o", "out"])
    assert (user_folder / "out/new.txt").read_bytes() == expected
    assert (user_folder / "out/more.csv").read_text().startswith("text,label\n")
    main(["classify", "reviews", "--text", "tasty food", "--json"])
    assert json.loads(capsysbinary.readouterr().out)["text"] == "tasty food"

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from labelled_corpus import labelled_sentences, tiny_classification_run, write_labelled_file
from regard.classification.task import train_classification
from regard.cli.main import main


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A run that has learnt which kind of thing is named."""
    folder = tmp_path_factory.mktemp("things")
    corpus = write_labelled_file(folder / "things.tsv")
    train_classification(
        tiny_classification_run(corpus, steps=60, save_every=60), folder / "run", Console(quiet=True)
    )
    return folder / "run"


def classify(model, text, *flags):
    command = [sys.executable, "-m", "regard", "classify", str(model), *flags]
    return subprocess.run(command, input=text, capture_output=True, check=False)


def test_as_many_lines_come_out_as_went_in_whatever_is_in_them(model):
    lines = [b"the cat is here", b"", b"\xff\xfe", b"  ", "\u2028 \U0001f642".encode(), b"x\r", b"red it was"]
    done = classify(model, b"\n".join(lines) + b"\n")
    found = done.stdout.decode().split("\n")
    assert len(found) == len(lines) + 1
    assert (found[0], found[1], found[2], found[3], found[6]) == ("animal", "", "", "", "colour")
    assert done.returncode == 4
    assert b"1 line (3) not UTF-8: left empty" in done.stderr


def test_probabilities_and_the_likeliest_stand_in_columns(model, tmp_path, capsysbinary):
    (tmp_path / "in").write_text("the cat is here\nred it was\n")
    main(["classify", str(model), "--input", str(tmp_path / "in"), "--probabilities"])
    rows = [line.split(b"\t") for line in capsysbinary.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [b"animal", b"colour"]
    assert all(0.3 < float(row[1]) <= 1 for row in rows)
    main(["classify", str(model), "--input", str(tmp_path / "in"), "--top-k", "2"])
    [first, _] = [line.split(b"\t") for line in capsysbinary.readouterr().out.splitlines()]
    assert len(first) == 4
    assert float(first[1]) >= float(first[3])


def test_json_has_every_label(model, tmp_path, capsysbinary):
    (tmp_path / "in").write_text("the cat is here\n\n")
    main(["classify", str(model), "--input", str(tmp_path / "in"), "--json"])
    one, blank = map(json.loads, capsysbinary.readouterr().out.splitlines())
    assert one["label"] == "animal"
    assert set(one["probabilities"]) == {"animal", "colour", "number"}
    assert (blank["line"], blank["label"]) == (2, None)


def test_a_test_set_is_scored_as_table_as_json_and_as_picture(model, tmp_path, capsys):
    test = write_labelled_file(tmp_path / "test.tsv", labelled_sentences()[:30])
    picture = tmp_path / "confusion.svg"
    main(["score", str(model), "--labelled", str(test), "--confusion-matrix", str(picture)])
    said = capsys.readouterr().out
    assert "accuracy" in said
    assert "calibration error" in said
    assert picture.read_text().startswith("<svg")
    main(["score", str(model), "--labelled", str(test), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["texts"] == sum(map(sum, found["confusion"])) == 30
    assert found["accuracy"] > 0.8


def test_what_cannot_be_scored_is_said_in_one_line(model, tmp_path):
    test = write_labelled_file(tmp_path / "test.tsv", [("a stone", "mineral"), ("a cat", "animal")])
    assert "labels that are not in the training files: mineral" in commands.failure(
        "score", model, "--labelled", test
    )
    (tmp_path / "texts.tsv").write_text("no label here\n")
    assert "no usable text: no label" in commands.failure(
        "score", model, "--labelled", tmp_path / "texts.tsv"
    )
    (tmp_path / "empty.tsv").write_text("")
    assert "is empty" in commands.failure("score", model, "--labelled", tmp_path / "empty.tsv")
    assert "--beam is for translations" in commands.failure("score", model, "--labelled", test, "--beam", "4")


def test_a_model_for_another_task_names_the_right_command(model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "is a model for classification, not for translation; `regard classify` uses it" in (
        commands.failure("score", model, "--source", __file__, "--reference", __file__)
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("animal\ta cat\nanimal\ta dog\n", "all 2 texts have the label animal; there must be at least two"),
        ("", "is empty"),
        ("a cat\na dog\n", "no usable text; most frequent defect: no label"),
    ],
)
def test_what_cannot_be_learnt_is_said_in_one_line(tmp_path, content, said):
    (tmp_path / "bad.tsv").write_text(content)
    assert said in commands.failure("train", "--labelled", tmp_path / "bad.tsv", "--out", tmp_path / "run")


def test_flags_of_two_tasks_are_not_mixed(tmp_path):
    said = commands.failure("train", "--labelled", "a.tsv", "--source", "b", "--out", tmp_path / "run")
    assert "--labelled is for classification" in said
    said = commands.failure("check", "--labelled", "a.tsv", "--pairs", "b")
    assert "--labelled is for texts with labels and --pairs for translations" in said


def test_the_run_of_another_task_is_not_gone_on_with(model, tmp_path):
    (tmp_path / "waves.csv").write_text("date,load\n")
    said = commands.failure("train", "--series", tmp_path / "waves.csv", "--out", model)
    assert "is a run for classification, and the task is forecasting; choose another --out" in said


def test_labelled_texts_are_checked_with_their_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "160")
    corpus = write_labelled_file(tmp_path / "things.tsv")
    test = write_labelled_file(tmp_path / "test.tsv", labelled_sentences()[:2])
    main(["check", "--labelled", str(corpus), "--against-labelled", str(test)])
    said = capsys.readouterr().out
    assert "3 labels: " in said
    assert "animal 25 (33%)" in said
    assert "2 of 75 texts" in said


def test_a_training_is_planned_by_the_corpus_and_says_so(tmp_path, capsys):
    corpus = write_labelled_file(tmp_path / "things.tsv")
    sizes = ["--set", "train.steps=2", "--set", "model.heads=2"]
    main(["train", "--labelled", str(corpus), "--out", str(tmp_path / "run"), *sizes])
    said = capsys.readouterr().out
    assert "plan    75 texts" in said
    assert "labels  3: animal 25, colour 25, number 25" in said
    assert "classify with: " in said

import csv
import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from failing_command import run_failing_command
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


def test_classify_writes_as_many_lines_as_it_reads(model):
    lines = [b"the cat is here", b"", b"\xff\xfe", b"  ", "\u2028 \U0001f642".encode(), b"x\r", b"red it was"]
    done = classify(model, b"\n".join(lines) + b"\n")
    found = done.stdout.decode().split("\n")
    assert len(found) == len(lines) + 1
    assert (found[0], found[1], found[2], found[3], found[6]) == ("animal", "", "", "", "colour")
    assert done.returncode == 4
    assert b"1 line (3) not UTF-8: left empty" in done.stderr


def test_probabilities_and_top_labels_are_columns(model, tmp_path, capsysbinary):
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


def test_a_classifier_is_scored_as_table_json_and_figure(model, tmp_path, capsys):
    test = write_labelled_file(tmp_path / "test.tsv", labelled_sentences()[:30])
    picture = tmp_path / "confusion.svg"
    main(["score", str(model), "--labelled", str(test), "--confusion-matrix", str(picture)])
    output = capsys.readouterr().out
    assert "accuracy" in output
    assert "calibration error" in output
    assert picture.read_text().startswith("<svg")
    picture = tmp_path / "confusion.png"
    main(["score", str(model), "--labelled", str(test), "--confusion-matrix", str(picture)])
    assert picture.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    main(["score", str(model), "--labelled", str(test), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["texts"] == sum(map(sum, found["confusion"])) == 30
    assert found["accuracy"] > 0.8


def test_an_unusable_labelled_test_set_is_one_error_line(model, tmp_path):
    test = write_labelled_file(tmp_path / "test.tsv", [("a stone", "mineral"), ("a cat", "animal")])
    assert "labels that are not in the training files: mineral" in run_failing_command(
        "score", model, "--labelled", test
    )
    (tmp_path / "texts.tsv").write_text("no label here\n")
    assert "no usable text: no label" in run_failing_command(
        "score", model, "--labelled", tmp_path / "texts.tsv"
    )
    (tmp_path / "empty.tsv").write_text("")
    assert "is empty" in run_failing_command("score", model, "--labelled", tmp_path / "empty.tsv")
    assert "--beam is for translations" in run_failing_command(
        "score", model, "--labelled", test, "--beam", "4"
    )


def test_a_model_of_another_task_names_the_right_command(model, monkeypatch, tmp_path):
    (tmp_path / "a.en").write_text("a cat\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "is a model for classification, not for translation; `regard classify` uses it" in (
        run_failing_command("score", model, "--source", tmp_path / "a.en", "--reference", tmp_path / "a.en")
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("animal\ta cat\nanimal\ta dog\n", "all 2 texts have the label animal; there must be at least two"),
        ("", "is empty"),
        ("a cat\na dog\n", "no usable text; most frequent defect: no label"),
    ],
)
def test_an_unusable_labelled_corpus_is_one_error_line(tmp_path, content, message):
    (tmp_path / "bad.tsv").write_text(content)
    assert message in run_failing_command(
        "train", "--labelled", tmp_path / "bad.tsv", "--out", tmp_path / "run"
    )


def test_flags_of_two_tasks_are_not_mixed(tmp_path):
    message = run_failing_command("train", "--labelled", "a.tsv", "--source", "b", "--out", tmp_path / "run")
    assert "--labelled is for classification" in message
    message = run_failing_command("check", "--labelled", "a.tsv", "--pairs", "b")
    assert "--labelled is for labelled texts, --pairs for a parallel corpus" in message


def test_a_run_of_another_task_is_not_resumed(model, tmp_path):
    (tmp_path / "waves.csv").write_text("date,load\n")
    message = run_failing_command("train", "--series", tmp_path / "waves.csv", "--out", model)
    assert "is a classification run, but the task is forecasting; choose another --out" in message


def test_labelled_texts_are_checked_with_their_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "160")
    corpus = write_labelled_file(tmp_path / "things.tsv")
    test = write_labelled_file(tmp_path / "test.tsv", labelled_sentences()[:2])
    main(["check", "--labelled", str(corpus), "--against-labelled", str(test)])
    output = capsys.readouterr().out
    assert "3 labels: " in output
    assert "animal 25 (33%)" in output
    assert "2 of 75 texts" in output


def test_classifier_settings_are_automatic_and_explained(tmp_path, capsys):
    corpus = write_labelled_file(tmp_path / "things.tsv")
    sizes = ["--set", "train.steps=2", "--set", "model.heads=2"]
    main(["train", "--labelled", str(corpus), "--out", str(tmp_path / "run"), *sizes])
    output = capsys.readouterr().out
    assert "auto    75 texts" in output
    assert "labels  3: animal 25, colour 25, number 25" in output
    assert "classify with: " in output


def test_the_labels_of_a_csv_are_a_new_column(model, tmp_path, capsysbinary):
    content = b'id,text,label\n1,"the cat, is ""here""",x\n2,"red\nit was",y\n\n3,,z\n'
    (tmp_path / "in.csv").write_bytes(content)
    main(["classify", str(model), "--input", str(tmp_path / "in.csv"), "--probabilities"])
    rows = list(csv.reader(io.StringIO(capsysbinary.readouterr().out.decode())))
    before = list(csv.reader(io.StringIO(content.decode())))
    assert [row[:3] for row in rows] == before
    assert rows[0][3:] == ["predicted_label", "probability"]
    assert [row[3:4] for row in rows[1:]] == [["animal"], ["colour"], [], [""]]
    assert 0.3 < float(rows[1][4]) <= 1


@pytest.mark.parametrize(
    ("name", "content", "flags", "expected"),
    [
        ("x.tsv", "text\nthe cat is here\n", [], "text\tlabel\nthe cat is here\tanimal\n"),
        ("x.tsv", "the cat is here\t7\n", ["--column", "1"], "the cat is here\t7\tanimal\n"),
        ("x.csv", "a;b\n7;the cat is here\n", ["--column", "b"], "a;b;label\n7;the cat is here;animal\n"),
        ("x.csv", "the cat is here\n", [], "the cat is here,animal\n"),
        ("x.csv", "the cat, is here\n", ["--format", "lines"], "animal\n"),
        ("x", "text\nthe cat is here\n", ["--format", "csv"], "text,label\nthe cat is here,animal\n"),
        (
            "x.jsonl",
            '{"id": 1.0, "text": "the cat is here"}\n\n{"text":"red it was","label":"x"}\n',
            [],
            '{"id": 1.0, "text": "the cat is here", "label": "animal"}\n\n'
            '{"text":"red it was","label":"x", "predicted_label": "colour"}\n',
        ),
    ],
)
def test_a_table_is_written_back_with_its_labels(model, tmp_path, name, content, flags, expected, capsys):
    (tmp_path / name).write_text(content)
    main(["classify", str(model), "--input", str(tmp_path / name), *flags])
    assert capsys.readouterr().out == expected


def test_a_row_that_is_not_utf8_is_written_back_without_a_label(model, tmp_path):
    (tmp_path / "x.csv").write_bytes(b"id,text\n1,caf\xe9\n2,red it was\n")
    done = classify(model, b"", "--input", str(tmp_path / "x.csv"))
    assert done.stdout == b"id,text,label\n1,caf\xe9,\n2,red it was,colour\n"
    assert done.returncode == 4
    assert b"1 line (2) not UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "flags", "message"),
    [
        (
            "x.csv",
            b"id,body2\n1,a\n",
            [],
            "has the columns 'id', 'body2'; name the one with the texts with --column",
        ),
        ("x.csv", b"id,text\n1,a\n", ["--column", "txt"], "has no column 'txt'; it has 'id', 'text'"),
        ("x.csv", b"id,text\n1,a,b\n", [], "line 2 has 3 cells and the first row 2"),
        (
            "x.jsonl",
            b'{"body": "a"}\n',
            [],
            'line 1 is no object with a text in "text"; name the field with --column',
        ),
        ("x.jsonl", b"{\n", [], "line 1 is not valid JSON"),
        ("x.json", b"{}", [], "read its lines as they are with --format lines"),
        ("x.pdf", b"%PDF-1.4", [], "read its lines as they are with --format lines"),
        ("x.txt", b"%PDF-1.4", [], "is a PDF document; convert it"),
        ("x", "a cat\n".encode("utf-16"), [], "is UTF-16 text; convert it"),
        ("x", b"a cat\n", ["--column", "text"], "--column is for a .csv, .tsv or .jsonl"),
    ],
)
def test_an_input_without_one_text_per_line_is_one_error_line(model, tmp_path, name, content, flags, message):
    (tmp_path / name).write_bytes(content)
    assert message in run_failing_command("classify", model, "--input", tmp_path / name, *flags)


def test_score_and_classify_treat_every_text_alike(model, tmp_path, capsys):
    texts = ["caf\x85 the cat\x9f is here", "\x0cred it was", "a cat " * 4000, "\x80", "a\0b"]
    (tmp_path / "labelled.jsonl").write_text(
        "".join(json.dumps({"text": text, "label": "animal"}) + "\n" for text in texts)
    )
    main(["score", str(model), "--labelled", str(tmp_path / "labelled.jsonl"), "--json"])
    captured = capsys.readouterr()
    assert json.loads(captured.out)["texts"] == 3
    assert "2 lines are left out of the scores: blank (1), NUL (1)" in captured.err
    done = classify(model, "".join(f"{text}\n" for text in texts).encode())
    assert [bool(line) for line in done.stdout.decode().splitlines()] == [True, True, True, False, False]

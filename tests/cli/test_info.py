import json
import shutil

import pytest

from labelled_corpus import write_labelled_file
from regard.cli.main import main

SETTINGS = [
    f"--set={setting}"
    for setting in (
        "model.d_model=16",
        "model.heads=2",
        "model.d_ff=16",
        "train.steps=2",
    )
]
TRANSLATION_SETTINGS = [
    f"--set={setting}"
    for setting in (
        "model.encoder_layers=1",
        "model.decoder_layers=2",
        "model.vocab_size=300",
        "data.batch_tokens=200",
        "data.bleu_pairs=2",
    )
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a translation run and a classifier."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
        (folder / "train.en").write_text("".join(f"the cat {i} sleeps\n" for i in range(30)))
        (folder / "train.fr").write_text("".join(f"le chat {i} dort\n" for i in range(30)))
        write_labelled_file(folder / "topics.tsv")
        pairs = ["--source", "train.en", "--target", "train.fr"]
        main(["train", *pairs, "--out", "runs/en-fr", *SETTINGS, *TRANSLATION_SETTINGS])
        main(
            [
                "train",
                "--labelled",
                "topics.tsv",
                "--out",
                "runs/old/topics",
                *SETTINGS,
                "--set=model.encoder_layers=1",
            ]
        )
    return folder


@pytest.fixture
def run(models, monkeypatch, capsys):
    """Run a command in the folder of the models and return what it prints."""
    monkeypatch.chdir(models)
    capsys.readouterr()

    def run_command(*arguments):
        main(arguments)
        return capsys.readouterr()

    return run_command


def test_info_describes_a_translation_model(run):
    rows = dict(line.split("  ", 1) for line in run("info", "runs/en-fr").out.splitlines())
    rows = {title.strip(): text.strip() for title, text in rows.items()}
    assert rows["task"] == "translation (regard translate)"
    assert rows["languages"] == "en to fr"
    assert "1+2 layers, d_model 16, 2 heads, vocabulary 300" in rows["size"]
    assert rows["trained on"].startswith("27 pairs of train.en, train.fr")
    assert rows["step"] == "2"
    assert rows["scores"].startswith("BLEU ")
    assert "torch" in rows["engines"]


def test_info_as_json_has_the_same_facts(run):
    facts = json.loads(run("info", "runs/en-fr/model", "--json").out)
    assert (facts["task"], facts["languages"], facts["status"]) == ("translation", ["en", "fr"], "finished")
    assert facts["parameters"] > 1000
    assert set(facts["scores"]) >= {"bleu", "chrf", "loss"}


def test_info_names_the_labels_of_a_classifier(run):
    output = run("info", "runs/old/topics").out
    assert "task          classification (regard classify)" in output
    assert "labels        " in output


def test_info_of_a_run_without_a_model_describes_its_last_checkpoint(run, models, tmp_path):
    shutil.copytree(models / "runs" / "en-fr", tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "model")
    assert "step-000002 (unfinished run)" in run("info", str(tmp_path / "run")).out


def test_info_of_another_folder_is_one_error_line(run, capsys):
    with pytest.raises(SystemExit) as stop:
        run("info", ".")
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith("regard: . is not a model folder: ")


def test_list_finds_runs_below_a_folder(run):
    header, *rows = run("list").out.splitlines()
    assert header.split() == ["model", "task", "languages", "size", "step", "best", "status"]
    assert [row.split()[:2] for row in rows] == [
        ["runs/en-fr", "translation"],
        ["runs/old/topics", "classification"],
    ]


def test_list_reports_a_damaged_model_and_lists_the_others(run, models, tmp_path):
    shutil.copytree(models / "runs", tmp_path / "runs")
    (tmp_path / "runs" / "en-fr" / "model" / "manifest.json").write_text("{}")
    printed = run("list", str(tmp_path), "--json")
    assert [json.loads(line)["task"] for line in printed.out.splitlines()] == ["classification"]
    assert "is not a model's manifest" in printed.err


def test_list_of_a_folder_without_models_says_so(run, tmp_path):
    printed = run("list", str(tmp_path))
    assert (printed.out, printed.err) == (
        "",
        f"there are no models below {tmp_path}; `regard train` writes one\n",
    )

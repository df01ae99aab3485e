import json

import pytest

from faults.toy_task import train_toy
from labelled_corpus import write_labelled_file
from regard.cli.main import main
from regard.cli.verbs.verify_resume import _as_text, compare_runs, shorten_run
from regard.translation.run import TranslationRun

SETTINGS = (
    "model.d_model=16 model.heads=2 model.d_ff=16 model.encoder_layers=1 model.decoder_layers=1 "
    "model.vocab_size=300 data.batch_tokens=200"
)


@pytest.mark.fault
def test_a_killed_and_resumed_run_equals_an_uninterrupted_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("".join(f"the cat {i} sleeps\n" for i in range(30)))
    (tmp_path / "fr").write_text("".join(f"le chat {i} dort\n" for i in range(30)))
    options = [f"--set={setting}" for setting in SETTINGS.split()]
    main(["verify-resume", "--source", "en", "--target", "fr", "--steps", "10", *options])
    output = capsys.readouterr().out
    assert "killed after step" in output
    assert "losses     10 of 10 equal" in output
    assert "equals the uninterrupted one, bit for bit" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["en", "fr"]


@pytest.mark.fault
def test_a_killed_and_resumed_classification_run_equals_an_uninterrupted_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_labelled_file(tmp_path / "things.tsv")
    sizes = "model.d_model=16 model.heads=2 model.d_ff=16 data.batch_tokens=100"
    options = [f"--set={setting}" for setting in sizes.split()]
    main(["verify-resume", "--labelled", "things.tsv", "--steps", "10", *options])
    assert "equals the uninterrupted one, bit for bit" in capsys.readouterr().out


def test_a_difference_between_runs_is_found_and_printed(tmp_path):
    train_toy(tmp_path / "one", seed=1)
    train_toy(tmp_path / "two", seed=2)
    same = compare_runs(tmp_path / "one", tmp_path / "one", 12)
    assert same["equal"]
    assert "bit for bit" in _as_text(same)
    other = compare_runs(tmp_path / "one", tmp_path / "two", 12)
    assert not other["equal"]
    assert "different" in _as_text(other)


def test_runs_that_differ_are_an_error(tmp_path, monkeypatch, capsys):
    """The trainings are replaced: their result is what the comparison says."""
    monkeypatch.chdir(tmp_path)
    verb = "regard.cli.verbs.verify_resume."
    monkeypatch.setattr(verb + "_start_training", lambda *_: None)
    monkeypatch.setattr(verb + "_wait_for_success", lambda _: None)
    monkeypatch.setattr(verb + "_train_and_kill", lambda *_: 15)
    differing = {"steps": 30, "equal_losses": 29, "sha256": {"weights": ["a", "b"]}, "equal": False}
    monkeypatch.setattr(verb + "compare_runs", lambda *_: differing)
    (tmp_path / "en").write_text("the cat\n" * 30)
    with pytest.raises(SystemExit) as stop:
        main(["verify-resume", "--source", "en", "--target", "en", "--preset", "tiny", "--json"])
    assert stop.value.code == 1
    output = capsys.readouterr()
    assert json.loads(output.out) == {**differing, "killed_after": 15}
    assert output.err.splitlines()[-1].startswith("regard: the killed and resumed run differs")


def test_an_error_of_the_training_is_the_error_of_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["verify-resume", "--source", "none", "--target", "fr"])
    assert stop.value.code == 1
    assert capsys.readouterr().err == "regard: none does not exist; give the path of a text file\n"


def test_shortening_a_run_leaves_the_settings_that_affect_a_step():
    run = TranslationRun()
    changed = shorten_run(run, 30)
    assert (changed.model, changed.optimizer, changed.loss) == (run.model, run.optimizer, run.loss)
    assert changed.data.batch_tokens == run.data.batch_tokens
    assert changed.train.steps == 30

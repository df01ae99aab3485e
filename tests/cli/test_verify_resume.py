import pytest

from faults.toy_task import train_toy
from labelled_corpus import write_labelled_file
from regard.cli.main import main
from regard.cli.verbs.verify_resume import _compare_runs, shorten_run
from regard.errors import RegardError
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


def test_runs_that_differ_are_an_error_and_the_difference_is_printed(tmp_path, capsys):
    train_toy(tmp_path / "one", seed=1)
    train_toy(tmp_path / "two", seed=2)
    assert "bit for bit" in _compare_runs(tmp_path / "one", tmp_path / "one", 12)
    with pytest.raises(RegardError, match="differs from the uninterrupted one"):
        _compare_runs(tmp_path / "one", tmp_path / "two", 12)
    assert "different" in capsys.readouterr().out


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

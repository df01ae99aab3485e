import pytest

from regard.errors import ConfigError, RegardError
from regard.train.run_folder import open_run_folder

SETTINGS = "[train]\nsteps = 3\nseed = 1\n[model]\nheads = 2\n"


def begin(out, settings=SETTINGS, free=()):
    with open_run_folder(out, settings, free):
        (out / "step-000001").mkdir(exist_ok=True)


def test_the_same_settings_go_on_and_others_are_refused_by_name(tmp_path):
    begin(tmp_path / "run")
    begin(tmp_path / "run")
    other = SETTINGS.replace("seed = 1", "seed = 2").replace("heads = 2", "heads = 4")
    with pytest.raises(
        ConfigError,
        match="other settings: model.heads was 2 and is 4, train.seed was 1 and is 2; give the same",
    ):
        begin(tmp_path / "run", other)
    assert (tmp_path / "run" / "config.toml").read_text() == SETTINGS


def test_a_setting_that_is_free_may_change_and_is_written_down(tmp_path):
    begin(tmp_path / "run")
    longer = SETTINGS.replace("steps = 3", "steps = 9")
    begin(tmp_path / "run", longer, free=["train.steps"])
    assert (tmp_path / "run" / "config.toml").read_text() == longer


def test_a_setting_that_is_new_or_gone_is_a_difference(tmp_path):
    begin(tmp_path / "run")
    with pytest.raises(ConfigError, match="train.seed was 1 and is not there"):
        begin(tmp_path / "run", SETTINGS.replace("seed = 1\n", ""))


def test_what_a_killed_process_left_half_done_is_cleaned_and_nothing_else(tmp_path):
    out = tmp_path / "run"
    begin(out)
    (out / ".step-000002.writing-77").mkdir()
    (out / ".step-000001.deleting-77").mkdir()
    (out / ".config.toml.writing-77").write_text("half")
    (out / ".mine").write_text("precious")
    begin(out)
    assert sorted(path.name for path in out.iterdir()) == [".lock", ".mine", "config.toml", "step-000001"]


def test_a_folder_that_is_no_run_is_not_touched(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(RegardError, match="is not empty and holds no run"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_new_run_that_fails_leaves_nothing_and_an_old_one_stays(tmp_path):
    def fail(out):
        with pytest.raises(KeyboardInterrupt), open_run_folder(out, SETTINGS, ()):
            raise KeyboardInterrupt

    fail(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    begin(tmp_path / "run")
    (tmp_path / "run" / "step-000001").rmdir()
    fail(tmp_path / "run")
    assert (tmp_path / "run" / "config.toml").exists()

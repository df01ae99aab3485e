import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from rich.console import Console

from regard.checkpoint import file_sha256, read_manifest
from regard.config import apply_settings, read_settings
from regard.errors import CheckpointError, ConfigError, DataError, RegardError
from regard.forecasting.dataset import prepare_forecasting_data
from regard.forecasting.model_folder import load_forecaster
from regard.forecasting.run import ForecastingRun
from regard.forecasting.task import ForecastingTask, evenly_spaced_indices, train_forecasting
from regard.train.harness import TrainingTask
from regard.train.loop import TrainConfig
from regard.train.optimizer import OptimizerConfig
from regard.translation.translator import Translator
from synthetic_series import small_forecast_run, write_wave_series

QUIET = Console(quiet=True)


@pytest.fixture
def run(tmp_path):
    return small_forecast_run(write_wave_series(tmp_path / "waves.csv"))


def task_for(run):
    return ForecastingTask(run, prepare_forecasting_data(run.data, run.model.history, run.model.horizon))


def weights(folder):
    return file_sha256(folder / "model.safetensors")


def test_forecasting_is_a_task(run):
    assert isinstance(task_for(run), TrainingTask)


def test_a_training_leaves_all_it_takes_to_forecast(run, tmp_path):
    out = tmp_path / "run"
    outcome = train_forecasting(run, out, QUIET)
    files = sorted(path.name for path in (out / "model").iterdir())
    assert files == ["README.md", "config.toml", "manifest.json", "model.safetensors", "series.json"]
    assert outcome.metrics.keys() == {"loss", "mse", "mae"}
    assert apply_settings(ForecastingRun(), read_settings(out / "config.toml")) == run
    model = load_forecaster(out)
    assert model.metadata.columns == ("load", "heat")
    assert str(model.metadata.time_axis.step) == "1 hour"
    assert model.metadata.scaler.mean == pytest.approx([100, -3], abs=0.5)
    assert str(model.metadata.trained_until) == "2024-01-12T05:00:00.000000"  # nine tenths of 300 hours
    report = json.loads((out / "data.json").read_text())
    assert report["parts"] == {"train": [0, 240], "valid": [240, 270], "test": [270, 300]}
    manifest = read_manifest(out / "model")
    assert manifest["trained_on"] == {
        "rows": 240,
        "files": {run.data.series: file_sha256(tmp_path / "waves.csv")},
        "left_out": {},
    }
    assert "regard forecast THIS_FOLDER" in (out / "model" / "README.md").read_text()


def test_what_is_learnt_depends_on_the_training_rows_alone(run, tmp_path):
    lines = (tmp_path / "waves.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text(
        "\n".join([*lines[:241], *(f"{line}9" for line in lines[241:])]) + "\n"
    )
    tasks = [
        task_for(run),
        task_for(replace(run, data=replace(run.data, series=str(tmp_path / "other.csv")))),
    ]
    means = [task.data.metadata.scaler.mean.tolist() for task in tasks]
    assert means[0] == means[1]
    batches = [next(task.batches({}))[0] for task in tasks]
    assert torch.equal(batches[0].history, batches[1].history)
    assert torch.equal(batches[0].target, batches[1].target)
    assert tasks[0].validate().metrics != tasks[1].validate().metrics


def test_a_gap_that_ends_after_the_training_rows_teaches_nothing_of_what_comes(run, tmp_path):
    header, *rows = (tmp_path / "waves.csv").read_text().splitlines()
    fields = [row.split(",") for row in rows]
    for row in range(237, 243):  # the training part ends before row 240
        fields[row][1] = ""
    learnt = []
    for name, scale in (("one.csv", 1.0), ("other.csv", 50.0)):
        later = [[when, f"{float(load) * scale}", heat] for when, load, heat in fields[243:]]
        text = [header, *(",".join(row) for row in [*fields[:243], *later])]
        (tmp_path / name).write_text("\n".join(text) + "\n")
        tables = task_for(replace(run, data=replace(run.data, series=str(tmp_path / name)))).data
        batch = tables.train.batch(np.arange(tables.train.epoch_size))
        learnt.append((tables.metadata.scaler.mean.tolist(), batch.history, batch.target))
    assert learnt[0][0] == learnt[1][0]
    assert torch.equal(learnt[0][1], learnt[1][1])
    assert torch.equal(learnt[0][2], learnt[1][2])


def test_it_learns_to_foretell_a_wave_better_than_the_last_value(run):
    run = replace(run, train=TrainConfig(steps=150, seed=1))
    task = task_for(run)
    learner = task.setup.build_learner()
    step = task.make_step(learner)
    for number, (batch, _) in zip(range(1, 151), task.batches({}), strict=False):
        step(number, [batch], 0.005)
    batch = task.data.valid.batch(np.arange(task.data.valid.epoch_size))
    last = (batch.history[:, -1:] - batch.target).square().mean().item()
    assert task.validate().metrics["mse"] < last / 10


def test_a_run_cut_short_goes_on_with_the_same_bits(run, tmp_path):
    whole = train_forecasting(replace(run, train=replace(run.train, steps=8)), tmp_path / "whole", QUIET)
    short = replace(run, train=replace(run.train, steps=4))
    train_forecasting(short, tmp_path / "cut", QUIET)
    again = train_forecasting(replace(run, train=replace(run.train, steps=8)), tmp_path / "cut", QUIET)
    assert weights(again.best_folder) == weights(whole.best_folder)
    assert weights(tmp_path / "cut" / "step-000008") == weights(tmp_path / "whole" / "step-000008")


def test_a_file_that_changed_is_another_training(run, tmp_path):
    train_forecasting(run, tmp_path / "run", QUIET)
    write_wave_series(tmp_path / "waves.csv", seed=1)
    with pytest.raises(RegardError, match="waves.csv"):
        train_forecasting(replace(run, train=replace(run.train, steps=8)), tmp_path / "run", QUIET)


def test_what_is_not_finite_is_named_by_its_lines(run, tmp_path):
    run = replace(run, optimizer=OptimizerConfig(peak=1e30, warmup=1), train=replace(run.train, steps=50))
    with pytest.raises(RegardError, match="the loss or its gradient is not finite"):
        train_forecasting(run, tmp_path / "run", QUIET)
    task = task_for(run)
    batch, _ = next(task.batches({}))
    [lines] = task.locate_lines(batch)
    assert lines.files == (run.data.series,)
    assert set(lines.numbers) == {int(task.data.train.origins[i]) + 2 for i in batch.window_indices}


def test_series_read_together_make_windows_of_all(run):
    task = task_for(replace(run, data=replace(run.data, together=True, cycles=("auto",))))
    batch, _ = next(task.batches({}))
    assert task.model.config.channels == batch.target.shape[2] == 2
    assert task.model.config.calendar == batch.past_features.shape[2] == 4
    assert task.validate().metrics["mse"] > 0


def test_the_plan_says_what_is_seen_and_what_for(run):
    said = "\n".join(task_for(run).describe())
    assert "sees 48 steps in 4 patches, foretells 12" in said
    assert "300 rows, 1 hour apart; 2 series: load, heat" in said
    assert "tested on           30 rows, 2024-01-12 06:00:00 to 2024-01-13 11:00:00" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"columns": ("lode",)}, "has no column 'lode'; it has date, load, heat"),
        ({"series": None}, "there is nothing to learn from; give --series FILE"),
        ({"series": "absent.csv"}, "absent.csv does not exist"),
        ({"split": (0.1, 0.1, 0.1)}, "30 training rows; a window of 48 steps seen and 12 foretold"),
        ({"valid_from": "2024-01-02", "test_from": "2024-01-01"}, "must be later than"),
    ],
)
def test_a_table_that_cannot_be_learnt_from_is_refused(run, changes, said):
    with pytest.raises((DataError, ConfigError), match=said):
        task_for(replace(run, data=replace(run.data, **changes)))


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("cycles", ("wek",), "data.cycles = wek cannot work; there are auto, minute"),
        ("valid_from", "2024-01-02", "go together"),
        ("valid_windows", 0, "data.valid_windows = 0 cannot work"),
        ("batch_windows", 0, "data.batch_windows = 0 cannot work"),
        ("split", (0.5, 0.5), "it must be three numbers"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(run, setting, value, said):
    with pytest.raises(ConfigError, match=said):
        replace(run.data, **{setting: value})


def test_dates_can_say_what_each_row_is_for(run):
    data = replace(run.data, valid_from="2024-01-10", test_from="2024-01-12T12")
    parts = task_for(replace(run, data=data)).data.split
    assert (len(parts.train), len(parts.valid), len(parts.test)) == (9 * 24, 60, 24)


def test_another_tasks_model_is_refused_with_the_right_verb(run, tmp_path):
    train_forecasting(run, tmp_path / "run", QUIET)
    with pytest.raises(
        CheckpointError, match="is a model for forecasting, not for translation; `regard forecast`"
    ):
        Translator.load(tmp_path / "run")


def test_windows_are_judged_as_far_apart_as_can_be():
    assert evenly_spaced_indices(5, None).tolist() == evenly_spaced_indices(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert evenly_spaced_indices(9, 3).tolist() == [0, 4, 8]

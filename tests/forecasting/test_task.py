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
from regard.forecasting.run import ForecastingRun, ForecastLossConfig
from regard.forecasting.task import (
    ForecastingTask,
    evenly_spaced_indices,
    forecast_loss,
    pinball_loss,
    train_forecasting,
)
from regard.training.harness import TrainingTask
from regard.training.loop import TrainConfig
from regard.translation.translator import Translator
from synthetic_series import small_forecast_run, write_wave_series

QUIET = Console(quiet=True)


@pytest.fixture
def run(tmp_path):
    return small_forecast_run(write_wave_series(tmp_path / "waves.csv"))


def make_task(run):
    return ForecastingTask(run, prepare_forecasting_data(run.data, run.model.history, run.model.horizon))


def weights(folder):
    return file_sha256(folder / "model.safetensors")


def test_the_task_implements_the_protocol(run):
    assert isinstance(make_task(run), TrainingTask)


def test_training_writes_model_metadata_and_data_report(run, tmp_path):
    out = tmp_path / "run"
    result = train_forecasting(run, out, QUIET)
    files = sorted(path.name for path in (out / "model").iterdir())
    assert files == ["README.md", "config.toml", "manifest.json", "model.safetensors", "series.json"]
    assert result.metrics.keys() == {"loss", "mse", "mae"}
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


def test_training_batches_depend_on_the_training_rows_alone(run, tmp_path):
    lines = (tmp_path / "waves.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text(
        "\n".join([*lines[:241], *(f"{line}9" for line in lines[241:])]) + "\n"
    )
    tasks = [
        make_task(run),
        make_task(replace(run, data=replace(run.data, series=str(tmp_path / "other.csv")))),
    ]
    means = [task.data.metadata.scaler.mean.tolist() for task in tasks]
    assert means[0] == means[1]
    batches = [next(task.batches({}))[0] for task in tasks]
    assert torch.equal(batches[0].history, batches[1].history)
    assert torch.equal(batches[0].target, batches[1].target)
    assert tasks[0].validate().metrics != tasks[1].validate().metrics


def test_a_gap_across_the_split_leaks_no_validation_value(run, tmp_path):
    header, *rows = (tmp_path / "waves.csv").read_text().splitlines()
    fields = [row.split(",") for row in rows]
    for row in range(237, 243):  # the training part ends before row 240
        fields[row][1] = ""
    results = []
    for name, scale in (("one.csv", 1.0), ("other.csv", 50.0)):
        later = [[when, f"{float(load) * scale}", heat] for when, load, heat in fields[243:]]
        text = [header, *(",".join(row) for row in [*fields[:243], *later])]
        (tmp_path / name).write_text("\n".join(text) + "\n")
        data = make_task(replace(run, data=replace(run.data, series=str(tmp_path / name)))).data
        batch = data.train.batch(np.arange(data.train.epoch_size))
        results.append((data.metadata.scaler.mean.tolist(), batch.history, batch.target))
    assert results[0][0] == results[1][0]
    assert torch.equal(results[0][1], results[1][1])
    assert torch.equal(results[0][2], results[1][2])


def test_a_trained_model_forecasts_a_wave_better_than_the_last_value(run):
    run = replace(run, train=TrainConfig(steps=150, seed=1))
    task = make_task(run)
    learner = task.setup.build_learner()
    step = task.make_step(learner)
    for number, (batch, _) in zip(range(1, 151), task.batches({}), strict=False):
        step(number, [batch], 0.005)
    batch = task.data.valid.batch(np.arange(task.data.valid.epoch_size))
    naive_error = (batch.history[:, -1:] - batch.target).square().mean().item()
    assert task.validate().metrics["mse"] < naive_error / 10


def test_an_extended_run_has_the_bits_of_an_uninterrupted_one(run, tmp_path):
    whole = train_forecasting(replace(run, train=replace(run.train, steps=8)), tmp_path / "whole", QUIET)
    short = replace(run, train=replace(run.train, steps=4))
    train_forecasting(short, tmp_path / "short", QUIET)
    extended = train_forecasting(replace(run, train=replace(run.train, steps=8)), tmp_path / "short", QUIET)
    assert weights(extended.best_folder) == weights(whole.best_folder)
    assert weights(tmp_path / "short" / "step-000008") == weights(tmp_path / "whole" / "step-000008")


def test_resuming_with_a_changed_file_is_refused(run, tmp_path):
    train_forecasting(run, tmp_path / "run", QUIET)
    write_wave_series(tmp_path / "waves.csv", seed=1)
    with pytest.raises(RegardError, match="waves.csv"):
        train_forecasting(replace(run, train=replace(run.train, steps=8)), tmp_path / "run", QUIET)


@pytest.mark.usefixtures("diverging")
def test_a_loss_that_is_not_finite_stops_and_lines_are_located(run, tmp_path):
    run = replace(run, train=replace(run.train, steps=50))
    with pytest.raises(RegardError, match="the loss or its gradient is not finite"):
        train_forecasting(run, tmp_path / "run", QUIET)
    task = make_task(run)
    batch, _ = next(task.batches({}))
    [lines] = task.locate_lines(batch)
    assert lines.files == (run.data.series,)
    assert set(lines.numbers) == {int(task.data.train.origins[i]) + 2 for i in batch.window_indices}


def test_a_multivariate_window_has_all_series(run):
    task = make_task(replace(run, data=replace(run.data, together=True, cycles=("auto",))))
    batch, _ = next(task.batches({}))
    assert task.model.config.channels == batch.target.shape[2] == 2
    assert task.model.config.calendar == batch.past_features.shape[2] == 4
    assert task.validate().metrics["mse"] > 0


def test_the_description_has_history_horizon_and_split(run):
    text = "\n".join(make_task(run).describe())
    assert "history 48 steps in 4 patches, horizon 12 steps" in text
    assert "300 rows, step 1 hour; 2 series: load, heat" in text
    assert "test              30 rows, 2024-01-12 06:00:00 to 2024-01-13 11:00:00" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ("lode",)}, "has no column 'lode'; it has date, load, heat"),
        ({"series": None}, "there is nothing to train on; give --series FILE"),
        ({"series": "absent.csv"}, "absent.csv does not exist"),
        ({"split": (0.1, 0.1, 0.1)}, "30 training rows; a window of 48 history and 12 forecast steps"),
        ({"valid_from": "2024-01-02", "test_from": "2024-01-01"}, "must be later than"),
    ],
)
def test_a_table_without_usable_windows_is_refused(run, changes, message):
    with pytest.raises((DataError, ConfigError), match=message):
        make_task(replace(run, data=replace(run.data, **changes)))


def test_the_split_can_be_given_by_dates(run):
    data = replace(run.data, valid_from="2024-01-10", test_from="2024-01-12T12")
    split = make_task(replace(run, data=data)).data.split
    assert (len(split.train), len(split.valid), len(split.test)) == (9 * 24, 60, 24)


def test_loading_a_forecaster_as_a_translator_names_the_right_command(run, tmp_path):
    train_forecasting(run, tmp_path / "run", QUIET)
    with pytest.raises(
        CheckpointError, match="is a model for forecasting, not for translation; `regard forecast`"
    ):
        Translator.load(tmp_path / "run")


def test_validation_windows_are_evenly_spaced():
    assert evenly_spaced_indices(5, None).tolist() == evenly_spaced_indices(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert evenly_spaced_indices(9, 3).tolist() == [0, 4, 8]


QUANTILES = (0.1, 0.5, 0.9)


def random_windows():
    torch.manual_seed(0)
    return torch.randn(4, 5, 2, 4), torch.randn(4, 5, 2)


def test_the_loss_is_the_point_loss_plus_the_mean_pinball_loss():
    prediction, target = random_windows()
    total = 0.0
    for index in torch.cartesian_prod(torch.arange(4), torch.arange(5), torch.arange(2)).tolist():
        actual, (mean, *quantiles) = target[*index].item(), prediction[*index].tolist()
        total += (mean - actual) ** 2
        for level, quantile in zip(QUANTILES, quantiles, strict=True):
            total += (
                2
                / 3
                * (level * (actual - quantile) if actual > quantile else (1 - level) * (quantile - actual))
            )
    assert forecast_loss(
        prediction, target, QUANTILES, ForecastLossConfig(pinball=2.0)
    ).item() == pytest.approx(total, rel=1e-5)


def test_the_pinball_loss_of_the_median_is_half_the_absolute_error():
    prediction, target = random_windows()
    absolute = forecast_loss(prediction[..., :1], target, (), ForecastLossConfig("absolute"))
    assert torch.allclose(pinball_loss(prediction[..., :1], target, (0.5,)), absolute / 2)


def test_the_pinball_loss_is_least_at_the_quantile():
    values = torch.arange(101.0)[None, :, None]
    losses = [pinball_loss(torch.full((1, 101, 1, 1), float(value)), values, (0.9,)) for value in range(101)]
    assert torch.stack(losses).argmin() == 90


@pytest.mark.parametrize("kind", ["squared", "absolute", "huber"])
def test_a_perfect_forecast_has_no_loss(kind):
    _, target = random_windows()
    perfect = target[..., None].expand(-1, -1, -1, 4)
    assert forecast_loss(perfect, target, QUANTILES, ForecastLossConfig(kind)) == 0

"""The run files under examples/ are valid input of `regard train`."""

from pathlib import Path

import pytest

from regard.classification.run import ClassificationRun
from regard.config import apply_settings, read_settings, read_task
from regard.forecasting.run import ForecastingRun
from regard.translation.run import TranslationRun

EXAMPLES = sorted(Path(__file__).parent.parent.glob("examples/*/*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_run_file_has_data_and_a_complete_schedule(path):
    match read_task(path):
        case "forecasting":
            run = apply_settings(ForecastingRun(), read_settings(path))
            assert run.data.series
        case "classification":
            run = apply_settings(ClassificationRun(), read_settings(path))
            assert run.data.labelled
        case _:
            run = apply_settings(TranslationRun(), read_settings(path))
            assert run.data.source
            assert run.data.valid_source is not None
    assert run.optimizer.cooldown is not None
    assert run.optimizer.warmup + run.optimizer.cooldown < run.train.steps
    assert run.train.steps % run.train.save_every == 0  # the last step is validated


def test_there_are_examples():
    assert len(EXAMPLES) >= 10

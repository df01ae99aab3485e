"""Callbacks of a training: what they are told, how they stop it, and what an error in one leaves."""

import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.checkpoint import WEIGHTS_FILE, file_sha256
from regard.errors import ConfigError
from regard.training.logs.metrics_file import read_metrics
from small_training import CLASSIFICATION, FORECASTING, TRANSLATION


class Recorder(regard.Callback):
    """Keeps what it is told; `actions` by step answer instead."""

    def __init__(self, on_log=None, on_validation=None):
        self.settings, self.logs, self.validations, self.results = [], [], [], []
        self.actions = {"log": on_log or {}, "valid": on_validation or {}}

    def on_start(self, settings):
        self.settings.append(settings)

    def on_log(self, record):
        self.logs.append(record)
        return self.act("log", record["step"])

    def on_validation(self, record):
        self.validations.append(record)
        return self.act("valid", record["step"])

    def on_end(self, result):
        self.results.append(result)

    def act(self, kind, step):
        action = self.actions[kind].get(step)
        return action() if callable(action) else action


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def train(*callbacks, out="run", steps=4, **arguments):
    return regard.train(
        out=out, steps=steps, callbacks=callbacks, progress=False, **{**TRANSLATION, **arguments}
    )


def as_json(records):
    return json.loads(json.dumps(records))


def weights(out, step=4):
    return file_sha256(Path(out) / f"step-{step:06}" / WEIGHTS_FILE)


@pytest.mark.parametrize("data", [TRANSLATION, CLASSIFICATION, FORECASTING])
def test_a_callback_gets_every_record_of_the_metrics_file(data):
    recorder = Recorder()
    regard.train(out="run", steps=4, callbacks=[recorder], progress=False, **data)
    rows = read_metrics(Path("run/metrics.jsonl"))
    assert [record["step"] for record in recorder.logs] == [1, 2, 3, 4]
    assert as_json(recorder.logs) == [row for row in rows if row["kind"] == "train"]
    assert [record["step"] for record in recorder.validations] == [2, 4]
    assert as_json(recorder.validations) == [row for row in rows if row["kind"] == "valid"]
    assert recorder.settings[0]["train.steps"] == 4
    [result] = recorder.results
    assert (result.stop_reason, result.best_folder) == ("steps", Path("run/model"))


@pytest.mark.parametrize("answer", [True, np.bool_(True)])
def test_a_callback_stops_the_training_with_a_model(answer):
    recorder = Recorder(on_log={3: answer})
    assert isinstance(train(recorder, Recorder(), steps=6), regard.Translator)
    assert [record["step"] for record in recorder.validations] == [2, 3]
    assert recorder.results[0].stop_reason == "callback"
    train(steps=6)
    train(out="whole", steps=6)
    assert weights("run", 6) == weights("whole", 6)


def test_another_answer_than_true_does_not_stop():
    recorder = Recorder(on_log={1: "text", 2: 1, 3: np.bool_(False)}, on_validation={2: object})
    train(recorder)
    assert len(recorder.logs) == 4


@pytest.mark.parametrize("event", ["on_log", "on_validation"])
def test_an_error_in_a_callback_leaves_a_run_that_resumes(event):
    def fail():
        raise OSError("no network")

    recorder = Recorder(**{event: {2: fail}})
    with pytest.raises(OSError, match="no network"):
        train(recorder)
    assert (len(recorder.results), sorted(Path("run").glob("step-*"))) == (0, [Path("run/step-000002")])
    again = Recorder()
    train(again)
    assert [record["step"] for record in again.logs] == [3, 4]
    train(out="whole")
    assert weights("run") == weights("whole")
    assert [row["step"] for row in read_metrics(Path("run/metrics.jsonl")) if row["kind"] == "valid"] == [
        2,
        4,
    ]


def test_an_error_at_the_start_leaves_nothing():
    class Failing(regard.Callback):
        def on_start(self, settings):
            raise ValueError(settings["train.steps"])

    with pytest.raises(ValueError, match="4"):
        train(Failing())
    assert not Path("run").exists()


def test_an_error_in_the_last_validation_leaves_a_run_that_is_published_later():
    def fail():
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        train(Recorder(on_validation={4: fail}))
    assert not Path("run/model").exists()
    train(Recorder(on_log=dict.fromkeys(range(5), fail)))
    assert Path("run/model").is_dir()


@pytest.mark.usefixtures("no_shape_check")
@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        ([Recorder], "callbacks has the class Recorder; give an instance of it"),
        ([print], "callbacks has a builtin_function_or_method; it must be a regard.Callback"),
    ],
)
def test_what_is_no_callback_is_refused(callbacks, message):
    with pytest.raises(ConfigError, match=message):
        train(*callbacks)


def test_ctrl_c_saves_and_the_same_call_resumes(capfd):
    before = signal.getsignal(signal.SIGINT)
    recorder = Recorder(on_log={3: lambda: os.kill(os.getpid(), signal.SIGINT)})
    with pytest.raises(KeyboardInterrupt, match="step 3 is saved in run; the same call resumes"):
        train(recorder)
    assert recorder.results[0].stop_reason == "interrupt"
    assert signal.getsignal(signal.SIGINT) is before
    assert "stopping after this step" in capfd.readouterr().err
    train()
    train(out="whole")
    assert weights("run") == weights("whole")


def test_a_training_in_another_thread_leaves_the_signals_alone():
    handlers = []
    recorder = Recorder(on_log={1: lambda: handlers.append(signal.getsignal(signal.SIGINT))})
    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(train, recorder).result(timeout=60), regard.Translator)
    assert handlers == [before]
    assert threading.current_thread() is threading.main_thread()

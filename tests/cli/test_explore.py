import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from failing_command import run_failing_command
from regard.cli.main import main
from server.conftest import save_random


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_random(tmp_path_factory.mktemp("models") / "mine", 1)


def started(*arguments):
    command = [sys.executable, "-m", "regard", "explore", *map(str, arguments), "--no-browser"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def test_the_address_is_said_answered_and_left_quietly(model):
    with started(model, "--text", "the cat", "--beam", 2, "--max-trace-tokens", 9) as process:
        address = process.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}api/info") as answer:
            info = json.load(answer)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "")
    assert (info["example"], info["search"]["beam"]) == ("the cat", 2)
    assert info["limits"] == {"max_trace_tokens": 9}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--beam", 0], "beam = 0 cannot work; it must be at least 1"),
        (["--max-trace-tokens", 1], "--max-trace-tokens = 1 cannot work"),
        (["--port", 70_000], "there is no such port"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid:0 cannot be served on"),
    ],
)
def test_a_mistake_is_one_line(model, flags, said):
    assert said in run_failing_command("explore", model, *flags)


def test_what_must_be_given_is_named_and_nothing_else(capsys):
    with pytest.raises(SystemExit):
        main(["explore"])
    assert capsys.readouterr().err.endswith("required: MODEL_OR_RUN\n")


def test_a_folder_without_a_model_is_one_line(tmp_path):
    assert "is not a model folder" in run_failing_command("explore", tmp_path)
    assert "does not exist; give the folder" in run_failing_command("explore", tmp_path / "nowhere")

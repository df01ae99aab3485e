import json
import os
import signal
import socket
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


def test_explore_prints_its_address_and_stops_on_ctrl_c(model):
    with started(model, "--text", "the cat", "--beam", 2, "--max-trace-tokens", 9) as process:
        address = process.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}api/info") as answer:
            info = json.load(answer)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=20)
    assert (process.returncode, output) == (0, "")
    assert (info["example"], info["search"]["beam"]) == ("the cat", 2)
    assert info["limits"] == {"max_trace_tokens": 9}


SLOW_TRACES = """
import sys, time
from regard.cli.main import main
from regard.translation.tracing import Tracer
Tracer.trace = lambda *_: time.sleep(60)
main(["explore", sys.argv[1], "--no-browser"])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_wait_for_a_computation(model, number):
    body = b'{"text": "the cat"}'
    command = [sys.executable, "-c", SLOW_TRACES, str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[-1]
        port = int(address.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(
                f"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            with urllib.request.urlopen(address) as answer:  # a file, meanwhile
                assert answer.status == 200
            process.send_signal(number)
            _, output = process.communicate(timeout=20)
            assert connection.recv(10) == b""
    assert (process.returncode, output) == (0, "")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--beam", 0], "beam = 0 cannot work; it must be at least 1"),
        (["--max-trace-tokens", 1], "--max-trace-tokens = 1 cannot work"),
        (["--port", 70_000], "--port = 70000 cannot work; it must be at most 65,535"),
        (["--host", "no.such.host.invalid"], "cannot serve on no.such.host.invalid:0"),
    ],
)
def test_invalid_explore_flags_are_one_error_line(model, flags, message):
    assert message in run_failing_command("explore", model, *flags)


def test_a_missing_argument_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["explore"])
    assert "required: MODEL_OR_RUN (see" in capsys.readouterr().err


def test_a_folder_without_a_model_is_one_error_line(tmp_path):
    assert "is not a model folder" in run_failing_command("explore", tmp_path)
    assert "does not exist; give the folder" in run_failing_command("explore", tmp_path / "nowhere")

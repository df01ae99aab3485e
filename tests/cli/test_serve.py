"""`regard serve` as a process: it listens first, answers as `regard translate` does, and ends in order."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from regard.cli.main import main
from regard.server.translation.glossary_store import GlossaryStore
from server.random_model import TEXTS, save_random


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_random(tmp_path_factory.mktemp("serve") / "model", 1)


def start_server(*arguments):
    command = [sys.executable, "-m", "regard", "serve", *map(str, arguments), "--port", "0", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def post(address, **fields):
    body = urllib.parse.urlencode(fields).encode()
    with urllib.request.urlopen(address, body, timeout=30) as response:
        return json.load(response)


def translate(url, **fields):
    return post(f"{url}translate", **fields)["translatedText"]


def test_answers_as_translate_does_and_ends_at_sigterm(model, tmp_path):
    server = start_server(model, "--data", tmp_path / "data")
    try:
        address = json.loads(server.stdout.readline())
        assert address["models"] == {"model": "en-fr"}
        text = "\n".join([*TEXTS, "", "x"])
        answer = translate(address["url"], q=text, source="en", target="fr")
        as_deepl = post(f"{address['url']}v2/translate", text=text, target_lang="FR", split_sentences=0)
        glossary = {"name": "kept", "source_lang": "EN", "target_lang": "FR", "entries": "cat\tmatou"}
        post(f"{address['url']}v2/glossaries", **glossary)
    finally:
        server.send_signal(signal.SIGTERM)
        output, errors = server.communicate(timeout=30)
    assert (server.returncode, output, errors) == (0, "", "")
    assert as_deepl["translations"][0]["text"] == answer
    assert [each.name for each in GlossaryStore(tmp_path / "data").list_all("")] == ["kept"]
    (tmp_path / "in.txt").write_text(text + "\n")
    main(["translate", str(model), str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"), "--quiet"])
    assert answer + "\n" == (tmp_path / "out.txt").read_text()


def test_listens_before_the_model_is_loaded(model):
    """A request that comes early is told to come again, and no connection is refused."""
    port = find_free_port()
    command = [sys.executable, "-m", "regard", "serve", str(model), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    statuses = []
    try:
        for _ in range(400):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
                    statuses.append(response.status)
                    break
            except urllib.error.HTTPError as error:
                statuses.append(error.code)
            except OSError:
                assert not statuses  # not once it has listened
            time.sleep(0.02)
    finally:
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=30)
    assert server.returncode == 0
    assert set(statuses) == {200, 503}
    assert f"serving at http://127.0.0.1:{port}/" in output


def test_a_damaged_model_ends_the_server_with_one_line(model, tmp_path):
    damaged = tmp_path / "model"
    subprocess.run(["cp", "-r", model, damaged], check=True)
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    server = start_server(damaged)
    output, errors = server.communicate(timeout=30)
    assert (server.returncode, output) == (1, "")
    assert len(errors.splitlines()) == 1
    assert "model.safetensors" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one MODEL, or --config serve.toml"),
        (["--config", "serve.toml", "model"], "give one MODEL, or --config serve.toml"),
        (["--config", "serve.toml", "--source-language", "en"], "with --config write it into the file"),
    ],
)
def test_wrong_arguments(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "serve.toml").touch()
    (tmp_path / "model").mkdir()
    with pytest.raises(SystemExit) as end:
        main(["serve", *arguments])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_a_port_in_use(model, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as end:
            main(["serve", str(model), "--port", str(port)])
    assert end.value.code == 1
    assert f"cannot serve on 127.0.0.1:{port}" in capsys.readouterr().err


def find_free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]

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
from regard.server.operations.key_file import KeyFile, KeyLimits, month_of
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


def test_keys_are_required_and_counted_and_a_kill_loses_a_second_at_most(model, tmp_path):
    keys = tmp_path / "keys.sqlite"
    with KeyFile(keys, create=True) as file:
        key = file.add("team", KeyLimits(characters_per_month=30))
    server = start_server(model, "--keys", keys, "--public-url", "https://translate.example.org")
    try:
        url = json.loads(server.stdout.readline())["url"]
        fields = {"q": "a bird sings.", "source": "en", "target": "fr"}
        with pytest.raises(urllib.error.HTTPError, match="400"):
            translate(url, **fields)
        for _ in range(2):
            assert translate(url, **fields, api_key=key)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            translate(url, **fields, api_key=key)
        headers = {"Origin": "https://translate.example.org"}
        urllib.request.urlopen(urllib.request.Request(f"{url}languages", headers=headers), timeout=20).close()
        until = time.monotonic() + 10
        while read_usage(keys) != (2, 26) and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        server.kill()
        server.communicate(timeout=30)
    assert read_usage(keys) == (2, 26)
    restarted = start_server(model, "--keys", keys)
    try:
        url = json.loads(restarted.stdout.readline())["url"]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            translate(url, **fields, api_key=key)
        assert translate(url, **{**fields, "q": "cat"}, api_key=key)
    finally:
        restarted.send_signal(signal.SIGTERM)
        _, errors = restarted.communicate(timeout=30)
    assert (restarted.returncode, errors) == (0, "")
    assert read_usage(keys) == (3, 29)


def read_usage(path):
    """Return the requests and characters of the only key that was used in this month."""
    with KeyFile(path) as file:
        return next(iter(file.read_usage(month_of(time.time())).values()), None)


def test_a_file_that_has_no_keys_ends_the_server_with_one_line(model, tmp_path):
    (tmp_path / "keys.sqlite").write_text("no keys here")
    server = start_server(model, "--keys", tmp_path / "keys.sqlite")
    output, errors = server.communicate(timeout=30)
    assert (server.returncode, output) == (1, "")
    assert "cannot be used as a file of API keys" in errors
    assert len(errors.splitlines()) == 1

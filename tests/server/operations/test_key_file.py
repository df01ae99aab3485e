"""API keys in their file, and `regard keys`."""

import json
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from regard.cli.main import main
from regard.errors import RegardError
from regard.server.operations.key_file import KeyFile, KeyLimits, UsageCount, hash_key


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys.sqlite"


def test_a_key_is_stored_as_its_hash_alone_in_a_private_file(path):
    with KeyFile(path, create=True) as file:
        key = file.add("team", KeyLimits(100, 10, None), expires=2e9)
        other = file.add("other")
        [stored, second] = file.read_keys()
    assert (stored.name, stored.limits, stored.expires) == ("team", KeyLimits(100, 10, None), 2e9)
    assert stored.sha256 == hash_key(key)
    assert second.sha256 == hash_key(other)
    secret = key.rpartition("_")[2]
    assert len(secret) == 40
    assert secret.encode() not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_is_free_again_once_its_key_is_revoked(path):
    with KeyFile(path, create=True) as file:
        file.add("team")
        with pytest.raises(RegardError, match="there is a key named 'team'"):
            file.add("team")
        file.revoke("team")
        with pytest.raises(RegardError, match="no key named 'team'"):
            file.revoke("team")
        file.add("team")
        assert [each.revoked is None for each in file.read_keys()] == [False, True]


def test_usage_adds_up_over_processes(path):
    KeyFile(path, create=True).close()
    code = (
        "import sys; from pathlib import Path; from regard.server.operations.key_file import *\n"
        "file = KeyFile(Path(sys.argv[1]))\n"
        "for _ in range(50): file.add_usage({('a', '2026-11'): UsageCount(1, 10)})"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(2)]
    assert [each.wait(60) for each in processes] == [0, 0]
    with KeyFile(path) as file:
        assert file.read_usage("2026-11") == {"a": UsageCount(100, 1000)}
        assert file.read_usage("2026-12") == {}


def test_a_failed_addition_changes_nothing(path):
    with KeyFile(path, create=True) as file:
        with pytest.raises(RegardError, match="cannot be used"):
            file.add_usage({("a", "2026-11"): UsageCount(1, 1), ("b", "2026-11"): UsageCount(1, object())})
        assert file.read_usage("2026-11") == {}
        file.add_usage({("a", "2026-11"): UsageCount(1, 1)})


@pytest.mark.parametrize("content", [b"no database at all, but long enough for one" * 40, b""])
def test_a_file_of_something_else_is_one_line(path, content):
    path.write_bytes(content)
    with pytest.raises(RegardError, match="file of API keys") as error:
        KeyFile(path)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == content


def test_another_database_is_left_as_it_was(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(RegardError, match="is not a file of API keys"):
        KeyFile(path, create=True)
    assert path.read_bytes() == before


def run(capsys, *arguments):
    main(["keys", *arguments])
    return capsys.readouterr().out


def test_the_command_adds_lists_and_revokes(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    key = run(capsys, "add", "team", "--characters-per-month", "500", "--expires", "2100-12-31").strip()
    second = json.loads(run(capsys, "add", "web", "--requests-per-minute", "60", "--json"))["key"]
    assert key != second
    with KeyFile(tmp_path / "keys.sqlite") as file:
        assert [each.sha256 for each in file.read_keys()] == [hash_key(key), hash_key(second)]
    lines = run(capsys, "list").splitlines()
    assert "0 of 500 characters" in lines[0]
    assert lines[0].endswith("valid to 2100-12-31")
    assert "60 requests/min" in lines[1]
    run(capsys, "revoke", "web")
    document = json.loads(run(capsys, "list", "--json"))
    assert [each["state"] for each in document["keys"]] == ["valid to 2100-12-31", "revoked"]
    assert document["keys"][0]["characters_per_month"] == 500
    assert key.rpartition("_")[2] not in json.dumps(document)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["add"], 2, "give the NAME of the key"),
        (["list", "team"], 2, "takes no name"),
        (["list", "--expires", "2030-01-01"], 2, "--expires is for `regard keys add`"),
        (["add", "team", "--expires", "tomorrow"], 2, "is not a date such as"),
        (["add", "team", "--requests-per-minute", "0"], 1, "--requests-per-minute = 0 cannot work"),
        (["add", "../team"], 1, "cannot be the name of a key"),
        (["add", "192.0.2.1"], 1, "cannot be the name of a key"),
        (["list"], 1, "does not exist; `regard keys add NAME"),
        (["revoke", "team"], 1, "does not exist"),
    ],
)
def test_wrong_arguments(arguments, code, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["keys", *arguments])
    assert end.value.code == code
    assert message in capsys.readouterr().err.splitlines()[-1]

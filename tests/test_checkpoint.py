import json
from pathlib import Path

import pytest

import regard.checkpoint
from regard.checkpoint import (
    MANIFEST_FILE,
    file_sha256,
    find_model_folder,
    publish_model,
    read_manifest,
    write_folder_atomically,
)
from regard.errors import CheckpointError, FormatError, SaveError
from regard.strict_json import seal_json


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "runs" / "model"
    write_folder_atomically(path, write_two_files)
    return path


def write_two_files(folder):
    (folder / "a").write_bytes(b"alpha")
    (folder / "b").write_bytes(b"beta")
    return {"task": "test"}


def test_the_manifest_of_a_folder_is_read_back(folder):
    manifest = read_manifest(folder)
    assert manifest["task"] == "test"
    assert manifest["files"]["a"] == {"bytes": 5, "sha256": file_sha256(folder / "a")}


def test_a_folder_appears_only_when_it_is_complete(tmp_path):
    def write_files(folder):
        assert not (tmp_path / "model").exists()
        return write_two_files(folder)

    write_folder_atomically(tmp_path / "model", write_files)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_error_while_writing_leaves_nothing(tmp_path):
    def fail(folder):
        write_two_files(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder_atomically(tmp_path / "model", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    def fail(folder):
        write_two_files(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(CheckpointError, match="model cannot be written: No space left on device"):
        write_folder_atomically(tmp_path / "model", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_overwritten(folder):
    with pytest.raises(CheckpointError, match="exists already"):
        write_folder_atomically(folder, write_two_files)
    assert read_manifest(folder)


@pytest.mark.parametrize("byte", [0, 3])
def test_a_flipped_bit_is_detected(folder, byte):
    content = bytearray((folder / "b").read_bytes())
    content[byte] ^= 1
    (folder / "b").write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged: b is not what was written"):
        read_manifest(folder)


def test_a_truncated_or_missing_file_is_named(folder):
    (folder / "a").write_bytes(b"alph")
    with pytest.raises(CheckpointError, match="is damaged: a"):
        read_manifest(folder)
    (folder / "a").unlink()
    with pytest.raises(CheckpointError, match="a is missing"):
        read_manifest(folder)


@pytest.mark.parametrize(
    "content",
    [
        '{"format": 2, "files": {}, "x": NaN}',
        '{"format": 2, "files": {}, "x": "\\ud800"}',
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"format": 1}',
        '{"format": "1", "files": {}}',
        "3",
    ],
)
def test_an_invalid_manifest_is_refused(folder, content):
    (folder / MANIFEST_FILE).write_text(content)
    with pytest.raises(CheckpointError, match=MANIFEST_FILE):
        read_manifest(folder)


def test_a_manifest_cannot_point_outside_its_folder(folder):
    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    manifest |= {"format": 1, "files": {"../../secret": {"bytes": 1, "sha256": ""}}}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))
    with pytest.raises(CheckpointError, match="names a file"):
        read_manifest(folder)


@pytest.mark.parametrize(("before", "after"), [('"test"', '"tent"'), ("  ", " "), ('"seal"', '"soal"')])
def test_a_changed_manifest_is_detected(folder, before, after):
    text = (folder / MANIFEST_FILE).read_text()
    (folder / MANIFEST_FILE).write_text(text.replace(before, after, 1))
    with pytest.raises(CheckpointError, match="manifest.json is not what was written"):
        read_manifest(folder)


def test_line_ends_of_windows_do_not_break_the_seal(tmp_path, monkeypatch):
    """Windows writes text with two bytes at the end of a line by default."""
    write_text = Path.write_text

    def windows(path, data, encoding=None, errors=None, newline=None):
        return write_text(path, data, encoding, errors, "\r\n" if newline is None else newline)

    monkeypatch.setattr(Path, "write_text", windows)
    write_folder_atomically(tmp_path / "model", write_two_files)
    assert read_manifest(tmp_path / "model")["task"] == "test"


def test_a_folder_of_format_1_without_a_seal_is_read(folder):
    manifest = {**json.loads((folder / MANIFEST_FILE).read_text()), "format": 1}
    del manifest["seal"]
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))
    assert read_manifest(folder)["task"] == "test"


def test_a_later_format_is_refused_with_advice_to_upgrade(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr("regard.checkpoint.FORMAT_VERSION", 3)
        write_folder_atomically(tmp_path / "model", write_two_files)
    with pytest.raises(FormatError, match="has format 3, this regard reads up to 2; upgrade regard"):
        read_manifest(tmp_path / "model")


def test_a_model_is_found_by_its_folder_and_by_its_run(folder):
    assert find_model_folder(folder) == folder
    assert find_model_folder(folder.parent) == folder


def test_an_unfinished_run_gives_its_last_checkpoint(tmp_path):
    for step in (2, 10):
        write_folder_atomically(tmp_path / f"step-{step}", write_two_files)
    assert find_model_folder(tmp_path).name == "step-10"


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="does not exist"):
        find_model_folder(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="is not a model folder"):
        find_model_folder(tmp_path)


def test_publishing_copies_a_checkpoint(folder):
    publish_model(folder, folder.parent / "best")
    assert read_manifest(folder.parent / "best") == read_manifest(folder)


def test_extra_files_are_in_the_manifest(folder):
    best = folder.parent / "best"
    publish_model(folder, best, build_extra_files=lambda _: {"README.md": "what it is: été\n"})
    assert (best / "README.md").read_bytes() == "what it is: été\n".encode()
    (best / "README.md").write_text("what it is not")
    with pytest.raises(CheckpointError, match="README.md is not what was written"):
        read_manifest(best)


def test_a_damaged_checkpoint_is_not_published(folder):
    (folder / "a").write_bytes(b"ALPHA")
    with pytest.raises(CheckpointError, match="damaged"):
        publish_model(folder, folder.parent / "best")
    assert not (folder.parent / "best").exists()


def test_publishing_hashes_each_file_once(folder, monkeypatch):
    hashed = []
    sha256 = regard.checkpoint.file_sha256
    monkeypatch.setattr(
        regard.checkpoint, "file_sha256", lambda path: hashed.append(path.name) or sha256(path)
    )
    publish_model(folder, folder.parent / "best", exclude=["b"])
    assert hashed == ["a"]


def test_an_older_model_stays_until_the_new_one_is_complete(folder, monkeypatch):
    best = folder.parent / "best"
    publish_model(folder, best, metadata={"step": 1})

    def full(*_):
        assert read_manifest(best)["step"] == 1
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", full)
        with pytest.raises(SaveError, match="No space left on device"):
            publish_model(folder, best, metadata={"step": 2})
    assert read_manifest(best)["step"] == 1
    publish_model(folder, best, metadata={"step": 2})
    assert read_manifest(best)["step"] == 2
    assert sorted(path.name for path in folder.parent.iterdir()) == ["best", "model"]


@pytest.mark.parametrize("name", ["a", "manifest.json"])
def test_a_link_to_a_file_of_the_system_is_refused_and_not_read(folder, name):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["a"]["bytes"] = 0
    del manifest["seal"]
    (folder / "manifest.json").write_text(seal_json(manifest))
    (folder / name).unlink()
    (folder / name).symlink_to("/proc/version")  # to /proc/kmsg, for example, reading would never end
    with pytest.raises(CheckpointError, match=rf"{name} (is not what was|cannot be read: it is a link to)"):
        read_manifest(folder)

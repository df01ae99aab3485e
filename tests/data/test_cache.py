import gzip
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from regard.data import cache as cache_module
from regard.data.cache import DiskCache, FileFacts, default_cache_folder
from regard.errors import DataError


@pytest.fixture
def messages():
    return []


@pytest.fixture
def cache(tmp_path, messages):
    return DiskCache(str(tmp_path / "cache"), messages.append)


class CountingFill:
    """Fills a folder, and counts the calls."""

    def __init__(self):
        self.times = 0

    def __call__(self, folder: Path):
        self.times += 1
        (folder / "content").write_bytes(b"content" * 1000)
        return {"answer": 42}


def test_a_folder_is_created_once_for_the_same_key(cache):
    fill = CountingFill()
    path, facts = cache.get_or_create("things", {"a": 1}, fill)
    assert cache.get_or_create("things", {"a": 1}, fill) == (path, facts)
    assert (fill.times, facts["answer"]) == (1, 42)
    assert cache.get_or_create("things", {"a": 2}, fill)[0] != path
    assert fill.times == 2


def test_folders_of_killed_processes_are_deleted_after_a_day_and_not_before(cache):
    path, _ = cache.get_or_create("things", {"a": 1}, CountingFill())
    abandoned, busy = path.with_name(".a.writing-1"), path.with_name(".b.writing-2")
    for folder in (abandoned, busy):
        folder.mkdir()
        (folder / "source.ids").write_bytes(b"half")
    yesterday = time.time() - 25 * 3600
    os.utime(abandoned / "source.ids", (yesterday, yesterday))
    for folder in (abandoned, busy):  # writing to a file does not change the time of its folder
        os.utime(folder, (yesterday, yesterday))
    cache.get_or_create("things", {"a": 2}, CountingFill())
    assert (abandoned.exists(), busy.exists()) == (False, True)
    assert path.exists()


@pytest.mark.parametrize("damage", ["flip", "cut", "missing", "manifest", "no manifest"])
def test_a_damaged_folder_is_reported_and_created_again(cache, messages, damage):
    fill = CountingFill()
    path, _ = cache.get_or_create("things", {}, fill)
    content = path / "content"
    whole = content.read_bytes()
    match damage:
        case "flip":
            content.write_bytes(b"C" + whole[1:])
        case "cut":
            content.write_bytes(whole[:-1])
        case "missing":
            content.unlink()
        case "manifest":
            (path / "manifest.json").write_bytes(b"{")
        case "no manifest":
            (path / "manifest.json").unlink()
    assert cache.get_or_create("things", {}, fill)[0] == path
    assert (fill.times, content.read_bytes()) == (2, whole)
    assert len(messages) == 1
    assert str(path) in messages[0]
    assert "it is created again" in messages[0]


def test_a_copied_folder_is_verified_by_its_hashes(cache, messages):
    fill = CountingFill()
    path, _ = cache.get_or_create("things", {}, fill)
    os.utime(path / "content", (1, 1))
    cache.get_or_create("things", {}, fill)
    assert (fill.times, messages) == (1, [])


def test_a_failure_leaves_no_folder(cache):
    def fail(folder):
        (folder / "half").write_bytes(b"half")
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        cache.get_or_create("things", {}, fail)
    assert list((cache.scratch_folder() / "things").iterdir()) == []


def test_two_processes_that_create_the_same_folder_end_with_one(cache):
    fill, other = CountingFill(), CountingFill()

    def fill_meanwhile(folder):
        cache.get_or_create("things", {}, other)
        return fill(folder)

    _, facts = cache.get_or_create("things", {}, fill_meanwhile)
    assert (facts["answer"], fill.times, other.times) == (42, 1, 1)


def treat_files_as_old(monkeypatch):
    monkeypatch.setattr(cache_module, "SETTLED_SECONDS", -1.0)


def test_a_file_is_read_once_until_it_changes(cache, tmp_path, monkeypatch):
    treat_files_as_old(monkeypatch)
    path, chunks = tmp_path / "text", []
    path.write_bytes(b"a\nb")
    facts = cache.file_facts(path, chunks.append)
    assert facts == FileFacts(hashlib.sha256(b"a\nb").hexdigest(), 2, 3)
    assert cache.file_facts(path, chunks.append) == facts
    assert chunks == [b"a\nb"]
    path.write_bytes(b"a\nc")
    assert cache.file_facts(path).sha256 == hashlib.sha256(b"a\nc").hexdigest()


@pytest.mark.parametrize("field", ["sha256", "lines", "bytes", "path"])
def test_a_damaged_note_on_a_file_is_not_believed(cache, tmp_path, monkeypatch, field):
    treat_files_as_old(monkeypatch)
    (tmp_path / "text").write_bytes(b"a\nb\n")
    facts = cache.file_facts(tmp_path / "text")
    (note,) = (tmp_path / "cache" / "files").glob("*.json")
    content = json.loads(note.read_bytes())
    value = str(content[field])
    last = "1" if value[-1] == "0" else "0"
    note.write_text(note.read_text().replace(value, value[:-1] + last, 1))
    assert note.read_text() != json.dumps(content)
    chunks = []
    assert cache.file_facts(tmp_path / "text", chunks.append) == facts
    assert chunks == [b"a\nb\n"]


def test_a_changed_fact_in_the_manifest_of_a_cached_folder_is_noticed(cache, messages):
    fill = CountingFill()
    path, _ = cache.get_or_create("things", {}, fill)
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"answer": 42', '"answer": 43'))
    assert cache.get_or_create("things", {}, fill)[1]["answer"] == 42
    assert (fill.times, len(messages)) == (2, 1)


def test_a_change_with_a_restored_time_is_noticed(cache, tmp_path, monkeypatch):
    treat_files_as_old(monkeypatch)
    path = tmp_path / "text"
    path.write_bytes(b"a\nb\n")
    before, status = cache.file_facts(path), path.stat()
    path.write_bytes(b"a\nc\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.file_facts(path) != before
    (tmp_path / "other").write_bytes(b"x\ny\n")
    shutil.copystat(path, tmp_path / "other")
    (tmp_path / "other").replace(path)
    assert cache.file_facts(path).sha256 == hashlib.sha256(b"x\ny\n").hexdigest()


def test_a_file_that_changed_just_now_is_not_remembered(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "SETTLED_SECONDS", 60.0)
    (tmp_path / "text").write_bytes(b"a\n")
    chunks = []
    for _ in range(2):
        cache.file_facts(tmp_path / "text", chunks.append)
    assert len(chunks) == 2


def test_a_compressed_file_is_hashed_as_it_is_on_disk(cache, tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\nb\nc\n"))
    assert cache.file_facts(path) == FileFacts(hashlib.sha256(path.read_bytes()).hexdigest(), 3, 6)


def test_a_file_that_cannot_be_read_twice_is_rejected(cache, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe is not a regular file and must be read more than once"):
        cache.file_facts(tmp_path / "pipe")
    with pytest.raises(DataError, match="none does not exist"):
        cache.file_facts(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder"):
        cache.file_facts(tmp_path)


def test_the_error_for_an_unwritable_cache_names_the_setting(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="cannot be written: .*; set data.cache to another folder"):
        DiskCache(str(tmp_path / "file" / "cache"), print).scratch_folder()


def test_xdg_cache_home_decides_the_default_folder_if_absolute(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache_folder() == Path("/somewhere/regard")
    for unset in ("", "not/absolute"):
        monkeypatch.setenv("XDG_CACHE_HOME", unset)
        assert default_cache_folder() == Path.home() / ".cache" / "regard"

"""File jobs in this process, with an engine that echoes; tests/faults/test_translate.py kills real ones."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from conftest import MICRO
from fake_engines import EchoEngine
from regard.errors import DataError, RegardError
from regard.jobs.file_job import FileJob
from regard.jobs.line_batches import LineBatchLimits
from regard.search.config import SearchConfig
from regard.text.tokenizer import learn_tokenizer
from regard.translation.engines import EngineOptions, LoadedModel
from regard.translation.line_worker import LineTranslator
from regard.translation.model_folder import TranslationFolder
from regard.translation.result import RowFormat

LINES = [f"the cat number {i} sings" for i in range(50)]


@pytest.fixture
def engine(monkeypatch):
    echo, tokenizer = EchoEngine(), learn_tokenizer(LINES, 300)
    monkeypatch.setattr(
        "regard.translation.translator.load_engine",
        lambda *arguments: LoadedModel(echo, tokenizer, ensemble=arguments[-1].ensemble),
    )
    echo.tokenizer = tokenizer
    return echo


@pytest.fixture
def job(tmp_path, engine):
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").write_text("{}")
    return FileJob(
        tmp_path / "in",
        tmp_path / "out",
        LineTranslator(TranslationFolder(tmp_path / "model", MICRO, engine.tokenizer, {})),
        LineBatchLimits(10, 2**20),
        workers=1,
    )


def finish(job, restart=False):
    """Run the rest of a job; return the numbers of the batches that were processed."""
    with job.open(restart):
        results = list(job.run())
        job.merge_parts()
    return [result.number for result in results]


def begin(job, parts):
    """Run a job until some parts are finished, then leave it."""
    with job.open():
        results = job.run()
        return [next(results).number for _ in range(parts)]


def test_the_output_appears_when_all_parts_are_finished_and_then_they_are_deleted(job):
    assert begin(job, 2) == [0, 1]
    assert not job.output_path.exists()
    assert sorted(path.name for path in job.parts_folder.iterdir()) == [
        ".lock",
        "00000000",
        "00000001",
        "job.json",
    ]
    assert finish(job) == [2, 3, 4]
    assert job.output_path.read_text().splitlines() == LINES
    assert sorted(path.name for path in job.output_path.parent.iterdir()) == ["in", "model", "out"]


def test_finished_results_have_no_text(job):
    begin(job, 2)
    with job.open():
        results = list(job.finished_results())
    assert [(each.number, each.lines, each.text) for each in results] == [(0, 10, ""), (1, 10, "")]
    assert all(each.tokens > 10 for each in results)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda job: replace(job, worker=replace(job.worker, search=SearchConfig(beam=1))), "beam"),
        (lambda job: replace(job, worker=replace(job.worker, row_format=RowFormat(scores=True))), "scores"),
        (lambda job: replace(job, limits=LineBatchLimits(11, 2**20)), "batch_limits"),
        (lambda job: job.input_path.write_text("other\n") and job, "input"),
        (lambda job: (job.worker.folder.path / "manifest.json").write_text("{1}") and job, "model"),
    ],
)
def test_unfinished_work_with_other_options_is_refused_unless_restarted(job, change, name):
    begin(job, 2)
    other = change(job)
    with pytest.raises(
        RegardError, match=rf"out.parts holds unfinished work with another {name}; .* --restart"
    ):
        begin(other, 0)
    assert len(list(job.parts_folder.glob("0*"))) == 2
    assert finish(other, restart=True)[0] == 0
    assert len(other.output_path.read_text().splitlines()) == len(other.input_path.read_text().splitlines())


def test_a_job_resumes_with_another_number_of_threads(job):
    begin(job, 2)
    assert finish(replace(job, worker=replace(job.worker, engine=EngineOptions(threads=3)))) == [2, 3, 4]


def test_a_truncated_part_is_processed_again(job):
    begin(job, 3)
    for name, content in (("00000000", b""), ("00000001", (job.parts_folder / "00000001").read_bytes()[:-1])):
        (job.parts_folder / name).write_bytes(content)
    assert finish(job) == [0, 1, 3, 4]
    assert job.output_path.read_text().splitlines() == LINES


def flip_bit(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("place", [-2, -50, 20, 60])
def test_a_part_with_a_flipped_bit_is_processed_again(job, place):
    begin(job, 3)
    flip_bit(job.parts_folder / "00000001", place)
    assert finish(job) == [1, 3, 4]
    assert job.output_path.read_text().splitlines() == LINES


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text(""),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text("[]"),
        lambda path: flip_bit(path, 40),
        lambda path: path.write_text(path.read_text().replace('"input": "', '"input": "0')),
    ],
    ids=["empty", "deep", "list", "bit", "digit"],
)
def test_a_job_whose_job_file_is_damaged_starts_over_with_its_own_parts(job, damage):
    messages = []
    job = replace(job, report=messages.append)
    begin(job, 2)
    damage(job.parts_folder / "job.json")
    assert finish(job) == [2, 3, 4]
    assert job.output_path.read_text().splitlines() == LINES
    assert messages == [
        f"{job.parts_folder / 'job.json'} is damaged; the job starts over, with the 2 of 2 finished parts "
        "that are of this input, model and options"
    ]


def test_parts_of_another_job_are_not_kept_when_the_job_file_is_damaged(job):
    messages = []
    job = replace(job, report=messages.append)
    begin(job, 2)
    (job.parts_folder / "job.json").write_text("")
    other = replace(job, worker=replace(job.worker, search=SearchConfig(beam=1)))
    assert finish(other) == [0, 1, 2, 3, 4]
    assert "with the 0 of 2 finished parts" in messages[0]


def test_parts_without_a_job_file_are_ignored(job):
    begin(job, 2)
    (job.parts_folder / "job.json").unlink()
    assert finish(job) == [0, 1, 2, 3, 4]


def test_a_job_without_an_input_file_leaves_no_folder(job):
    with pytest.raises(DataError, match="none does not exist"):
        begin(replace(job, input_path=job.input_path.with_name("none")), 1)
    assert not job.parts_folder.exists()


def test_a_second_process_is_refused(job):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from unittest.mock import Mock\n"
        "from regard.jobs.file_job import FileJob\n"
        "with FileJob(Path(sys.argv[1]), Path(sys.argv[2]), Mock(), Mock(), 1).open(): pass\n"
    )
    begin(job, 1)
    with job.open():
        command = [sys.executable, "-c", code, job.input_path, job.output_path]
        other = subprocess.run(command, capture_output=True, check=False)
    assert b"out is being written by another process; wait until it has ended" in other.stderr
    assert finish(job) == [1, 2, 3, 4]


def test_issues_are_stored_with_their_part(job):
    job.input_path.write_bytes(b"one\n\xff\n" * 10)
    begin(job, 1)
    header, _, rest = (job.parts_folder / "00000000").read_bytes().partition(b"\n")
    assert [issue[0] for issue in json.loads(header)["issues"]] == [2, 4, 6, 8, 10]
    assert rest == b"one\n\n" * 5
    with job.open():
        (result,) = job.finished_results()
    assert [(issue.line, issue.kind) for issue in result.issues][:2] == [
        (2, "not UTF-8"),
        (4, "not UTF-8"),
    ]


@pytest.mark.parametrize("name", ["thesis.txt", "7", "notes"])
def test_a_parts_folder_with_other_files_is_refused(job, name):
    job.parts_folder.mkdir()
    (job.parts_folder / name).write_text("precious")
    with pytest.raises(RegardError, match=f"{name} in it is not part of any; move the folder"):
        finish(job)
    assert (job.parts_folder / name).read_text() == "precious"


def test_a_changed_model_of_the_ensemble_is_detected(job, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text("{}")
    options = replace(job.worker.options, ensemble=(tmp_path / "other",))
    job = replace(job, worker=replace(job.worker, options=options))
    with job.open():
        next(job.run())
    (tmp_path / "other" / "manifest.json").write_text('{"step": 2}')
    with pytest.raises(RegardError, match="another ensemble"):
        finish(job)

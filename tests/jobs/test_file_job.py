"""Parts, in this process and with an echo for a model; tests/faults/test_translate.py kills real ones."""

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


def finish(job, anew=False):
    with job.open(anew):
        done = list(job.run())
        job.merge_parts()
    return [answer.number for answer in done]


def begin(job, parts):
    with job.open():
        answers = job.run()
        return [next(answers).number for _ in range(parts)]


def test_the_output_is_there_when_all_parts_are_and_then_they_go(job):
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


def test_what_is_finished_is_known_without_its_text(job):
    begin(job, 2)
    with job.open():
        found = list(job.finished_results())
    assert [(answer.number, answer.lines, answer.text) for answer in found] == [(0, 10, ""), (1, 10, "")]
    assert all(answer.tokens > 10 for answer in found)


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
def test_unfinished_work_of_another_kind_is_refused_or_begun_again(job, change, name):
    begin(job, 2)
    other = change(job)
    with pytest.raises(
        RegardError, match=rf"out.parts holds unfinished work with another {name}; .* --restart"
    ):
        begin(other, 0)
    assert len(list(job.parts_folder.glob("0*"))) == 2
    assert finish(other, anew=True)[0] == 0
    assert len(other.output_path.read_text().splitlines()) == len(other.input_path.read_text().splitlines())


def test_another_number_of_workers_or_threads_goes_on(job):
    begin(job, 2)
    assert finish(replace(job, worker=replace(job.worker, engine=EngineOptions(threads=3)))) == [2, 3, 4]


def test_a_part_that_is_not_whole_is_made_again(job):
    begin(job, 3)
    for name, content in (("00000000", b""), ("00000001", (job.parts_folder / "00000001").read_bytes()[:-1])):
        (job.parts_folder / name).write_bytes(content)
    assert finish(job) == [0, 1, 3, 4]
    assert job.output_path.read_text().splitlines() == LINES


def test_parts_without_their_description_are_nobodys(job):
    begin(job, 2)
    (job.parts_folder / "job.json").unlink()
    assert finish(job) == [0, 1, 2, 3, 4]


def test_a_job_that_cannot_begin_leaves_nothing(job):
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


def test_troubles_are_kept_with_their_part(job):
    job.input_path.write_bytes(b"one\n\xff\n" * 10)
    begin(job, 1)
    header, _, rest = (job.parts_folder / "00000000").read_bytes().partition(b"\n")
    assert [trouble[0] for trouble in json.loads(header)["issues"]] == [2, 4, 6, 8, 10]
    assert rest == b"one\n\n" * 5
    with job.open():
        (found,) = job.finished_results()
    assert [(trouble.line, trouble.kind) for trouble in found.issues][:2] == [
        (2, "not UTF-8"),
        (4, "not UTF-8"),
    ]


@pytest.mark.parametrize("name", ["thesis.txt", "7", "notes"])
def test_a_folder_that_is_somebodys_own_is_left_alone(job, name):
    job.parts_folder.mkdir()
    (job.parts_folder / name).write_text("precious")
    with pytest.raises(RegardError, match=f"{name} in it is not part of any; move the folder"):
        finish(job)
    assert (job.parts_folder / name).read_text() == "precious"


def test_a_changed_model_beside_the_first_is_noticed(job, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text("{}")
    asked = replace(job.worker.options, ensemble=(tmp_path / "other",))
    job = replace(job, worker=replace(job.worker, options=asked))
    with job.open():
        next(job.run())
    (tmp_path / "other" / "manifest.json").write_text('{"step": 2}')
    with pytest.raises(RegardError, match="another ensemble"):
        finish(job)

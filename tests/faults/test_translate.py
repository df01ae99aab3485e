"""B1 to B4: guarantees about batch translation; tests marked slow are at full sizes."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import unicodedata
from contextlib import redirect_stderr
from dataclasses import replace
from random import Random
from unittest import mock

import pytest
import torch

from conftest import MICRO
from fake_engines import EchoEngine
from faults.faulty_disk import FaultyDisk, disk_full_from
from peak_memory import measure_peak_memory
from regard.cli.main import main
from regard.config import to_toml
from regard.errors import SaveError
from regard.jobs.file_job import FileJob
from regard.jobs.line_batches import LineBatchLimits
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.engines import LoadedModel
from regard.translation.line_worker import LineTranslator
from regard.translation.model_folder import TranslationFolder, save_translation_model
from regard.translation.run import TranslationRun

pytestmark = pytest.mark.fault

SENTENCES = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."]
JOB = """
import sys
from pathlib import Path
from regard.search.config import SearchConfig
from regard.translation.engines import EngineOptions
from regard.translation.line_worker import LineTranslator
from regard.translation.model_folder import read_translation_folder
from regard.jobs.file_job import FileJob
from regard.jobs.line_batches import LineBatchLimits
source, output, model, lines, workers = sys.argv[1:]
search = SearchConfig(beam=1, max_length=6)
folder = read_translation_folder(Path(model))
worker = LineTranslator(folder, EngineOptions("cpu", "torch", threads=1), search)
job = FileJob(Path(source), Path(output), worker, LineBatchLimits(int(lines), 2**20), int(workers))
with job.open():
    for answer in job.run():
        pass
    job.merge_parts()
"""
COMMAND = "import sys; from regard.cli.main import main; main(sys.argv[1:])"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model folder with random weights."""
    tokenizer = learn_tokenizer(SENTENCES * 3, 300)
    torch.manual_seed(0)
    transformer = Transformer(replace(MICRO, vocab_size=tokenizer.vocab_size, max_length=24))
    folder = tmp_path_factory.mktemp("run") / "model"
    save_translation_model(folder, transformer, tokenizer, to_toml(TranslationRun(transformer.config)), {})
    return folder


def write_lines(path, count):
    random = Random(1)
    words = " ".join(SENTENCES).split()
    text = "".join(" ".join(random.choices(words, k=random.randint(1, 9))) + f" {i}\n" for i in range(count))
    path.write_text(text)
    return path


# --- B1: N lines in, N lines out, in order


DEFECTS = {
    "not UTF-8": [b"caf\xe9", b"\xff\xfe\x00", b"cut \xe2\x82", b"\xed\xa0\x80"],
    "unusual": [
        b"",
        b" \t ",
        b"a\0b",
        "a\u2028b\u2029c\u0085d".encode(),
        b"a\x0bb\x0cc\x1cd\x1de\x1e",
        b"lone\rreturn",
        b"windows\r",
        "\U0001f600 \U0001f469\u200d\U0001f680".encode(),
        "\u202eשלום\u202c مرحبا".encode(),
        b"\x01\x02\x7f",
        b"</s> <pad> <0x0A>",
        "e\u0301".encode(),
    ],
    "too long": [b"word " * 60, b"x" * 300, b"A sentence here. " * 30],
}


def with_defects(count):
    """Return lines, most of them valid, and the kind of each line by number."""
    random, lines, planted = Random(2), [], {}
    for number in range(1, count + 1):
        kind = random.choice([*DEFECTS, "valid"]) if random.random() < 0.3 else "valid"
        lines.append(b"sentence %d" % number if kind == "valid" else random.choice(DEFECTS[kind]))
        planted[number] = kind
    return lines, planted


def expected(line):
    """Return the output of an echo: the text in NFC, on one line."""
    text = line.removesuffix(b"\r").decode().strip()
    return unicodedata.normalize("NFC", text).replace("\r", " ").replace("\n", " ")


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("long", ["split", "cut", "skip"])
def test_b1_every_line_has_an_output_line_in_order_and_bad_ones_are_reported(
    tmp_path, model, monkeypatch, count, long
):
    tokenizer = learn_tokenizer([*SENTENCES, "sentence 1234567890"] * 3, 320)
    monkeypatch.setattr(
        "regard.translation.translator.load_engine", lambda *_: LoadedModel(EchoEngine(40), tokenizer)
    )
    lines, planted = with_defects(count)
    (tmp_path / "in").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    stderr = io.StringIO()
    monkeypatch.chdir(tmp_path)
    arguments = ["--input", "in", "--output", "out", "--report", "report", "--workers", "1"]
    with redirect_stderr(stderr), pytest.raises(SystemExit) as stop:
        main(["translate", str(model), *arguments, "--long", long])
    assert stop.value.code == 4
    *out, end = (tmp_path / "out").read_bytes().decode().split("\n")
    assert end == ""
    assert len(out) == len(lines)
    reported = {}
    for entry in map(json.loads, (tmp_path / "report").read_text("utf-8").splitlines()):
        reported.setdefault(entry["kind"], []).append(entry["line"])
    kinds = {"too long": {"split": "split", "cut": "cut", "skip": "too long"}[long], "not UTF-8": "not UTF-8"}
    for kind, name in kinds.items():
        assert reported.pop(name) == [
            number for number, planted_kind in planted.items() if planted_kind == kind
        ]
    assert reported == {}
    for number, (line, translation) in enumerate(zip(lines, out, strict=True), start=1):
        match planted[number]:
            case "valid" | "unusual":
                assert translation == expected(line)
            case "not UTF-8":
                assert translation == ""
            case "too long" if long == "split":
                assert "".join(translation.split()) == "".join(expected(line).split())
            case "too long" if long == "cut":
                assert translation
                assert expected(line).startswith(translation)
            case _:
                assert translation == ""
    failed = sum(kind == "not UTF-8" or (kind == "too long" and long == "skip") for kind in planted.values())
    assert (
        f"regard: {failed:,} of {count:,} lines could not be translated and are left empty\n"
        in stderr.getvalue()
    )


# --- B2: kill and rerun


def start_job(source, output, model, lines, workers=2):
    arguments = [source, output, model, lines, workers]
    return subprocess.Popen([sys.executable, "-c", JOB, *map(str, arguments)], start_new_session=True)


def parts(output):
    """Return the finished parts with their modification times."""
    folder = output.with_name(f"{output.name}.parts")
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("0*")}


def workers_of(process):
    """Return the ids of the processes that it started."""
    return [
        int(pid)
        for pid in os.listdir("/proc")
        if pid.isdecimal() and f"\nPPid:\t{process.pid}\n" in _read(f"/proc/{pid}/status")
    ]


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def run_with_kills(source, output, model, lines, kills, step):
    """Kill the job several times, each after some more parts; no finished part is written again."""
    before = parts(output)
    for _ in range(kills):
        process = start_job(source, output, model, lines)
        while len(parts(output)) < len(before) + step:
            assert process.poll() is None
            time.sleep(0.005)
        children = workers_of(process)
        process.kill()
        process.wait()
        after = parts(output)
        while any(os.path.exists(f"/proc/{child}/fd/0") for child in children):
            time.sleep(0.005)  # they end with their parent
        assert {name: after.get(name) for name in before} == before
        assert not output.exists()
        before = parts(output)
    return before


def compare(tmp_path, model, count, lines, kills, step):
    source = write_lines(tmp_path / "in", count)
    with mock.patch.object(sys, "argv", ["", *map(str, (source, tmp_path / "whole", model, lines, 1))]):
        exec(JOB)
    finished = run_with_kills(source, tmp_path / "out", model, lines, kills, step)
    assert kills * step <= len(finished) < count // lines
    assert start_job(source, tmp_path / "out", model, lines).wait() == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "out").read_bytes().count(b"\n") == count
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "whole"]


def test_b2_a_killed_job_has_the_same_bytes_and_writes_no_part_twice(tmp_path, model):
    compare(tmp_path, model, count=400, lines=40, kills=1, step=3)


@pytest.mark.slow
def test_b2_a_job_of_200_parts_killed_20_times_has_the_same_bytes(tmp_path, model):
    compare(tmp_path, model, count=4000, lines=20, kills=20, step=7)


@pytest.mark.slow
def test_b2_a_hundred_thousand_lines_killed_in_the_middle_have_the_same_bytes(tmp_path, model):
    compare(tmp_path, model, count=100_000, lines=512, kills=1, step=90)


def test_b2_a_killed_worker_process_ends_the_job_with_one_line(tmp_path, model):
    source = write_lines(tmp_path / "in", 4000)
    command = [sys.executable, "-c", JOB, *map(str, (source, tmp_path / "out", model, 20, 2))]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    while len(parts(tmp_path / "out")) < 3:
        assert process.poll() is None
        time.sleep(0.005)
    victim = next(pid for pid in workers_of(process) if "spawn_main" in _read(f"/proc/{pid}/cmdline"))
    os.kill(victim, signal.SIGKILL)
    stderr = process.communicate()[1].decode()
    assert "a worker process was killed, perhaps because memory ran out; fewer --workers" in stderr
    assert len(parts(tmp_path / "out")) >= 3


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_keeps_the_finished_parts_and_says_how_to_resume(tmp_path, model, number, code):
    source = write_lines(tmp_path / "in", 12_000)
    arguments = ["--output", "out", "--beam", "1", "--max-length", "1", "--engine", "torch", "--workers", "1"]
    command = [sys.executable, "-m", "regard", "translate", str(model), "--input", str(source), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path)
    while len(parts(tmp_path / "out")) < 1:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    stderr = process.communicate()[1].decode()
    assert process.returncode == code
    assert stderr == "\nstopped; finished parts are in out.parts, and the same command resumes\n"
    assert parts(tmp_path / "out")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_unfinished_file(tmp_path, model, number):
    source = write_lines(tmp_path / "in", 3000)  # too few for parts
    arguments = ["--output", "out", "--engine", "torch", "--report", "report"]
    command = [sys.executable, "-m", "regard", "translate", str(model), "--input", str(source), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path)
    while not list(tmp_path.glob(".out.writing-*")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    process.communicate()
    assert process.returncode == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("call", range(1, 40, 3))
def test_a_full_disk_keeps_the_finished_parts(tmp_path, monkeypatch, call):
    tokenizer = learn_tokenizer(SENTENCES * 3, 300)
    monkeypatch.setattr(
        "regard.translation.translator.load_engine", lambda *_: LoadedModel(EchoEngine(), tokenizer)
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").write_text("{}")
    source = write_lines(tmp_path / "in", 60)
    worker = LineTranslator(TranslationFolder(tmp_path / "model", MICRO, tokenizer, {}))
    job = FileJob(source, tmp_path / "out", worker, LineBatchLimits(10, 2**20), 1)

    finished = []

    def finish():
        with job.open():
            finished.extend(f"{result.number:08}" for result in job.run())
            job.merge_parts()

    disk = FaultyDisk(tmp_path, disk_full_from(call))
    with (
        disk.intercept(),
        pytest.raises(SaveError, match=r"out.parts cannot be written: No space left on device;"),
    ):
        finish()
    assert not job.output_path.exists()
    assert not list(tmp_path.rglob(".*.writing-*"))
    assert {*parts(job.output_path)} >= {*finished}
    assert finished or call < 18
    finish()
    assert job.output_path.read_bytes() == source.read_bytes()


# --- B3: same sentence, same answer (the default mode is in test_same_answer.py)


def scored(folder, model, lines, *arguments):
    """Return the JSON result of each line, to the last bit."""
    (folder / "in").write_text("".join(f"{line}\n" for line in lines))
    options = ["--input", folder / "in", "--output", folder / "out", "--json", "--deterministic"]
    search = ["--engine", "torch", "--threads", "1", "--n-best", "2", "--max-length", "6"]
    command = [sys.executable, "-c", COMMAND, "translate", model, *options, *search, *arguments]
    subprocess.run(list(map(str, command)), check=True)
    results = [json.loads(line) for line in (folder / "out").read_text("utf-8").splitlines()]
    return [{**result, "line": 0} for result in results]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_b3_order_neighbours_and_workers_change_no_bit_of_a_deterministic_translation(tmp_path, model, count):
    lines = write_lines(tmp_path / "lines", count).read_text().splitlines()
    order = Random(3).sample(range(count), count)
    others = [f"a bird sings {i}" for i in range(count)]
    one = scored(tmp_path, model, lines, "--workers", "1")
    assert len({result["score"] for result in one}) > count / 2
    assert scored(tmp_path, model, lines, "--workers", "2") == one
    shuffled = scored(tmp_path, model, [lines[i] for i in order], "--workers", "1")
    assert [
        result for _, result in sorted(zip(order, shuffled, strict=True), key=lambda each: each[0])
    ] == one
    both = [line for pair in zip(lines, others, strict=True) for line in pair]
    assert scored(tmp_path, model, both, "--workers", "1")[::2] == one


# --- B4: one long line does not exhaust memory


def peak_memory(tmp_path, model, name, lines, *arguments):
    (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in lines))
    options = [
        "--input",
        tmp_path / name,
        "--output",
        tmp_path / f"{name}.out",
        "--device",
        "cpu",
        "--beam",
        "1",
    ]
    more = ["--engine", "torch", "--max-length", "6", "--threads", "1", "--workers", "1", *arguments]
    code = f"import sys\ntry:\n    exec({COMMAND!r})\nexcept SystemExit as stop:\n    print(stop.code)\n"
    output, peak = measure_peak_memory(code, "translate", model, *options, *more)
    assert (tmp_path / f"{name}.out").read_bytes().count(b"\n") == len(lines)
    return output, peak


def check_memory(tmp_path, model, long, megabytes, rc):
    normal = [b"the cat sees the dog."] * 1000
    huge = [b"The cat sees the dog. " * (size * 10**6 // 22) for size in megabytes]
    _, usual = peak_memory(tmp_path, model, "normal", normal)
    output, peak = peak_memory(tmp_path, model, "long", [*normal[:500], *huge, *normal[500:]], "--long", long)
    assert output == rc
    assert peak < 1.2 * usual, (peak, usual)


def test_b4_huge_lines_that_are_cut_need_no_memory(tmp_path, model):
    check_memory(tmp_path, model, "cut", (1, 20), [])


@pytest.mark.slow
@pytest.mark.parametrize(("long", "rc"), [("cut", []), ("split", ["4"]), ("skip", ["4"])])
def test_b4_huge_lines_need_no_memory(tmp_path, model, long, rc):
    check_memory(tmp_path, model, long, (1, 100), rc)


@pytest.mark.parametrize("most", [30_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_file(tmp_path, model, most):
    sizes = []
    for count in (10_000, most):
        lines = write_lines(tmp_path / f"{count}", count).read_bytes().splitlines()
        sizes.append(peak_memory(tmp_path, model, f"{count}", lines)[1])
    assert sizes[1] < 1.05 * sizes[0], sizes

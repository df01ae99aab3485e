"""`regard translate`, with an engine that echoes the source where the model does not matter."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr

import pytest
import torch
from rich.console import Console

from failing_command import run_failing_command
from fake_engines import DiagonalForcedDecoder, EchoEngine
from regard.cli import translate_progress
from regard.cli.main import main
from regard.config import to_toml
from regard.model.transformer import Transformer
from regard.search.config import PAPER_SEARCH, Sampling, SearchConfig
from regard.text.tokenizer import learn_tokenizer
from regard.translation.engines import LoadedModel
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun
from regard.translation.translator import Translator
from regard.translation.unlike_training import LikelihoodCalibration

LINES = [f"the cat number {i} sings" for i in range(30)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES))
    return tmp_path


@pytest.fixture
def model(folder, micro):
    tokenizer = learn_tokenizer(LINES, 300)
    torch.manual_seed(0)
    transformer = Transformer(micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size}))
    save_translation_model(
        folder / "model", transformer, tokenizer, to_toml(TranslationRun(transformer.config)), {}
    )
    return folder / "model"


@pytest.fixture
def echo(model, monkeypatch):  # noqa: ARG001
    """What is asked of the engine."""
    engine, tokenizer = EchoEngine(), learn_tokenizer(LINES, 300)
    engine.configs = []
    heard = engine.translate

    def translate(sources, config, wishes=None):
        engine.configs.append(config)
        return heard(sources, config, wishes)

    engine.translate = translate
    ready = LoadedModel(engine, tokenizer)
    monkeypatch.setattr("regard.translation.translator.load_engine", lambda *_: ready)
    return engine


UNLIKE = "unlike the training text: the translation is less probable than 99 % in validation"


@pytest.fixture
def calibrated(echo, monkeypatch):
    """A calibration that flags translations of fewer than five tokens."""
    calibration = LikelihoodCalibration(100, -0.2, -0.2)  # all have a log-probability of -1
    ready = LoadedModel(echo, learn_tokenizer(LINES, 300), calibration=calibration)
    monkeypatch.setattr("regard.translation.translator.load_engine", lambda *_: ready)


def run(*arguments, source="in", code=0):
    """What the command writes to its output file."""
    stop = None
    try:
        main(["translate", "model", "--input", source, "--output", "out", "--device", "cpu", *arguments])
    except SystemExit as error:
        stop = error.code
    assert (stop or 0) == code
    with open("out", encoding="utf-8") as file:
        return file.read()


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "regard", "translate", "model", "--engine", "torch", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.usefixtures("echo")
def test_output_flags_select_the_columns():
    assert run() == "".join(f"{line}\n" for line in LINES)
    assert run("--scores").splitlines()[0] == f"-1.0000\t{LINES[0]}"
    rows = run("--n-best", "2", "--scores").splitlines()
    assert rows[:3] == [f"1\t-1.0000\t{LINES[0]}", f"1\t-2.0000\t{LINES[0]}", f"2\t-1.0000\t{LINES[1]}"]
    assert len(rows) == 60


def test_an_ensemble_translates(model, micro):
    tokenizer = learn_tokenizer(LINES, 300)
    config = micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size})
    save_translation_model(
        model.parent / "other", Transformer(config), tokenizer, to_toml(TranslationRun(config)), {}
    )
    short = ("--max-length", "5", "--engine", "torch")
    alone = run(*short)
    assert run(*short, "--ensemble", "model") == alone
    assert run(*short, "--scores", "--ensemble", "other") != run(*short, "--scores")
    strange = learn_tokenizer(["something else entirely"], 290)
    config = micro.__class__(**{**vars(micro), "vocab_size": strange.vocab_size})
    save_translation_model(
        model.parent / "strange", Transformer(config), strange, to_toml(TranslationRun(config)), {}
    )
    arguments = ("translate", "model", "--input", "in", "--device", "cpu", "--ensemble")
    assert "have different tokenizers and cannot form an ensemble" in run_failing_command(
        *arguments, "strange"
    )
    assert "takes one model" in run_failing_command(*arguments, "other", "--engine", "ctranslate2")
    for flags in (["--alignments"], ["--confidences", "--json"], ["--alignments", "--engine", "torch"]):
        assert "come from one model, and --ensemble gives several" in run_failing_command(
            *arguments, "other", *flags
        )


@pytest.mark.usefixtures("echo")
def test_alignments_need_forced_decoding(folder, monkeypatch):
    arguments = ("translate", "model", "--input", "in", "--alignments", "--device", "cpu")
    assert "alignments and confidences; choose torch or auto" in run_failing_command(
        *arguments, "--engine", "ctranslate2"
    )
    tokenizer = learn_tokenizer(LINES, 300)
    monkeypatch.setattr(
        "regard.translation.translator.load_engine",
        lambda *_: LoadedModel(EchoEngine(), tokenizer, get_forced_decoder=DiagonalForcedDecoder),
    )
    assert run("--alignments").splitlines()[0] == f"{LINES[0]}\t0-0 1-1 2-2 3-3 4-4"
    (folder / "one").write_text("the cat\n")
    known = json.loads(run("--json", "--confidences", source="one"))
    assert known["words"] == [{"text": "the", "confidence": 0.5}, {"text": "cat", "confidence": 0.5}]


@pytest.mark.usefixtures("echo")
def test_json_has_a_line_for_every_line(folder):
    (folder / "odd").write_bytes(b"the cat\n\xff\n\n")
    found = [json.loads(line) for line in run("--json", source="odd", code=4).splitlines()]
    assert [each["line"] for each in found] == [1, 2, 3]
    assert [each["source"] for each in found] == ["the cat", None, ""]
    assert [each["translation"] for each in found] == ["the cat", "", ""]
    assert found[1]["issue"] == {"kind": "not UTF-8", "message": "not UTF-8 (byte 1 is 0xff)"}
    assert len({tuple(each) for each in found}) == 1
    known = {
        "line",
        "source",
        "translation",
        "score",
        "log_probability",
        "tokens",
        "unlike_training",
        "issue",
    }
    assert set(found[0]) == known


def test_json_has_the_same_keys_on_every_line(folder, echo, monkeypatch):
    ready = LoadedModel(echo, learn_tokenizer(LINES, 300), get_forced_decoder=DiagonalForcedDecoder)
    monkeypatch.setattr("regard.translation.translator.load_engine", lambda *_: ready)
    (folder / "odd").write_bytes(b"the cat\n\xff\n\n")
    flags = ("--json", "--n-best", "2", "--alignments", "--confidences")
    found = [json.loads(line) for line in run(*flags, source="odd", code=4).splitlines()]
    assert [len(each["alternatives"]) for each in found] == [1, 0, 0]
    assert [each["alignment"] for each in found] == [[[0, 0], [1, 1]], [], []]
    assert [len(each["words"]) for each in found] == [2, 0, 0]
    assert len({tuple(each) for each in found}) == 1


@pytest.mark.usefixtures("model")
def test_restart_needs_a_resumable_job(folder):
    os.mkfifo(folder / "pipe")
    common = ("translate", "model", "--device", "cpu", "--restart")
    for flags in (["--input", "in"], ["--input", "pipe", "--output", "out"]):
        assert "--restart is for a FILE with -o OUT" in run_failing_command(*common, *flags)


@pytest.mark.parametrize("name", ["pipe", "/dev/stdin"])
def test_a_named_pipe_is_answered_before_it_closes(folder, model, name):
    os.mkfifo(folder / "pipe")
    translator = Translator.load(model, "cpu", "torch")
    with start("--max-length", "3", "--input", name) as process:
        writer = process.stdin.fileno() if name == "/dev/stdin" else os.open(folder / "pipe", os.O_WRONLY)
        for line in ("the cat", "sings"):
            os.write(writer, line.encode() + b"\n")
            (expected,) = translator.translate_detailed([line], SearchConfig(max_length=3))
            assert process.stdout.readline().decode() == expected.text + "\n"
        if name == "pipe":
            os.close(writer)
        process.communicate()
    assert process.returncode == 0


@pytest.mark.usefixtures("model")
def test_an_interrupted_pipe_says_that_it_cannot_resume(folder):
    process = start("--output", "out")
    process.stdin.write(b"the cat\n" * 2000)
    process.stdin.flush()
    while not list(folder.glob("*out*")):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert (
        process.communicate()[1] == b"\nstopped; stdin is a pipe: nothing is kept, and it cannot be resumed\n"
    )
    assert (process.returncode, list(folder.glob("*out*"))) == (130, [])


@pytest.mark.parametrize(
    ("arguments", "config"),
    [
        ([], PAPER_SEARCH),
        (["--beam", "7", "--alpha", "1", "--n-best", "3"], SearchConfig(7, 1.0, 3)),
        (["--min-length", "2", "--max-length", "9"], SearchConfig(min_length=2, max_length=9)),
        (["--no-repeat-ngram", "3"], SearchConfig(no_repeat_ngram=3)),
        (["--no-unknown"], SearchConfig(allow_unknown=False)),
        (["--sample"], SearchConfig(sampling=Sampling())),
        (
            ["--temperature", "0.7", "--top-k", "5", "--top-p", "0.9", "--seed", "3"],
            SearchConfig(sampling=Sampling(0.7, 5, 0.9, 3)),
        ),
    ],
)
def test_flags_reach_the_search(echo, arguments, config):
    run(*arguments)
    assert set(echo.configs) == {config}


@pytest.mark.usefixtures("folder")
def test_constraint_flags_reach_the_search(echo):
    run(
        "--prefix",
        "the",
        "--require",
        "cat",
        "--forbid",
        "dog",
        "--forbid",
        "bird",
    )
    assert [len(wish.required) for _, wish in echo.constraints] == [1] * 30
    assert all(wish.prefix for _, wish in echo.constraints)


def test_a_glossary_term_that_is_not_in_place_is_reported(folder, echo, capsys, monkeypatch):
    """The engine echoes the source, whatever is required of it."""
    tokenizer = learn_tokenizer(LINES, 300)
    ready = LoadedModel(echo, tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    monkeypatch.setattr("regard.translation.translator.load_engine", lambda *_: ready)
    (folder / "terms.csv").write_text("en,fr,de\nnumbers,x,quokka\nsings,y,sings\n")
    languages = ("--source-language", "en", "--target-language", "de", "--glossary-inflected")
    run("--glossary", "terms.csv", *languages, "--report", "report", "--json")
    rows = [json.loads(line) for line in (folder / "out").read_text().splitlines()]
    issue = {"kind": "glossary", "message": "glossary term not in place: number -> quokka"}
    assert [row["issue"] for row in rows] == [issue] * 30
    assert [row["translation"] for row in rows] == LINES
    report = [json.loads(line) for line in (folder / "report").read_text().splitlines()]
    assert report[6] == {"line": 7, **issue}
    assert (
        "30 lines (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...) glossary term not in place" in capsys.readouterr().err
    )
    assert any(wish.required for _, wish in echo.constraints)


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--beam", "0"], "beam = 0 cannot work"),
        (["--n-best", "9"], "n_best = 9 cannot work"),
        (["--temperature", "0"], "temperature = 0.0 cannot work"),
        (["--workers", "0"], "--workers = 0 cannot work"),
        (["--threads", "0"], "--threads = 0 cannot work"),
        (["--glossary", "none"], "none does not exist"),
        (["--glossary", "in"], "in line 1 is no glossary entry"),
        (["--glossary-inflected"], "--glossary-inflected needs --glossary FILE"),
        (["--source-language", "en"], "--source-language needs --glossary FILE"),
        (["--report", "none/report"], "none/report cannot be written"),
        (["--confidences"], "--confidences are written as JSON only; add --json"),
        (["--column", "text"], "--column is for documents; in is translated line by line"),
        (["--overwrite"], "--overwrite is for documents"),
        (["--target-language", "fr"], "--target-language is for documents"),
        (["--sample", "--beam", "4"], "--beam is for beam search, not for sampling"),
        (["--sample", "--require", "cat"], "required phrases and glossaries need beam search"),
    ],
)
def test_invalid_translate_options_are_rejected_before_the_work(folder, arguments, message):
    assert message in run_failing_command(
        "translate", "model", "--input", "in", "--output", "out", *arguments
    )
    assert not (folder / "out").exists()


@pytest.mark.usefixtures("echo")
def test_line_issues_are_summarized_and_exit_with_4(folder, capsys):
    long = "A sentence of some words. " * 20
    (folder / "odd").write_bytes(b"fine\n\xff\n" + long.encode() + b"\n")
    assert run("--report", "report", source="odd", code=4) == f"fine\n\n{long.strip()}\n"
    assert capsys.readouterr().err == (
        "1 line (2) not UTF-8: left empty; convert the file to UTF-8\n"
        "1 line (3) too long: translated sentence by sentence\n"
        "regard: 1 of 3 lines could not be translated and are left empty\n"
    )
    entries = [json.loads(line) for line in (folder / "report").read_text().splitlines()]
    assert [(entry["line"], entry["kind"]) for entry in entries] == [(2, "not UTF-8"), (3, "split")]


@pytest.mark.usefixtures("echo")
def test_an_empty_file_gives_an_empty_file(folder):
    (folder / "empty").write_bytes(b"")
    assert run(source="empty") == ""


def test_stdin_is_answered_before_it_closes(model):
    process = start("--max-length", "3")
    for line in ("the cat", "", "sings"):
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        (expected,) = Translator.load(model, "cpu", "torch").translate_detailed(
            [line], SearchConfig(max_length=3)
        )
        assert process.stdout.readline().decode() == expected.text + "\n"
    rest, output = process.communicate()
    assert (rest, output, process.returncode) == (b"", b"", 0)


def test_several_workers_write_the_same_output_as_one(folder, model):
    (folder / "many").write_text("".join(f"{line} {i}\n" for i in range(60) for line in LINES))
    answers = []
    for workers in ("1", "2"):
        with (folder / "many").open("rb") as file:
            command = [sys.executable, "-m", "regard", "translate", str(model), "--workers", workers]
            command += ["--engine", "torch", "--threads", "1", "--beam", "1", "--max-length", "3"]
            answer = subprocess.run(command, stdin=file, capture_output=True, check=True)
        answers.append(answer.stdout)
    assert answers[0] == answers[1]
    assert answers[0].count(b"\n") == 1800


@pytest.mark.usefixtures("model")
def test_an_error_in_a_worker_is_one_line(folder):
    weights = folder / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    process = start("--workers", "2", "--input", "in")
    assert process.communicate()[1].startswith(b"regard: model is damaged: model.safetensors is not")
    assert process.returncode == 1


def test_without_a_terminal_progress_is_printed_as_lines(monkeypatch):
    output, now = io.StringIO(), [0.0]
    monkeypatch.setattr(translate_progress, "Console", lambda stderr: Console(file=output, width=100))  # noqa: ARG005
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with translate_progress.TranslationProgress(1000, shown=True) as watch:
        watch.resume_at(200)
        for seconds, position in ((5.0, 300), (11.0, 400), (20.0, 500), (45.0, 600)):
            now[0] = seconds
            watch.add_batch(110, 2200, position)
    assert output.getvalue() == (
        "  220 lines, 20.0 sentences/s, 400 tokens/s, 0:00:33 left\n"
        "  440 lines, 9.8 sentences/s, 196 tokens/s, 0:00:45 left\n"
    )


def test_progress_inside_the_first_batch_counts_lines(monkeypatch):
    output, now = io.StringIO(), [0.0]
    monkeypatch.setattr(translate_progress, "Console", lambda stderr: Console(file=output, width=100))  # noqa: ARG005
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with translate_progress.TranslationProgress(1000, shown=True) as watch:
        now[0] = 20.0
        watch.add_lines(30)
    assert output.getvalue() == "  30 lines, 1.5 sentences/s\n"


@pytest.mark.usefixtures("model")
def test_plain_lines_load_no_document_reader():
    code = (
        "import sys; from regard.cli.main import main\n"
        "main('translate model --input in --output out --engine torch --beam 1'.split())\n"
        "print(sorted(name for name in sys.modules if name.startswith(('markdown_it', 'regard.documents.'))))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    names = ("document", "encoding", "formats", "message_template", "template")  # without any reader
    loaded = [f"regard.documents.{name}" for name in names]
    assert answer.stdout == f"{loaded}\n"


def test_help_describes_temperature_and_forbidden_phrases(capsys):
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "below 1 more conservative, above 1 more varied" in text
    assert "A translation with a forbidden phrase is searched again without it" in text


def test_help_has_groups_and_needs_no_torch():
    code = (
        "import sys; from regard.cli.main import main\n"
        "try: main(['translate', '--help'])\n"
        "except SystemExit: sys.exit('torch' in sys.modules)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert answer.returncode == 0
    for group in ("input and output", "search", "sampling", "constraints", "engine"):
        assert f"{group}:".encode() in answer.stdout


@pytest.mark.usefixtures("calibrated")
def test_lines_unlike_the_training_text_are_translated_and_reported(folder):
    (folder / "in").write_text("the cat number 1 sings\nthe\n\ncat\nbad \udcff\n", errors="surrogateescape")
    with redirect_stderr(io.StringIO()) as stderr:
        output = run("--report", "report", code=4)
    assert output == "the cat number 1 sings\nthe\n\ncat\n\n"
    issues = [json.loads(line) for line in (folder / "report").read_text().splitlines()]
    assert [issue for issue in issues if issue["line"] < 5] == [
        {"line": line, "kind": "unlike training", "message": UNLIKE} for line in (2, 4)
    ]
    share = "2 of 5 lines are unlike the training text: do not rely on their translations"
    assert share in stderr.getvalue().splitlines()


@pytest.mark.usefixtures("calibrated")
def test_a_line_unlike_the_training_text_does_not_change_the_exit_code(folder, capsys):
    (folder / "in").write_text("the\n")
    assert run(code=0) == "the\n"
    expected = "1 of 1 line is unlike the training text: do not rely on its translation\n"
    assert capsys.readouterr().err == expected


@pytest.mark.usefixtures("calibrated")
def test_json_says_of_every_line_whether_it_is_unlike_the_training_text(folder):
    (folder / "in").write_text("the\nthe cat number 1 sings\n\n")
    rows = [json.loads(line) for line in run("--json").splitlines()]
    assert [row["unlike_training"] for row in rows] == [True, False, None]
    assert all(row["issue"] is None for row in rows)


@pytest.mark.usefixtures("echo")
def test_without_calibration_no_line_is_unlike_the_training_text(capsys):
    assert {json.loads(line)["unlike_training"] for line in run("--json").splitlines()} == {None}
    assert "unlike" not in capsys.readouterr().err


@pytest.mark.usefixtures("calibrated")
def test_sentences_of_a_document_unlike_the_training_text_are_reported(folder, capsys):
    (folder / "page.html").write_text("<p>The cat number 1 sings.</p><p>the</p>")
    run("--report", "report", source="page.html")
    (issue,) = map(json.loads, (folder / "report").read_text().splitlines())
    assert issue == {"line": 2, "kind": "unlike training", "message": f"{UNLIKE}: the"}
    assert "1 of 2 sentences is unlike the training text" in capsys.readouterr().err

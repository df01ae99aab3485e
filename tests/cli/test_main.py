import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import regard
from regard.cli.main import main
from regard.cli.output import command_name
from regard.errors import RegardError, SaveError
from regard.jobs.line_report import UntranslatedError

SMALL = [
    f"--set={setting}"
    for setting in (
        "model.d_model=16",
        "model.heads=2",
        "model.d_ff=16",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
        "model.vocab_size=300",
        "data.batch_tokens=200",
        "data.bleu_pairs=2",
        "train.steps=3",
    )
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a parallel corpus."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("".join(f"the cat {i} sleeps\n" for i in range(30)))
    (tmp_path / "fr").write_text("".join(f"le chat {i} dort\n" for i in range(30)))
    return tmp_path


@pytest.fixture
def model(folder):
    run("train", "--source", "en", "--target", "fr", "--out", "run", *SMALL)
    return folder / "run"


def run(*arguments):
    main(list(arguments))


def failure(capsys, *arguments) -> str:
    """Run a command that fails; return its error message, the only line on stderr."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 1
    message = capsys.readouterr().err
    assert message.startswith("regard: ")
    assert message.index("\n") == len(message) - 1
    return message.removesuffix("\n")


def shell(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "regard", *arguments], capture_output=True, timeout=120, check=False, **options
    )


def test_training_prints_its_corpus_and_where_the_model_is(folder, capsys):
    run("train", "--source", "en", "--target", "fr", "--out", "runs/a", *SMALL)
    output = capsys.readouterr().out
    assert "27 pairs for training, 3 for validation (held out of the training files)" in output
    assert "the best model" in output
    assert "runs/a/model" in output
    assert "regard translate runs/a" in output
    assert (folder / "runs/a/model/manifest.json").is_file()


def test_training_fine_tunes_a_model(model, capsys):
    few = ["--set=data.batch_tokens=200", "--set=data.bleu_pairs=2", "--set=train.steps=2"]
    files = ["--source", "en", "--target", "fr"]
    run("train", "--from", "run", *files, "--out", "more", *few)
    assert "from run (step 3), vocabulary kept" in capsys.readouterr().out
    effective = (model.parent / "more" / "config.toml").read_text()
    assert "peak = 0.0002" in effective
    assert "d_model = 16" in effective
    wrong = failure(capsys, "train", "--from", "run", *files, "--out", "c", "--preset", "tiny")
    assert "--preset tiny conflicts with --from: the model and its size come from run" in wrong
    wrong = failure(capsys, "train", "--from", "run", *files, "--out", "c", "--set", "model.heads=4")
    assert "model.heads = 4 contradicts run, where it is 2" in wrong
    wrong = failure(capsys, "train", *files, "--out", "c", "--extend-vocabulary", "5")
    assert "start.extend_vocabulary = 5 cannot work; there is no vocabulary to extend" in wrong
    assert not (model.parent / "c").exists()


def test_automatic_settings_are_kept_and_a_changed_corpus_is_named(folder, capsys):
    few = ["--set=train.steps=2", "--set=data.bleu_pairs=2", "--set=model.max_length=32"]
    few += ["--set=model.encoder_layers=1", "--set=model.decoder_layers=1"]
    again = ["train", "--source", "en", "--target", "fr", "--out", "run", *few]
    run(*again)
    output = capsys.readouterr().out
    assert "auto    30 pairs, about 94 target tokens, on a " in output
    assert "U: a tiny model, 11 epochs\n" in output
    before = (folder / "run" / "config.toml").read_text()
    assert "d_model = 128" in before
    run(*again)
    assert "auto    settings from the start of run" in capsys.readouterr().out
    shutil.rmtree(folder / "run" / "model")  # as if it had been killed before the end
    for name, word in (
        ("en", "line"),
        ("fr", "ligne"),
    ):  # so much that new automatic settings would have larger batches
        (folder / name).write_text("".join(f"{word} {i} of a longer file\n" for i in range(6000)))
    assert "en, fr changed since run was started" in failure(capsys, *again)
    assert (folder / "run" / "config.toml").read_text() == before
    wrong = failure(capsys, *again, "--set=optimizer.beta1=0.8")
    assert "started with other settings: optimizer.beta1 was 0.9 and is 0.8; give" in wrong


@pytest.mark.usefixtures("folder")
def test_the_run_folder_is_checked_before_files_are_read(capsys):
    with pytest.raises(SystemExit) as stop:
        run("train", "--source", "none", "--target", "fr")
    assert stop.value.code == 2
    assert "there is no run folder; give -o DIR" in capsys.readouterr().err
    wrong = failure(capsys, "train", "--source", "none", "--target", "fr", "--out", "en")
    assert "en cannot be written" in wrong


def test_compare_to_paper_lists_differences_without_training(folder, capsys):
    run("train", "--recipe", "paper", "--compare-to-paper")
    assert "no setting differs from the base model of the paper" in capsys.readouterr().out
    run("train", "--recipe", "paper", "--preset", "big", "--set", "train.steps=9", "--compare-to-paper")
    output = capsys.readouterr().out
    assert "differences from the big model of the paper" in output
    assert [line.split() for line in output.splitlines() if "train.steps" in line] == [
        ["train.steps", "300000", "5.2", "Hardware", "and", "Schedule", "9"]
    ]
    assert "not specified in the paper" in output
    assert sorted(path.name for path in folder.iterdir()) == ["en", "fr"]
    tiny = ["--recipe", "paper", "--preset", "tiny", "--compare-to-paper"]
    assert "a base and a big model" in failure(capsys, "train", *tiny)


def test_lines_are_translated_in_order(model):
    (model.parent / "new").write_text("the cat 3 sleeps\n\nthe cat\n")
    run("translate", "run", "--input", "new", "--output", "out")
    lines = (model.parent / "out").read_text().split("\n")
    assert len(lines) == 4
    assert lines[1] == lines[3] == ""
    expected = regard.Translator.load(model).translate(["the cat 3 sleeps", "", "the cat"])
    assert lines[:3] == expected


def test_compressed_input_and_beam_settings_are_used(model):
    (model.parent / "new.gz").write_bytes(gzip.compress(b"the cat 3 sleeps\n\nthe cat\n"))
    run("translate", "run", "--input", "new.gz", "--output", "out", "--beam", "2", "--alpha", "1")
    expected = regard.Translator.load(model).translate(["the cat 3 sleeps", "", "the cat"], beam=2, alpha=1.0)
    assert (model.parent / "out").read_text().split("\n")[:3] == expected


def test_stdout_has_only_translations(model):
    answer = shell("translate", "run", input=b"the cat\nsleeps", cwd=model.parent)
    assert answer.returncode == 0
    assert answer.stdout.count(b"\n") == 2
    assert answer.stderr == b""


def test_flags_override_set_which_overrides_the_run_file(folder):
    (folder / "run.toml").write_text(
        '[data]\nsource = "en"\ntarget = "fr"\nbleu_pairs = 2\n[train]\nsteps = 9\nseed = 4\n'
        "[model]\nd_model = 16\nheads = 2\nd_ff = 8\nvocab_size = 300\n"
    )
    run("train", "--config", "run.toml", "--out", "run", "--preset", "tiny", "--set", "train.steps=2")
    from regard.config import read_settings

    settings = read_settings(folder / "run" / "config.toml")
    assert settings["train"]["steps"] == 2
    assert settings["train"]["seed"] == 4
    assert settings["model"]["d_ff"] == 8
    assert settings["data"]["source"] == ["en"]


def test_several_corpora_are_trained_on_with_their_weights(folder, capsys):
    (folder / "more.tsv").write_text("".join(f"the dog {i} eats\tle chien {i} mange\n" for i in range(20)))
    files = ["--source", "en", "--target", "fr", "--pairs", "more.tsv", "--set", "data.weights=[1, 2.5]"]
    run("train", *files, "--out", "run", *SMALL)
    assert "45 pairs for training, 5 for validation" in capsys.readouterr().out
    report = json.loads((folder / "run" / "data.json").read_text())
    assert list(report["files"]) == ["en", "fr", "more.tsv"]


def test_bad_pairs_are_reported_and_rejected_with_strict(folder, capsys):
    (folder / "fr").write_text("".join(f"le chat {i} dort\n" if i != 3 else "\n" for i in range(30)))
    files = ["--source", "en", "--target", "fr", "--out", "run", *SMALL]
    assert "en and fr line 4: blank side; in all" in failure(capsys, "train", *files, "--strict")
    assert not (folder / "run").exists()
    run("train", *files)
    assert "left out of training: blank side (1)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "none", "--target", "fr"], "none does not exist"),
        (["--source", "empty", "--target", "fr"], "empty is empty"),
        (["--source", "short", "--target", "fr"], "short has 1 lines and fr 30; the two sides must pair"),
        (
            ["--source", "latin", "--target", "fr"],
            "latin and fr: no usable pair; most frequent defect: not UTF-8",
        ),
        ([], "there is nothing to train on; give --source FILE and --target FILE, or --pairs FILE"),
        (["--source", "en"], "data.source has 1 file and data.target 0 files; each source goes with"),
        (["--pairs", "fr"], "fr does not say how it holds pairs; its name must end in .tsv, .csv"),
        (["--source", "en", "--target", "fr", "--valid-source", "en"], "go together"),
        (["--source", "en", "--target", "fr", "--set", "train.step=3"], "did you mean train.steps?"),
        (
            ["--source", "en", "--target", "fr", "--set", "model.heads=5"],
            "does not divide into model.heads = 5",
        ),
        (
            ["--source", "en", "--target", "fr", "--set", "model.vocab_size=9"],
            "model.vocab_size = 9 is too small",
        ),
        (["--source", "en", "--target", "fr", "--config", "none.toml"], "none.toml does not exist"),
    ],
)
def test_bad_input_is_one_error_line_and_leaves_nothing(folder, capsys, arguments, message):
    (folder / "empty").write_bytes(b"")
    (folder / "short").write_text("one\n")
    (folder / "latin").write_bytes("é\n".encode("latin-1") * 30)
    before = sorted(folder.iterdir())
    assert message in failure(capsys, "train", *arguments, "--out", "run")
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("folder")
def test_an_impossible_run_folder_is_rejected(capsys):
    assert "en/run cannot be written" in failure(
        capsys, "train", "--source", "en", "--target", "fr", "--out", "en/run"
    )


def test_a_finished_run_is_not_trained_again(model, capsys):
    before = (model / "model" / "manifest.json").read_bytes()
    run("train", "--source", "en", "--target", "fr", "--out", "run", *SMALL)
    output = capsys.readouterr().out
    assert "run is finished; to train longer: regard train --out run --steps 6" in output
    assert "done: the best model, of step 3" in output
    assert (model / "model" / "manifest.json").read_bytes() == before


def test_a_finished_run_trains_on_with_more_steps(model, capsys):
    run("train", "--source", "en", "--target", "fr", "--out", "run", *SMALL, "--set", "train.steps=5")
    assert "resumes from step 3 of 5" in capsys.readouterr().out
    assert (model / "step-000005").is_dir()
    assert json.loads((model / "model" / "manifest.json").read_text())["step"] in (3, 5)


@pytest.mark.usefixtures("model")
def test_changed_settings_of_a_run_are_rejected_by_name(capsys):
    changed = ["--set", "train.seed=2", "--set", "model.d_ff=24"]
    message = failure(capsys, "train", "--source", "en", "--target", "fr", "--out", "run", *SMALL, *changed)
    assert (
        "run was started with other settings: model.d_ff was 16 and is 24, train.seed was 1 and is 2"
        in message
    )


@pytest.mark.usefixtures("model")
def test_a_run_with_a_cooldown_cannot_be_made_shorter(capsys):
    files = ["--source", "en", "--target", "fr", "--out", "cool", "--set", "optimizer.cooldown=2"]
    run("train", *files, *SMALL)
    before = Path("cool/config.toml").read_text()
    assert "train.steps was 3 and is 2" in failure(capsys, "train", "--out", "cool", "--steps", "2")
    assert Path("cool/config.toml").read_text() == before


def test_translate_rejects_a_folder_without_a_model(folder, capsys):
    assert "nowhere does not exist" in failure(capsys, "translate", "nowhere", "--input", "en")
    (folder / "folder").mkdir()
    assert "folder is not a model folder" in failure(capsys, "translate", "folder", "--input", "en")


def test_translate_rejects_a_damaged_model(model, capsys):
    weights = model / "model" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    message = failure(capsys, "translate", "run", "--input", "en")
    assert "is damaged: model.safetensors is not what was written" in message


@pytest.mark.usefixtures("model")
def test_translate_names_bad_input_and_output(capsys):
    assert "none does not exist" in failure(capsys, "translate", "run", "--input", "none")
    assert "cannot be written" in failure(capsys, "translate", "run", "--input", "en", "--output", "no/out")


def test_output_follows_links_and_writes_to_pipes(model):
    folder = model.parent
    (folder / "new").write_text("the cat\n")
    (folder / "real").write_text("old")
    (folder / "link").symlink_to("real")
    run("translate", "run", "--input", "new", "--output", "link")
    assert (folder / "link").is_symlink()
    expected = (folder / "real").read_text()
    assert expected not in ("", "old")
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, cwd=folder)
    run("translate", "run", "--input", "new", "--output", "pipe")
    assert reader.communicate(timeout=30)[0].decode() == expected
    assert (folder / "pipe").is_fifo()
    (folder / "all").write_text("before\n")
    command = f"{sys.executable} -m regard translate run --input new --output /dev/stdout >> all"
    subprocess.run(["bash", "-c", command], check=True, timeout=60, cwd=folder)
    assert (folder / "all").read_text() == "before\n" + expected


def test_an_output_keeps_its_permissions(model):
    (model.parent / "secret").touch(mode=0o600)
    run("translate", "run", "--input", "en", "--output", "secret")
    assert (model.parent / "secret").stat().st_mode & 0o777 == 0o600


def test_an_unwritable_output_is_rejected_before_the_work(model, capsys):
    (model.parent / "folder").mkdir()
    for output in ("folder", ".", "en/out"):
        assert "cannot be written" in failure(capsys, "translate", "nowhere", "--output", output)


def test_output_is_replaced_only_when_complete(model, monkeypatch):
    (model.parent / "out").write_text("before")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(SystemExit) as stop:
        run("translate", "run", "--input", "en", "--output", "out")
    assert stop.value.code == 130
    assert (model.parent / "out").read_text() == "before"
    assert not list(model.parent.glob(".out*"))


def test_a_closed_output_pipe_is_not_an_error(model):
    (model.parent / "many").write_text("the cat\n" * 3000)
    code = f"{sys.executable} -m regard translate run --input many | head -n 1"
    answer = subprocess.run(
        ["bash", "-c", code], capture_output=True, timeout=120, check=False, cwd=model.parent
    )
    assert answer.stdout.count(b"\n") == 1
    assert answer.stderr == b""


def test_typed_input_is_answered_line_by_line(model):
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "translate", "run"],
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=model.parent,
    )
    os.write(leader, b"the cat\n")
    first = process.stdout.readline()
    os.write(leader, b"not \xff UTF-8\nthe cat\n\x04")
    rest, output = process.communicate(timeout=60)
    os.close(leader)
    os.close(follower)
    assert b"\n" + first == rest
    assert b"Type a sentence" in output
    assert b"regard: line 2: not UTF-8 (byte 5 is 0xff)" in output
    assert process.returncode == 4


def test_settings_are_validated_after_merging_files_and_flags(folder):
    (folder / "run.toml").write_text("[model]\nheads = 6\n")
    (folder / "new.en").write_text("the dog sleeps\n")
    (folder / "new.fr").write_text("le chien dort\n")
    options = ["--config", "run.toml", "--set", "model.d_model=36", "--set", "data.valid_source=new.en"]
    run(
        "train",
        "--source",
        "en",
        "--target",
        "fr",
        "--valid-target",
        "new.fr",
        "--out",
        "run",
        *SMALL[2:],
        *options,
    )
    assert (folder / "run" / "model").is_dir()


def test_a_terminal_encoding_does_not_stop_a_training(folder):
    (folder / "zh").write_text("".join(f"猫 {i} 睡觉\n" for i in range(30)), encoding="utf-8")
    answer = shell(
        *("train", "--source", "zh", "--target", "fr", "--out", "run", *SMALL),
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert answer.returncode == 0, answer.stderr
    assert (folder / "run" / "model").is_dir()


def test_the_demo_trains_once_and_shows_results(folder, capsys, monkeypatch):
    monkeypatch.setattr(
        "regard.inference.engine.EXTRA_LENGTH", 0
    )  # an untrained model does not know when to stop
    run("demo", "--pairs", "200", "--steps", "3")
    first = capsys.readouterr().out
    assert "Training on 200 pairs" in first
    run("demo")
    second = capsys.readouterr().out
    assert "runs/demo/model exists" in second
    for output in (first, second):
        assert "1,000 unseen sentences: BLEU" in output
        assert "Jane visits Africa in September." in output
        assert "translate runs/demo" in output
        assert "explore runs/demo" in output
        assert (folder / "runs/demo/translation.html").as_uri() in output
    assert "Jane visits Africa" in (folder / "runs/demo/translation.html").read_text("utf-8")


@pytest.mark.parametrize("option", ["--pairs", "--steps"])
def test_an_empty_demo_is_rejected_and_leaves_nothing(folder, capsys, option):
    before = sorted(folder.iterdir())
    assert "= 0 cannot work; it must be at least 1" in failure(capsys, "demo", option, "0")
    assert sorted(folder.iterdir()) == before


def test_suggested_commands_use_the_name_of_the_called_command(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(sys, "argv", [".venv/bin/regard", "demo"])
    assert command_name() == ".venv/bin/regard"
    monkeypatch.setattr(sys, "argv", ["somewhere/__main__.py", "demo"])
    assert command_name() == f"{sys.executable} -m regard"
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/regard")
    assert command_name() == "regard"


def test_debug_shows_the_traceback(folder):
    arguments = ("train", "--source", "none", "--target", "fr", "--out", "run")
    assert b"Traceback" not in shell(*arguments, cwd=folder).stderr
    shown = shell(*arguments, "--debug", cwd=folder)
    assert b"Traceback" in shown.stderr
    assert b"DataError" in shown.stderr


def test_an_error_exits_with_1_and_prints_one_line(folder):
    answer = shell("train", "--source", "none", "--target", "fr", "--out", "run", cwd=folder)
    assert (answer.returncode, answer.stdout) == (1, b"")
    assert answer.stderr.decode().splitlines() == [
        "regard: none does not exist; give the path of a text file"
    ]


def test_ctrl_c_saves_a_model_that_translates(folder):
    files = ["--source", "en", "--target", "fr", "--out", "run"]
    endless = ["--set", "train.steps=1000000", "--set", "train.log_every=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "train", *files, *SMALL, *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    metrics, deadline = folder / "run" / "metrics.jsonl", time.monotonic() + 60
    while time.monotonic() < deadline and not (metrics.exists() and b'"train"' in metrics.read_bytes()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert b"interrupted after step" in output
    assert b"the same command resumes" in output
    assert len(regard.Translator.load(folder / "run").translate(["the cat"])) == 1


def test_ctrl_c_saves_even_if_the_output_pipe_is_closed(folder):
    command = " ".join(
        [
            f"exec {sys.executable} -m regard train --source en --target fr --out run",
            *SMALL,
            "--set train.steps=1000000 --set train.log_every=1 --set train.save_every=1000000",
        ]
    )
    pipe_out, pipe_in = os.pipe()
    process = subprocess.Popen(["bash", "-c", command], stdout=pipe_in, stderr=pipe_in, cwd=folder)
    os.close(pipe_in)
    metrics, deadline = folder / "run" / "metrics.jsonl", time.monotonic() + 60
    while time.monotonic() < deadline and not (metrics.exists() and b'"train"' in metrics.read_bytes()):
        time.sleep(0.05)
    os.close(pipe_out)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert list((folder / "run").glob("step-*"))


def test_version_and_help_print_usage(capsys):
    for arguments, expected in (
        (["--version"], f"regard {regard.__version__}"),
        (["--help"], "regard train --source"),
        (["train", "--help"], "the base model of the paper"),
        (["train", "--help"], "a classifier on labelled texts"),
        (["translate", "--help"], "regard translate runs/demo new.en"),
        (["score", "--help"], "regard score --hypotheses"),
        (["demo", "--help"], "phrasebook"),
    ):
        with pytest.raises(SystemExit) as stop:
            run(*arguments)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_help_lists_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        run("--help")
    text = capsys.readouterr().out
    codes = re.findall(r"^  (\d+)  ", text[text.index("exit codes") :], re.MULTILINE)
    errors = {each.exit_code for each in (RegardError, SaveError, UntranslatedError)}
    assert codes == ["0", "1", "2", "3", "4", "129", "130", "143"]
    assert {str(code) for code in errors} <= set(codes)


@pytest.mark.parametrize(
    "statement", ["import regard", "from regard.cli.main import _build_parser; _build_parser()"]
)
def test_neither_import_nor_help_loads_torch(statement):
    code = (
        f"import sys; {statement}; print(sorted(m for m in sys.modules if m in ('torch', 'numpy', 'rich')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert answer.stdout.strip() == "[]"


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Transformr'"):
        regard.Transformr  # noqa: B018
    assert "Translator" in dir(regard)


def test_metrics_of_a_run_are_json(model):
    events = [json.loads(line)["kind"] for line in (model / "metrics.jsonl").read_text().splitlines()]
    assert events == ["run", "train", "valid"]

"""How long `regard train` trains, resumes, and trains with several seeds."""

import json
import re
import shutil
import statistics
from pathlib import Path

import pytest

from labelled_corpus import write_labelled_file
from regard.checkpoint import WEIGHTS_FILE, file_sha256
from regard.cli.main import main
from regard.config import read_settings
from regard.training.run_folder import read_run_settings
from regard.training.schedule import MeasuredSpeed

FILES = ["--source", "en", "--target", "fr"]
SIZES = [
    f"--set={setting}"
    for setting in (
        "model.d_model=16",
        "model.heads=2",
        "model.d_ff=16",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
        "model.vocab_size=300",
        "data.batch_tokens=200",
        "data.bleu_pairs=1",
    )
]
FIXED = ["--set=optimizer.warmup=4", "--set=optimizer.peak=0.01", "--set=train.save_every=10"]


@pytest.fixture(autouse=True)
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("".join(f"the cat {i} sleeps\n" for i in range(60)))
    Path("fr").write_text("".join(f"le chat {i} dort\n" for i in range(60)))


@pytest.fixture
def speed(monkeypatch):
    """Steps of one second, whatever the machine."""
    monkeypatch.setattr("regard.training.harness.measure_speed", lambda *_: MeasuredSpeed(1.0, 5.0))


def train(*arguments):
    main(["train", *arguments])


def failure(capsys, *arguments) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(list(arguments))
    return capsys.readouterr().err


def weights(folder: str, step: int) -> str:
    return file_sha256(Path(folder) / f"step-{step:06}" / WEIGHTS_FILE)


def logged_rates(folder: str) -> dict[int, float]:
    rows = map(json.loads, Path(folder, "metrics.jsonl").read_text().splitlines())
    return {row["step"]: row["lr"] for row in rows if row["kind"] == "train"}


@pytest.mark.usefixtures("speed")
def test_minutes_plan_a_whole_schedule_that_equals_the_same_steps(capsys):
    train(*FILES, *SIZES, "--minutes", "2", "--out", "timed")
    output = capsys.readouterr().out
    # 120 s less a tenth, another tenth for validations, and 5 s of measuring
    assert "plan    2 minutes: about 91 steps (measured 1 s each), warm-up 18, cooldown 45" in output
    settings = read_settings(Path("timed/model/config.toml"))
    assert (settings["train"]["steps"], settings["optimizer"]["cooldown"]) == (91, 45)
    rates = logged_rates("timed")
    assert rates[91] < 0.06 * max(rates.values())
    train(*FILES, *SIZES, "--steps", "91", "--out", "counted")
    assert weights("timed", 91) == weights("counted", 91)


@pytest.mark.usefixtures("speed")
def test_a_planned_run_resumes_with_its_plan_from_its_folder_alone(monkeypatch, capsys):
    train(*FILES, *SIZES, "--minutes", "2", "--out", "run")
    before = weights("run", 91)
    for name in ("model", "step-000091"):
        shutil.rmtree(Path("run", name))
    monkeypatch.setattr("regard.training.harness.measure_speed", lambda *_: pytest.fail("measured again"))
    capsys.readouterr()
    train("--out", "run")
    assert "of 91" in capsys.readouterr().out
    assert weights("run", 91) == before
    train("--out", "run")
    assert "run is finished; to train longer: regard train --out run --minutes 4" in capsys.readouterr().out


@pytest.mark.usefixtures("speed")
def test_settings_that_were_given_win_over_the_plan():
    train(*FILES, *SIZES, "--minutes", "1", "--set", "optimizer.warmup=30", "--out", "run")
    assert read_settings(Path("run/model/config.toml"))["optimizer"]["warmup"] == 30


def test_epochs_are_counted_in_batches_of_the_corpus(capsys):
    train(*FILES, *SIZES, "--epochs", "2.5", "--out", "run")
    batches = read_settings(Path("run/model/config.toml"))["train"]["steps"] / 2.5
    assert "plan    2.5 epochs: " in capsys.readouterr().out
    train(*FILES, *SIZES, "--epochs", "1", "--out", "one")
    assert read_settings(Path("one/model/config.toml"))["train"]["steps"] == pytest.approx(batches, abs=0.4)


@pytest.mark.usefixtures("speed")
def test_fine_tuning_follows_the_limit():
    train(*FILES, *SIZES, "--steps", "2", "--out", "parent")
    train("--from", "parent", *FILES, "--set", "data.bleu_pairs=1", "--minutes", "1", "--out", "child")
    settings = read_settings(Path("child/model/config.toml"))
    assert (settings["optimizer"]["warmup"], settings["optimizer"]["cooldown"]) == (8, 21)
    assert settings["optimizer"]["peak"] == 2e-4


def test_a_longer_run_goes_back_before_its_cooldown_and_equals_one_planned_so_long(capsys):
    train(*FILES, *SIZES, *FIXED, "--steps", "60", "--out", "run")
    capsys.readouterr()
    train("--out", "run", "--steps", "100")
    output = capsys.readouterr().out
    assert (
        "run is made longer, from 60 to 100 steps: it continues from step 30, before its cooldown" in output
    )
    assert "resumes from step 30 of 100" in output
    train(*FILES, *SIZES, *FIXED, "--steps", "100", "--out", "whole")
    assert weights("run", 100) == weights("whole", 100)
    assert logged_rates("run") == logged_rates("whole")


def test_a_run_that_has_not_reached_its_cooldown_goes_on_from_its_last_checkpoint(capsys):
    train(*FILES, *SIZES, *FIXED, "--steps", "60", "--out", "run")
    for path in ("model", "step-000060", "step-000050"):
        shutil.rmtree(Path("run", path))
    train("--out", "run", "--steps", "90")
    assert "resumes from step 30 of 90" in capsys.readouterr().out


def test_a_cooldown_from_the_first_step_means_to_start_again(capsys):
    write_labelled_file(Path("things.tsv"))
    sizes = ["--set", "model.d_model=16", "--set", "model.heads=2", "--set", "optimizer.cooldown=20"]
    train("--labelled", "things.tsv", *sizes, "--steps", "20", "--out", "run")
    train("--out", "run", "--steps", "30", "--set", "train.log_every=20")
    assert "no checkpoint is older than its cooldown, so it starts again at step 1" in capsys.readouterr().out
    assert read_settings(Path("run/model/config.toml"))["train"]["steps"] == 30


def test_seeds_share_their_split_and_can_be_an_ensemble(capsys):
    command = [*FILES, *SIZES, "--steps", "2", "--seeds", "1,2,3", "--out", "runs"]
    train(*command)
    output = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in output.splitlines() if line.strip()}
    assert rows["validation"][1] == "loss"
    losses = [float(re.search(rf"seed {seed} +([0-9.]+)", output)[1]) for seed in (1, 2, 3)]
    assert len(set(losses)) == 3
    assert float(rows["mean"][1]) == pytest.approx(statistics.fmean(losses), abs=1e-4)
    assert float(rows["deviation"][1]) == pytest.approx(statistics.stdev(losses), abs=1e-4)
    Path("new").write_text("the cat 3 sleeps\n")
    suggested = re.search(r"ensemble: .*(translate .*) < FILE", output)[1].split()
    assert suggested[2:] == ["--ensemble", "runs/seed-2", "--ensemble", "runs/seed-3"]
    main([*suggested, "--input", "new", "--output", "out"])
    before = Path("runs/seed-1/model/manifest.json").read_bytes()
    capsys.readouterr()
    train(*command)
    output = capsys.readouterr().out
    assert "runs/seed-1 is finished" in output
    assert "deviation" in output
    assert Path("runs/seed-1/model/manifest.json").read_bytes() == before
    main(["score", "runs", "--source", "en", "--reference", "fr", "--beam", "1", "--target-language", "fr"])
    assert "mean of runs" in capsys.readouterr().out
    main(["plot", "runs", "-o", "runs.svg"])
    assert all(f">seed-{seed}, best" in Path("runs.svg").read_text() for seed in (1, 2, 3))
    assert "give --seeds 1,2,3 to go on with them" in failure(capsys, "train", *FILES, "--out", "runs")
    assert "give one of them, as in runs/seed-1" in failure(capsys, "translate", "runs", "--input", "new")


def test_an_older_run_keeps_the_split_of_its_training_seed():
    train(*FILES, *SIZES, "--steps", "2", "--seed", "4", "--set", "data.split_seed=4", "--out", "run")
    for config in Path("run").glob("**/config.toml"):
        new = re.sub(r"(split_seed|epochs|planned) = .*\n", "", config.read_text())
        config.write_text(new)
    assert read_run_settings(Path("run"))["data"]["split_seed"] == 4
    shutil.rmtree("run/model")
    shutil.rmtree("run/step-000002")
    train(*FILES, *SIZES, "--set", "train.steps=2", "--seed", "4", "--out", "run")
    assert read_settings(Path("run/model/config.toml"))["data"]["split_seed"] == 4


def test_a_missing_package_is_named_before_the_corpus_is_read(monkeypatch, capsys):
    monkeypatch.setattr("regard.runtime.importlib.util.find_spec", lambda _: None)
    for arguments, message in (
        ([*FILES, "--set", "train.tensorboard=true"], 'tensorboard: pip install "regard[tensorboard]"'),
        (["--source", "en", "--target", "none.zst"], 'zstandard: pip install "regard[zst]"'),
        (["--series", "none.parquet"], 'pyarrow: pip install "regard[parquet]"'),
    ):
        assert message in failure(capsys, "train", *arguments, "--out", "run")
    assert not Path("run").exists()

import json
import os
import sys

import numpy as np
import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import _paired_bs_test

from failing_command import run_failing_command
from regard.cli.main import main
from regard.errors import RegardError
from regard.metrics.comet import CometModel, compare_comet

PACKAGE = '''
"""A package with the calls of unbabel-comet 2.2.7, whose scores can be computed by hand."""
import os, sys

print("loading on stdout, as packages do")


class Prediction(dict):
    __getattr__ = dict.__getitem__


class Model:
    def predict(self, samples, batch_size=16, gpus=1, devices=None, mc_dropout=0, progress_bar=True,
                accelerator="auto", num_workers=None, length_batching=True):
        assert gpus == 0 and num_workers == 0
        print("predicting", file=sys.stderr)
        if any("crash" in each["src"] for each in samples):
            raise ValueError("out of memory")
        scores = [len(each["src"]) + len(each["mt"]) / 10 + len(each["ref"]) / 1000 for each in samples]
        return Prediction(scores=scores, system_score=sum(scores) / len(scores))


def load_from_checkpoint(checkpoint_path, reload_hparams=False, strict=False, local_files_only=False):
    assert local_files_only and os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1"
    with open(checkpoint_path) as file:
        if file.read() != "weights":
            raise OSError("Can't load tokenizer for 'xlm-roberta-large'")
    return Model()
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A test set, a model folder, and the stand-in for the package, which this Python then has."""
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    (site / "comet").mkdir(parents=True)
    (site / "comet" / "__init__.py").write_text(PACKAGE)
    (site / "torch.py").write_text("class cuda:\n    is_available = staticmethod(lambda: False)\n")
    information = site / "unbabel_comet-2.2.7.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 2.2.7\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "model" / "checkpoints").mkdir(parents=True)
    (tmp_path / "model" / "checkpoints" / "model.ckpt").write_text("weights")
    (tmp_path / "model" / "hparams.yaml").write_text("class_identifier: regression_metric\n")
    for name, lines in (
        ("src", ["a", "bb", "ccc"]),
        ("mine", ["a b", "a", "ü b c"]),
        ("theirs", ["a", "a", "a"]),
        ("ref", ["a b", "a c", "a b d"]),
    ):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    return tmp_path


FILES = ("--hypotheses", "mine", "--reference", "ref", "--metrics", "ter")


@pytest.mark.usefixtures("folder")
def test_comet_is_a_score_beside_the_others(capsys):
    main(["score", *FILES, "--source", "src", "--comet", "model", "--json"])
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert found["scores"]["comet"]["score"] == pytest.approx((6 + 0.9 + 0.011) / 3)
    assert found["scores"]["comet"]["signature"] == "comet:model|refs:1|unbabel-comet:2.2.7"
    assert output.err == ""
    main(
        [
            "score",
            *FILES,
            "--reference",
            "theirs",
            "--source",
            "src",
            "--comet",
            "model",
            "--baseline",
            "theirs",
        ]
    )
    *_, score, _, difference = capsys.readouterr().out.splitlines()
    assert score.split() == ["COMET", "2.3037", "comet:model|refs:first", "of", "2|unbabel-comet:2.2.7"]
    assert difference.startswith("COMET +0.2000 over theirs, which has 2.1037: ")


@pytest.mark.usefixtures("folder")
def test_several_systems_have_comet_in_their_table(capsys):
    main(["score", *FILES, "--hypotheses", "theirs", "--source", "src", "--comet", "model"])
    _, head, mine, theirs, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["system", "TER", "COMET", "p", "TER", "p", "COMET"]
    assert (mine.split()[2], theirs.split()[2]) == ("2.3037", "2.1037")


def test_the_language_pair_of_comet_needs_the_source(folder):
    assert "give --source FILE" in run_failing_command("score", *FILES, "--comet", "model")
    assert "--comet-python is for --comet FOLDER" in run_failing_command(
        "score", *FILES, "--comet-python", "python"
    )
    message = run_failing_command("score", *FILES, "--source", "src", "--comet", "site")
    assert "--comet site has no checkpoints/model.ckpt; give the folder of a COMET model" in message
    (folder / "model" / "checkpoints" / "model.ckpt").write_text("other weights")
    message = run_failing_command("score", "nowhere", *FILES[2:], "--source", "src", "--comet", "model")
    assert (
        message
        == "regard: COMET with model failed: OSError: Can't load tokenizer for 'xlm-roberta-large'\n".strip()
    )


@pytest.mark.usefixtures("folder")
def test_a_missing_package_is_found_before_anything_is_loaded(monkeypatch):
    arguments = ("score", "nowhere", *FILES[2:], "--source", "src", "--comet", "model")
    assert "--comet-python no/python cannot be run: No such file" in run_failing_command(
        *arguments, "--comet-python", "no/python"
    )
    monkeypatch.delenv("PYTHONPATH")
    message = run_failing_command(*arguments, "--comet-python", sys.executable)
    assert message.startswith(f"regard: --comet needs unbabel-comet, which {sys.executable} does not have")
    assert "comet/bin/pip install unbabel-comet; --comet-python comet/bin/python" in message


def test_a_failure_while_scoring_is_one_error(folder):
    with (
        CometModel(folder / "model") as model,
        pytest.raises(RegardError, match=r"model failed: ValueError: out of memory$"),
    ):
        model.score_sentences(["crash"], [["a"]], ["b"])


def test_a_model_in_the_cache_of_hugging_face_has_the_name_of_its_repository(folder):
    snapshot = (
        folder / "models--Unbabel--wmt22-comet-da" / "snapshots" / "2760a223ac957f30acfb18c8aa649b01cf1d75f2"
    )
    snapshot.parent.mkdir(parents=True)
    (folder / "model").rename(snapshot)
    with CometModel(snapshot) as model:
        assert model.name == "Unbabel/wmt22-comet-da@2760a223"


class Mean(Metric):
    """The mean of sentence scores, as sacreBLEU computes with metrics."""

    def _extract_corpus_statistics(self, hypotheses, references):  # noqa: ARG002
        return [[float(text), 1.0] for text in hypotheses]

    def _compute_score_from_stats(self, stats):
        return type("Score", (), {"score": float(stats[0] / stats[1])})

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats(np.sum(stats, axis=0))

    _preprocess_segment = _extract_reference_info = _compute_segment_statistics = None


def test_the_p_value_is_that_of_sacrebleus_paired_bootstrap():
    values = np.random.default_rng(0).normal(0.8, 0.1, (2, 200)).round(3)
    values[1] += 0.01
    metric = Mean()
    baseline = metric._extract_corpus_statistics(values[0], None)
    info = {"comet": (baseline, metric._aggregate_and_compute(baseline))}
    _, expected = _paired_bs_test(info, "x", list(map(str, values[1])), None, {"comet": metric}, seed=12345)
    found = compare_comet(values[1].tolist(), values[0].tolist(), "comet:x")
    assert found.p_value == pytest.approx(expected["comet"].p_value, abs=0.002)
    assert 0.01 < found.p_value < 0.6
    assert found.score - found.baseline == pytest.approx(values[1].mean() - values[0].mean())
    assert compare_comet([0.5, 0.6], [0.5, 0.6], "s").p_value == 1.0
    assert found.signature == "comet:x|bs:1000|seed:12345"

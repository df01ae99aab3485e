import json
import math

import pytest

from failing_command import run_failing_command
from regard.cli.main import main
from regard.cli.output import write_output

SMALL = ["model.d_model=16", "model.heads=2", "model.d_ff=16", "model.encoder_layers=1"]
SMALL += ["model.decoder_layers=1", "model.vocab_size=300", "data.bleu_pairs=2", "train.steps=3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a test set and a model that knows next to nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 3)
    (tmp_path / "en").write_text("".join(f"the cat {i} sleeps\n" for i in range(12)) + "\n")
    (tmp_path / "fr").write_text("".join(f"le chat {i} dort bien.\n" for i in range(12)) + "\n")
    main(["train", "--source", "en", "--target", "fr", "--out", "run", *(f"--set={each}" for each in SMALL)])
    return tmp_path


def test_each_reference_gets_a_line_and_totals_add_up(folder, capsys):
    asked = ["score", "run", "--score-references", "--source", "en", "--reference", "fr"]
    capsys.readouterr()
    main(asked)
    lines, output = capsys.readouterr()
    rows = [tuple(map(float, line.split("\t"))) for line in lines.splitlines()]
    assert len(rows) == 13
    main([*asked, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert rows == [(round(g["log_probability"], 4), round(g["perplexity"], 4)) for g in found["references"]]
    first = found["references"][0]
    assert first["words"] == ["le", "chat", "0", "dort", "bien."]
    assert "".join(first["tokens"]) == " le chat 0 dort bien."
    assert len(first["log_probabilities"]) == len(first["tokens"]) + 1
    assert math.exp(-first["log_probability"] / len(first["log_probabilities"])) == pytest.approx(
        first["perplexity"]
    )
    assert [link.split("-")[1] for link in sorted(first["alignment"].split(), key=lambda x: x[-1])] == [
        *"01234"
    ]
    assert all(0 < sure <= 1 for sure in first["confidences"])
    assert found["log_probability"] == pytest.approx(sum(g["log_probability"] for g in found["references"]))
    assert f"perplexity {found['perplexity']:.4f}" in output
    assert found["references"][-1]["words"] == []  # a blank line has a likelihood too
    write_output(folder / "long", b"word " * 300 + b"\n" + b"a\n" * 12)
    error = run_failing_command("score", "run", "--score-references", "--source", "en", "--reference", "long")
    assert "translation 1 has" in error
    assert "leave that pair out" in error


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--score-references", "--reference", "fr"], "--score-references needs a MODEL and --source FILE"),
        (
            ["run", "--score-references", "--source", "en", "--reference", "fr", "--baseline", "fr"],
            "--baseline is for comparing translations, not for --score-references",
        ),
        *(
            (
                ["run", "--score-references", "--source", "en", "--reference", "fr", *flag],
                f"{flag[0]} is for translating; --score-references decodes the references in fp32",
            )
            for flag in (
                ("--beam", "4"),
                ("--alpha", "0"),
                ("--engine", "auto"),
                ("--precision", "int8"),
            )
        ),
        (
            ["run", "--score-references", "--source", "en", "--reference", "fr", "--threads", "0"],
            "--threads = 0",
        ),
        (["run", "--score-references", "--source", "en", "--reference", "one"], "must match line by line"),
    ],
)
def test_invalid_score_references_flags_are_rejected_before_the_work(tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("a\nb\n")
    (tmp_path / "fr").write_text("a\nb\n")
    (tmp_path / "one").write_text("a\n")
    assert message in run_failing_command("score", *flags)

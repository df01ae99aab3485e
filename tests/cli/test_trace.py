"""`regard trace` and `regard look`."""

import json
import xml.etree.ElementTree as ET

import pytest
import torch

import regard
from failing_command import run_failing_command
from regard.cli.main import main
from regard.config import to_toml
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.trace.interventions import AblateHead, MaskSource, RemovePositions, SkipSublayer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def folder(tmp_path, micro, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    tokenizer = learn_tokenizer(["the cat sees the dog.", "a bird sings."] * 3, 300)
    torch.manual_seed(0)
    config = micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size, "max_length": 20})
    save_translation_model(
        tmp_path / "model", Transformer(config), tokenizer, to_toml(TranslationRun(config)), {}
    )
    return tmp_path


def test_the_json_trace_equals_the_python_trace(folder, capfdbinary):
    main(["trace", "model", "the cat sees", "-o", "t.json", "--beam", "2", "--top-k", "3", "--prefix", "a"])
    trace = regard.Trace.load(folder / "t.json")
    expected = regard.Translator.load("model", engine="torch").trace(
        "the cat sees", beam=2, top_k=3, prefix="a"
    )
    assert trace.id == expected.id
    assert trace.target.text == expected.target.text
    assert len(trace.steps[0].top) == 3
    main(["trace", "model", "the cat sees", "-o", "-", "--target", "a dog"])
    assert json.loads(capfdbinary.readouterr().out)["target"]["text"] == "a dog"


def test_intervention_flags_count_from_1(folder):
    changes = (
        "--ablate-head cross:2:1 --uniform-head encoder:1:4 "
        "--skip-sublayer decoder:2:ffn --mask-source 1,3 --no-positional-encoding"
    )
    main(["trace", "model", "the cat sees", "-o", "t.json", "--target", "a", *changes.split()])
    assert regard.Trace.load(folder / "t.json").request.interventions == (
        AblateHead("cross", 2, 1),
        AblateHead("encoder", 1, 4, "uniform"),
        SkipSublayer("decoder", 2, "ffn"),
        RemovePositions(),
        MaskSource((0, 2)),
    )


def test_a_figure_shows_tokens_and_weights(folder):
    main(
        [
            "trace",
            "model",
            "the cat <b>",
            "-o",
            "t.svg",
            "--target",
            "a dog",
            "--attention",
            "decoder",
            "--head",
            "2",
        ]
    )
    tree = ET.parse(folder / "t.svg")
    texts = [each.text for each in tree.iter(f"{SVG}text")]
    assert "decoder self-attention, masked, layer 2, head 2" in texts
    assert "<s> → a" in texts
    assert {"key (attended to)", "query (attends)"} <= set(texts)
    hatched = [each for each in tree.iter(f"{SVG}rect") if each.get("fill") == "url(#hatch)"]
    assert len(hatched) == 3
    main(["trace", "model", "the cat <b>", "-o", "t.svg", "--target", "a dog", "--mask-source", "1"])
    texts = [each.text for each in ET.parse(folder / "t.svg").iter(f"{SVG}text")]
    assert "cross-attention, layer 2, mean of all heads" in texts
    assert "a → dog" in texts
    main(["trace", "model", "the cat <b>", "-o", "t.png", "--target", "a dog"])
    assert (folder / "t.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("columns", ["0", "00", "1", ""])
@pytest.mark.usefixtures("folder")
def test_look_prints_its_tables_whatever_the_width_of_the_terminal(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", columns)
    main(["look", "model", "the cat sees"])
    assert "the cat sees" in capsys.readouterr().out


def test_look_shows_each_step_and_its_attention(folder, capsys):
    main(["look", "model", "the cat sees", "--target", "a dog", "--ablate-head", "cross:1:1"])
    output = capsys.readouterr().out
    assert "given translation; 1 intervention" in output
    assert "  1  <s> → a" in output
    assert "Attention weights: cross-attention, layer 2, mean of all heads" in output
    assert "a → dog" in output
    assert "\x1b" not in output
    main(["look", "model", "the cat sees", "--attention", "encoder", "--layer", "1", "--head", "3"])
    assert "encoder self-attention, layer 1, head 3" in capsys.readouterr().out
    assert folder.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "t.gif"], "t.gif has no supported suffix; use a name that ends in .json"),
        (["-o", "no/t.json"], "is not a writable folder"),
        (
            ["-o", "t.json", "--ablate-head", "cross:2"],
            "--ablate-head cross:2 is not valid; write it like --ablate-head cross:5:3",
        ),
        (
            ["-o", "t.json", "--skip-sublayer", "cross:2:ffn"],
            "is not valid; write it like --skip-sublayer decoder:6:ffn",
        ),
        (["-o", "t.json", "--ablate-head", "cross:2:9"], "head = 9 cannot work; this model has heads 1 to 4"),
        (
            ["-o", "t.json", "--mask-source", "0"],
            "--mask-source 0 is not valid; give numbers from 1 up: --mask-source 1,2",
        ),
        (["-o", "t.json", "--mask-source", "9"], "source token 9 cannot be masked; there are"),
        (
            ["-o", "t.json", "--max-trace-tokens", "2"],
            "at most 2 can be traced; shorten it, or raise --max-trace-tokens",
        ),
        (["-o", "t.json", "--max-trace-tokens", "0"], "--max-trace-tokens = 0 cannot work"),
        (["-o", "t.json", "--beam", "0"], "beam = 0 cannot work"),
        (["-o", "t.svg", "--head", "all"], "--head all is not valid; give a number from 1 up, or mean"),
        (["-o", "t.html", "--layer", "7"], "layer = 7 cannot work; this model has layers 1 to 2"),
        (["-o", "t.html", "--head", "7"], "head = 7 cannot work; this model has heads 1 to 4"),
        (
            ["-o", "t.json", "--layer", "1"],
            "--layer is for a figure or a page (.html); JSON has every",
        ),
        (["-o", "-", "--head", "mean"], "--head is for a figure"),
        (["-o", "t.json", "--attention", "cross"], "--attention is for a figure"),
        (["-o", "t.svg", "--layer", "7"], "layer = 7 cannot work; this model has layers 1 to 2"),
        (["-o", "t.svg", "--head", "7"], "head = 7 cannot work; this model has heads 1 to 4"),
    ],
)
def test_an_invalid_trace_request_is_one_error_line(folder, arguments, message):
    assert message in run_failing_command("trace", "model", "the cat sees", *arguments)
    assert sorted(path.name for path in folder.iterdir()) == ["model"]


@pytest.mark.parametrize(("kind", "layer"), [("cross", 2), ("encoder", 3), ("decoder", 3)])
def test_the_default_layer_equals_that_of_the_page(tmp_path, micro, capsys, kind, layer):
    tokenizer = learn_tokenizer(["the cat sees the dog."] * 3, 300)
    layers = {"encoder_layers": 3, "decoder_layers": 3}
    config = micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size, **layers})
    save_translation_model(
        tmp_path / "m", Transformer(config), tokenizer, to_toml(TranslationRun(config)), {}
    )
    main(["look", str(tmp_path / "m"), "the cat", "--target", "a dog", "--attention", kind])
    assert f"layer {layer}, mean of all heads" in capsys.readouterr().out


def test_a_lone_surrogate_in_the_text_is_one_error_line(folder):
    assert "the text has a lone surrogate" in run_failing_command("trace", "model", "\udcff", "-o", "-")
    assert "the prefix has a lone surrogate" in run_failing_command(
        "look", "model", "the cat", "--prefix", "\udcff"
    )
    assert folder.exists()


def test_an_unfinished_run_is_reported_once(folder, capsys):
    (folder / "model").rename(folder / "step-000007")
    (folder / "run").mkdir()
    (folder / "step-000007").rename(folder / "run" / "step-000007")
    capsys.readouterr()
    main(["look", "run", "the cat sees"])
    assert capsys.readouterr().err == "run is not finished; using its last checkpoint, step-000007\n"

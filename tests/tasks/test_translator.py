import json
import math
from dataclasses import replace

import pytest
import torch

import regard
from regard.config import to_toml
from regard.errors import CheckpointError, ConfigError, DataError
from regard.model.transformer import Transformer
from regard.tasks.folder import load_model, save_model
from regard.tasks.translation import TranslationRun
from regard.tasks.translator import Translator
from regard.text.tokenizer import learn_tokenizer

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3
SENTENCES = [
    "the cat sings.",
    "a dog",
    "the bird sees the cat.",
    "",
    "the dog sees a dog sees a bird.",
    "  ",
    "cat",
]


@pytest.fixture
def parts(micro):
    tokenizer = learn_tokenizer(TEXTS, 300)
    torch.manual_seed(0)
    config = replace(micro, vocab_size=tokenizer.vocab_size, max_length=24)
    return Transformer(config).eval(), tokenizer


@pytest.fixture
def folder(parts, tmp_path):
    model, tokenizer = parts
    save_model(tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {"step": 7})
    return tmp_path / "model"


def test_translations_come_in_the_order_of_their_texts(parts):
    translator = Translator(*parts)
    together = translator.translate(SENTENCES)
    assert together == [translator.translate([sentence])[0] for sentence in SENTENCES]
    assert translator.translate(SENTENCES[::-1]) == together[::-1]


def test_many_batches_give_what_one_does(parts, monkeypatch):
    expected = Translator(*parts).translate(SENTENCES)
    monkeypatch.setattr("regard.tasks.translator.BATCH_TOKENS", 9)
    done = []
    assert Translator(*parts).translate(SENTENCES, on_done=done.append) == expected
    assert len(done) > 3


def test_the_papers_beam_is_the_default_and_others_can_be_had(parts):
    translator = Translator(*parts)
    assert translator.translate(SENTENCES) == translator.translate(SENTENCES, beam=4, alpha=0.6)
    assert translator.translate(SENTENCES) != translator.translate(SENTENCES, beam=1)
    for wrong in ({"beam": 0}, {"alpha": -0.1}, {"alpha": math.nan}):
        with pytest.raises(ConfigError, match="cannot work"):
            translator.translate(SENTENCES, **wrong)


def test_a_translation_is_always_one_line(parts):
    model, tokenizer = parts
    newline = tokenizer.tokenize(["\n"])[0][-1]
    with torch.no_grad():
        model.output.weight[newline] = 10.0
        model.decoder.layers[-1].around_feed_forward.norm.bias.fill_(10.0)
    (found,) = Translator(model, tokenizer).translate(["cat"])
    assert tokenizer.piece(newline) == "<0x0A>"
    assert set(found) == {" "}


def test_a_blank_text_stays_blank(parts):
    assert Translator(*parts).translate(["", "  ", "\t"]) == ["", "", ""]
    assert Translator(*parts).translate([]) == []


def test_spaces_around_a_text_change_nothing(parts):
    translator = Translator(*parts)
    assert translator.translate(["  the cat \n"]) == translator.translate(["the cat"])


def test_a_text_too_long_is_named_before_anything_is_translated(parts):
    done = []
    with pytest.raises(DataError, match=r"sentence 2 .* pieces and this model takes at most 23; split it"):
        Translator(*parts).translate(["cat", "the cat sees " * 20], on_done=done.append)
    assert done == []


def test_one_text_without_a_list_is_refused(parts):
    for wrong in ("cat", [b"cat"], [None]):
        with pytest.raises(TypeError):
            Translator(*parts).translate(wrong)


def test_progress_adds_up(parts):
    done = []
    Translator(*parts).translate(SENTENCES, on_done=done.append)
    assert sum(done) == len(SENTENCES)


def test_a_saved_model_translates_as_before(parts, folder):
    loaded = regard.Translator.load(folder)
    assert loaded.translate(SENTENCES) == Translator(*parts).translate(SENTENCES)


@pytest.mark.parametrize("tied", ["all", "target", "none"])
@pytest.mark.parametrize("position", ["paper", "learned"])
def test_every_weight_comes_back_bit_by_bit(parts, tmp_path, tied, position):
    model, tokenizer = parts
    model = Transformer(replace(model.config, tied=tied, position=position))
    save_model(tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {})
    loaded = load_model(tmp_path / "model")
    assert loaded.transformer.config == model.config
    for ours, theirs in zip(model.parameters(), loaded.transformer.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert loaded.tokenizer.tokenize(SENTENCES) == tokenizer.tokenize(SENTENCES)


def test_the_manifest_says_what_the_folder_is(folder):
    manifest = load_model(folder).manifest
    assert (manifest["task"], manifest["step"], manifest["regard"]) == ("translation", 7, regard.__version__)
    assert set(manifest["files"]) == {"config.toml", "tokenizer.json", "model.safetensors"}


def write_manifest(folder, manifest):
    """As the first format had it, without a seal of its own."""
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 1}))


def reseal(folder, name, change):
    """Changes a file and makes the manifest agree: damage that no checksum sees."""
    from regard.checkpoint import sha256

    change(folder / name)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
    write_manifest(folder, manifest)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.safetensors", b"nonsense", "model.safetensors cannot be read"),
        ("tokenizer.json", b"nonsense", "tokenizer.json is not a tokenizer"),
        ("config.toml", b"[model]\nd_model = 7\n", "config.toml: model.d_model = 7 does not divide"),
        ("config.toml", b"[model]\nhaeds = 7\n", "config.toml: model.haeds is not a setting; did you mean"),
    ],
)
def test_a_folder_that_cannot_work_says_which_file(folder, name, content, message):
    reseal(folder, name, lambda path: path.write_bytes(content))
    with pytest.raises(CheckpointError, match=message):
        load_model(folder)


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json", "model.safetensors"])
def test_a_manifest_that_forgets_a_file_is_refused(folder, name):
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"][name]
    write_manifest(folder, manifest)
    with pytest.raises(CheckpointError, match=f"does not name {name}"):
        load_model(folder)


def test_a_foreign_tokenizer_is_refused(folder):
    reseal(folder, "tokenizer.json", learn_tokenizer([*TEXTS, "other words, other pieces"] * 2, 290).save)
    with pytest.raises(CheckpointError, match="pieces and config.toml says"):
        load_model(folder)


def test_loading_changes_nobodys_luck(folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    load_model(folder)
    assert torch.equal(torch.rand(2), expected)


def test_weights_that_do_not_fit_their_config_are_refused(folder):
    def widen(path):
        path.write_text(path.read_text().replace("d_ff = 32", "d_ff = 64"))

    reseal(folder, "config.toml", widen)
    with pytest.raises(
        CheckpointError, match=r"does not fit its config.toml: .* is \[32, 16\], not \[64, 16\]"
    ):
        load_model(folder)


def test_a_model_for_something_else_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, {**manifest, "task": "forecasting"})
    with pytest.raises(CheckpointError, match="is a model for forecasting, not for translation"):
        load_model(folder)


def test_loading_runs_no_code_from_the_folder():
    """No file of a model is a pickle, and nothing that reads one is imported to load it."""
    from pathlib import Path

    for path in (Path(regard.__file__).parent).rglob("*.py"):
        words = path.read_text()
        assert "import pickle" not in words, path
        assert "torch.load" not in words, path

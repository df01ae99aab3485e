import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import regard
from fake_engines import DiagonalForcedDecoder, EchoEngine
from regard.config import to_toml
from regard.errors import CheckpointError, ConfigError, DataError
from regard.inference.engine import UNSATISFIABLE
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS
from regard.text.glossary import Glossary
from regard.text.tokenizer import learn_tokenizer
from regard.translation import engines
from regard.translation.engines import LoadedModel
from regard.translation.model_folder import load_translation_model, save_translation_model
from regard.translation.options import TranslateOptions
from regard.translation.run import TranslationRun
from regard.translation.translator import Translator

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
    save_translation_model(
        tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {"step": 7}
    )
    return tmp_path / "model"


def test_translations_come_in_the_order_of_their_texts(parts):
    translator = Translator.from_model(*parts)
    together = translator.translate(SENTENCES)
    assert together == [translator.translate([sentence])[0] for sentence in SENTENCES]
    assert translator.translate(SENTENCES[::-1]) == together[::-1]


def test_many_batches_give_what_one_does(parts, monkeypatch):
    expected = Translator.from_model(*parts).translate(SENTENCES)
    monkeypatch.setattr("regard.translation.engines.DEFAULT_BATCH_TOKENS", 9)
    done = []
    assert Translator.from_model(*parts).translate(SENTENCES, on_done=done.append) == expected
    assert len(done) > 3


def test_the_papers_beam_is_the_default_and_others_can_be_had(parts):
    translator = Translator.from_model(*parts)
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
    (found,) = Translator.from_model(model, tokenizer).translate(["cat"])
    assert tokenizer.id_to_token(newline) == "<0x0A>"
    assert set(found) == {" "}


def test_a_blank_text_stays_blank(parts):
    assert Translator.from_model(*parts).translate(["", "  ", "\t"]) == ["", "", ""]
    assert Translator.from_model(*parts).translate([]) == []


def test_spaces_around_a_text_change_nothing(parts):
    translator = Translator.from_model(*parts)
    assert translator.translate(["  the cat \n"]) == translator.translate(["the cat"])


def test_a_text_too_long_is_translated_sentence_by_sentence(parts):
    translator = Translator.from_model(*parts)
    texts = ["The cat sees the dog. ", "The dog sees a bird. ", "A bird sings there. "] * 3
    (found,) = translator.translate_detailed(["".join(texts)])
    assert found.text == " ".join(translator.translate(texts))
    assert (found.status, found.message) == (
        "split",
        "split into 9 parts, because this model takes at most 23 pieces",
    )
    assert found.log_probability == pytest.approx(
        sum(each.log_probability for each in translator.translate_detailed(texts)), rel=1e-5
    )


def test_a_text_too_long_is_cut_or_skipped_if_asked(parts):
    translator, text = Translator.from_model(*parts), "the cat sees the dog " * 20
    short, (cut,) = ["cat"], translator.translate_detailed([text], options=TranslateOptions(long_text="cut"))
    assert cut.status == "cut"
    assert "only its first 23 pieces" in cut.message
    kept = parts[1].detokenize([parts[1].tokenize([text.strip()])[0][:23]])
    assert [cut.text] == translator.translate(kept)
    skipped, other = translator.translate_detailed([text, *short], options=TranslateOptions(long_text="skip"))
    assert (skipped.text, skipped.status) == ("", "skipped")
    assert [other.text] == translator.translate(short)


def test_the_next_best_come_with_their_scores(parts):
    (found,) = Translator.from_model(*parts).translate_detailed(["the cat sings."], SearchConfig(n_best=3))
    ranked = [found, *found.alternatives]
    assert len({each.tokens for each in ranked}) == 3
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    for each in ranked:
        length = len(each.tokens) + 1
        assert each.score == pytest.approx(each.log_probability / ((5 + length) / 6) ** 0.6, rel=1e-5)


def test_deterministic_asks_the_engine_for_one_sentence_at_a_time():
    engine, tokenizer = EchoEngine(), learn_tokenizer(TEXTS, 300)
    translator = Translator(LoadedModel(engine, tokenizer))
    assert translator.translate(SENTENCES, options=TranslateOptions(deterministic=True)) == [
        s.strip() for s in SENTENCES
    ]
    assert engine.batches == [1] * 5
    translator.translate(SENTENCES)
    assert engine.batches[5:] == [5]


def test_what_is_wished_for_is_asked_of_each_sentence():
    engine, tokenizer = EchoEngine(longest=9), learn_tokenizer(TEXTS, 300)
    asked = TranslateOptions(prefix="a ", required=("bird",), glossary=Glossary((("dog", "cat"),)))
    Translator(LoadedModel(engine, tokenizer)).translate(
        ["the dog", "cat", "the cat sees the dog. The cat sings, too."], options=asked
    )
    (prefix,) = tokenizer.tokenize(["a"])
    by_text = {tokenizer.detokenize([source])[0]: wish for source, wish in engine.constraints}
    assert by_text["the dog"].prefix == by_text["cat"].prefix == tuple(prefix)
    assert [wish for text, wish in by_text.items() if text.startswith("The cat")] == [
        NO_CONSTRAINTS
    ]  # no first part
    assert [len(wish.required) for wish in (by_text["the dog"], by_text["cat"])] == [2, 1]


def test_a_text_has_no_translation_where_one_of_its_parts_has_none():
    class Mute(EchoEngine):
        def translate(self, sources, config, wishes=None):
            found = super().translate(sources, config, wishes)
            return [
                [UNSATISFIABLE] if wish.required else each for each, wish in zip(found, wishes, strict=True)
            ]

    translator = Translator(LoadedModel(Mute(longest=9), learn_tokenizer(TEXTS, 300)))
    asked = TranslateOptions(glossary=Glossary((("bird", "dog"),)))
    texts = ["the cat sees the dog. The cat sees the bird, too.", "the bird", "the cat"]
    split, whole, other = translator.translate_detailed(texts, options=asked)
    assert split == whole
    assert (split.text, split.status, split.log_probability) == ("", "impossible", -math.inf)
    assert "satisfies all constraints" in split.message
    assert (other.text, other.status) == ("the cat", "whole")


def test_words_are_counted_through_all_parts_even_where_a_word_is_cut():
    tokenizer = learn_tokenizer(TEXTS, 300)
    translator = Translator(
        LoadedModel(EchoEngine(longest=9), tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    )
    text = f"the cat {'qx' * 20} sees the dog."
    (found,) = translator.translate_detailed([text], options=TranslateOptions(alignments=True))
    assert found.status == "split"
    assert {i for i, _ in found.alignment} == set(range(len(text.split())))
    assert {j for _, j in found.alignment} == set(range(len(found.text.split())))
    assert found.alignment[-1][0] == 5


def test_translations_are_read_many_at_a_time_and_each_with_its_own_source(parts):
    class Counted(DiagonalForcedDecoder):
        calls = 0

        def force_decode(self, sources, targets):
            self.calls += 1
            return super().force_decode(sources, targets)

    reader = Counted()
    translator = Translator(LoadedModel(EchoEngine(), parts[1], get_forced_decoder=lambda: reader))
    texts = [" ".join(["cat"] * n) for n in range(1, 9)]
    found = translator.translate_detailed(texts, SearchConfig(n_best=3), TranslateOptions(alignments=True))
    assert [len(each.alignment) for each in found] == list(range(1, 9))
    assert all(len(other.alignment) == len(each.alignment) for each in found for other in each.alternatives)
    assert reader.calls == 1


@pytest.mark.parametrize("field", ["required", "forbidden", "ensemble"])
def test_one_phrase_is_not_taken_for_its_letters(field):
    code = f"import regard; regard.TranslateOptions({field}='dog')"  # where nobody checks types
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert f"TypeError: {field} takes several; for one, give ('dog',)" in run.stderr


def test_words_are_aligned_and_judged_by_a_reader():
    tokenizer = learn_tokenizer(TEXTS, 300)
    translator = Translator(
        LoadedModel(EchoEngine(longest=9), tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    )
    asked = TranslateOptions(alignments=True, confidences=True)
    (found,) = translator.translate_detailed(["the cat sings."], options=asked)
    assert found.alignment == ((0, 0), (1, 1), (2, 2))
    assert [word.text for word in found.words] == ["the", "cat", "sings."]
    assert all(word.confidence == pytest.approx(0.5) for word in found.words)
    (long,) = translator.translate_detailed(["the cat sees the dog. The cat sings, too."], options=asked)
    assert long.alignment == tuple((i, i) for i in range(9))
    assert [word.text for word in long.words] == long.text.split()
    with pytest.raises(ConfigError, match="no alignments and no confidences; choose the engine torch"):
        Translator(LoadedModel(EchoEngine(), tokenizer)).translate_detailed(
            ["cat"], options=TranslateOptions(alignments=True)
        )


def test_the_next_best_are_aligned_and_judged_too():
    translator = Translator(
        LoadedModel(EchoEngine(), learn_tokenizer(TEXTS, 300), get_forced_decoder=DiagonalForcedDecoder)
    )
    asked = TranslateOptions(alignments=True, confidences=True)
    (found,) = translator.translate_detailed(["the cat sings."], SearchConfig(n_best=2), asked)
    (other,) = found.alternatives
    assert (other.alignment, other.words) == (found.alignment, found.words)


def test_a_blank_text_has_what_others_have():
    translator = Translator(
        LoadedModel(EchoEngine(), learn_tokenizer(TEXTS, 300), get_forced_decoder=DiagonalForcedDecoder)
    )
    for asked, expected in (
        (TranslateOptions(), None),
        (TranslateOptions(alignments=True, confidences=True), ()),
    ):
        (found,) = translator.translate_detailed([" "], options=asked)
        assert (found.alignment, found.words) == (expected, expected)


BEYOND_CTRANSLATE2 = [
    (SearchConfig(no_repeat_ngram=2), TranslateOptions()),
    (SearchConfig(sampling=Sampling()), TranslateOptions()),
    (SearchConfig(allow_unknown=False), TranslateOptions()),
    (SearchConfig(), TranslateOptions(glossary=Glossary((("cat", "dog"),)))),
    (SearchConfig(), TranslateOptions(required=("dog",), forbidden=("bird",), prefix="a")),
    (SearchConfig(n_best=2), TranslateOptions(alignments=True, confidences=True)),
]


@pytest.mark.parametrize(("search", "asked"), BEYOND_CTRANSLATE2, ids=str)
def test_what_ctranslate2_cannot_do_torch_does_unless_it_was_named(folder, search, asked):
    pytest.importorskip("ctranslate2")
    auto, named, torch_ = (
        Translator.load(folder, "cpu", engine) for engine in ("auto", "ctranslate2", "torch")
    )
    assert (auto.engine_info.engine, torch_.engine_info) == ("ctranslate2", ("torch", "fp32"))
    assert auto.translate_detailed(SENTENCES, search, asked) == torch_.translate_detailed(
        SENTENCES, search, asked
    )
    assert auto.translate_detailed(SENTENCES) == named.translate_detailed(SENTENCES)
    with pytest.raises(ConfigError, match="choose the engine torch"):
        named.translate_detailed(SENTENCES, search, asked)


def test_another_engine_is_loaded_once_and_said_once_to_a_person(folder, monkeypatch, capsys):
    pytest.importorskip("ctranslate2")
    loaded = []
    real = engines._load_torch
    monkeypatch.setattr(engines, "_load_torch", lambda *given: loaded.append(1) or real(*given))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    translator = Translator.load(folder, "cpu")
    for _ in range(2):
        translator.translate_detailed(["cat"], SearchConfig(no_repeat_ngram=2))
        translator.translate_detailed(["cat"], options=TranslateOptions(prefix="a"))
    assert len(loaded) == 1
    assert capsys.readouterr().err == "  engine torch: CTranslate2 does not support no_repeat_ngram\n"


def test_what_cannot_be_had_together_is_refused_before_any_sentence(parts):
    translator = Translator.from_model(*parts)
    with pytest.raises(ConfigError, match="glossaries need beam search; leave sampling out"):
        translator.translate_detailed(
            [], SearchConfig(sampling=Sampling()), TranslateOptions(required=("dog",))
        )
    with pytest.raises(ConfigError, match="come from one model, and --ensemble gives several"):
        translator.translate_detailed(
            [], options=TranslateOptions(ensemble=(Path("other"),), alignments=True)
        )
    with pytest.raises(ConfigError, match="give them to Translator.load"):
        translator.translate_detailed([], options=TranslateOptions(ensemble=(Path("other"),)))


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_cannot_work(folder, engine, threads):
    with pytest.raises(ConfigError, match=f"threads = {threads} cannot work; it must be at least 1"):
        Translator.load(folder, "cpu", engine, threads=threads)


def test_one_text_without_a_list_is_refused(parts):
    for wrong in ("cat", [b"cat"], [None]):
        with pytest.raises(TypeError):
            Translator.from_model(*parts).translate(wrong)


def test_half_a_character_is_refused(parts):
    with pytest.raises(DataError, match="text 2 has a lone surrogate"):
        Translator.from_model(*parts).translate(["cat", "a \ud83d b"])


def test_progress_adds_up(parts):
    done = []
    Translator.from_model(*parts).translate(SENTENCES, on_done=done.append)
    assert sum(done) == len(SENTENCES)


def test_a_saved_model_translates_as_before(parts, folder):
    loaded = regard.Translator.load(folder, engine="torch")
    assert loaded.translate(SENTENCES) == Translator.from_model(*parts).translate(SENTENCES)


@pytest.mark.parametrize("tied", ["all", "target", "none"])
@pytest.mark.parametrize("position", ["paper", "learned"])
def test_every_weight_comes_back_bit_by_bit(parts, tmp_path, tied, position):
    model, tokenizer = parts
    model = Transformer(replace(model.config, tied=tied, position=position))
    save_translation_model(tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {})
    loaded = load_translation_model(tmp_path / "model")
    assert loaded.transformer.config == model.config
    for ours, theirs in zip(model.parameters(), loaded.transformer.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert loaded.tokenizer.tokenize(SENTENCES) == tokenizer.tokenize(SENTENCES)


def test_the_manifest_says_what_the_folder_is(folder):
    manifest = load_translation_model(folder).manifest
    assert (manifest["task"], manifest["step"], manifest["regard"]) == ("translation", 7, regard.__version__)
    assert set(manifest["files"]) == {"config.toml", "tokenizer.json", "model.safetensors"}


def write_manifest(folder, manifest):
    """As the first format had it, without a seal of its own."""
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 1}))


def reseal(folder, name, change):
    """Changes a file and makes the manifest agree: damage that no checksum sees."""
    from regard.checkpoint import file_sha256

    change(folder / name)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)}
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
        load_translation_model(folder)


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json", "model.safetensors"])
def test_a_manifest_that_forgets_a_file_is_refused(folder, name):
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"][name]
    write_manifest(folder, manifest)
    with pytest.raises(CheckpointError, match=f"does not name {name}"):
        load_translation_model(folder)


def test_a_foreign_tokenizer_is_refused(folder):
    reseal(folder, "tokenizer.json", learn_tokenizer([*TEXTS, "other words, other pieces"] * 2, 290).save)
    with pytest.raises(CheckpointError, match="tokens, and model.vocab_size in .* is"):
        load_translation_model(folder)


def test_loading_changes_nobodys_luck(folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    load_translation_model(folder)
    assert torch.equal(torch.rand(2), expected)


def test_weights_that_do_not_fit_their_config_are_refused(folder):
    def widen(path):
        path.write_text(path.read_text().replace("d_ff = 32", "d_ff = 64"))

    reseal(folder, "config.toml", widen)
    with pytest.raises(
        CheckpointError, match=r"does not fit its config.toml: .* is \[32, 16\], not \[64, 16\]"
    ):
        load_translation_model(folder)


def test_a_model_for_something_else_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, {**manifest, "task": "forecasting"})
    with pytest.raises(CheckpointError, match="is a model for forecasting, not for translation"):
        load_translation_model(folder)


def test_loading_runs_no_code_from_the_folder():
    """No file of a model is a pickle, and nothing that reads one is imported to load it."""
    from pathlib import Path

    for path in (Path(regard.__file__).parent).rglob("*.py"):
        words = path.read_text()
        assert "import pickle" not in words, path
        assert "torch.load" not in words, path


def test_the_api_needs_no_torch_until_an_engine_does():
    code = "import sys, regard; regard.Translator; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_how_a_translation_could_go_on(parts):
    translator = Translator.from_model(*parts)
    found = translator.continuations("the cat sings.", "a dog", 300)
    assert sum(each.probability for each in found) == pytest.approx(1.0, abs=1e-4)
    assert [each.probability for each in found] == sorted((each.probability for each in found), reverse=True)
    begun = parts[1].detokenize([parts[1].tokenize(["a dog"])[0]])[0]
    assert all(
        each.translation.text.startswith(begun) for each in found if each.translation.status == "whole"
    )
    (end,) = [each for each in found if each.token == ""]
    assert end.translation.text == "a dog"
    (whole,) = translator.translate_detailed(["the cat sings."], options=TranslateOptions(prefix="a dog"))
    assert max(each.translation.score for each in found) >= whole.score - 1e-4

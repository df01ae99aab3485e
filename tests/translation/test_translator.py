import gc
import json
import math
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import regard
from fake_engines import DiagonalForcedDecoder, EchoEngine
from regard import checkpoint
from regard.checkpoint import file_sha256
from regard.config import to_toml
from regard.errors import CheckpointError, ConfigError, DataError
from regard.inference.engine import UNSATISFIABLE
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS
from regard.text.glossary import Glossary
from regard.text.tokenizer import learn_tokenizer
from regard.text.tokenizer_file import load_tokenizer
from regard.translation import engines, model_folder
from regard.translation.engines import LoadedModel
from regard.translation.model_folder import load_translation_model, save_translation_model
from regard.translation.options import TranslateOptions
from regard.translation.phrases.constraint_compiler import ConstraintCompiler
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


def test_translations_are_in_the_order_of_their_texts(parts):
    translator = Translator.from_model(*parts)
    translations = translator.translate(SENTENCES)
    assert translations == [translator.translate([sentence])[0] for sentence in SENTENCES]
    assert translator.translate(SENTENCES[::-1]) == translations[::-1]


def test_many_batches_give_the_same_translations_as_one(parts, monkeypatch):
    expected = Translator.from_model(*parts).translate(SENTENCES)
    monkeypatch.setattr("regard.translation.engines.DEFAULT_BATCH_TOKENS", 9)
    done = []
    assert Translator.from_model(*parts).translate(SENTENCES, on_done=done.append) == expected
    assert len(done) > 3


def test_beam_and_alpha_of_the_paper_are_the_default(parts):
    translator = Translator.from_model(*parts)
    assert translator.translate(SENTENCES) == translator.translate(SENTENCES, beam=4, alpha=0.6)
    assert translator.translate(SENTENCES) != translator.translate(SENTENCES, beam=1)
    for invalid in ({"beam": 0}, {"alpha": -0.1}, {"alpha": math.nan}):
        with pytest.raises(ConfigError, match="cannot work"):
            translator.translate(SENTENCES, **invalid)


def test_a_translation_is_always_one_line(parts):
    model, tokenizer = parts
    newline = tokenizer.tokenize(["\n"])[0][-1]
    with torch.no_grad():
        model.output.weight[newline] = 10.0
        model.decoder.layers[-1].around_feed_forward.norm.bias.fill_(10.0)
    (translation,) = Translator.from_model(model, tokenizer).translate(["cat"])
    assert tokenizer.id_to_token(newline) == "<0x0A>"
    assert set(translation) == {" "}


def test_a_blank_text_stays_blank(parts):
    assert Translator.from_model(*parts).translate(["", "  ", "\t"]) == ["", "", ""]
    assert Translator.from_model(*parts).translate([]) == []


def test_spaces_around_a_text_change_nothing(parts):
    translator = Translator.from_model(*parts)
    assert translator.translate(["  the cat \n"]) == translator.translate(["the cat"])


def test_a_text_that_is_too_long_is_translated_sentence_by_sentence(parts):
    translator = Translator.from_model(*parts)
    texts = ["The cat sees the dog. ", "The dog sees a bird. ", "A bird sings there. "] * 3
    (translation,) = translator.translate_detailed(["".join(texts)])
    assert translation.text == " ".join(translator.translate(texts))
    assert (translation.status, translation.message) == (
        "split",
        "split into 9 parts, because this model takes at most 23 tokens",
    )
    assert translation.log_probability == pytest.approx(
        sum(each.log_probability for each in translator.translate_detailed(texts)), rel=1e-5
    )


def test_a_text_that_is_too_long_can_be_cut_or_skipped(parts):
    translator, text = Translator.from_model(*parts), "the cat sees the dog " * 20
    short, (cut,) = ["cat"], translator.translate_detailed([text], options=TranslateOptions(long_text="cut"))
    assert cut.status == "cut"
    assert "only its first 23 tokens" in cut.message
    beginning = parts[1].detokenize([parts[1].tokenize([text.strip()])[0][:23]])
    assert [cut.text] == translator.translate(beginning)
    skipped, other = translator.translate_detailed([text, *short], options=TranslateOptions(long_text="skip"))
    assert (skipped.text, skipped.status) == ("", "skipped")
    assert [other.text] == translator.translate(short)


def test_alternatives_have_scores(parts):
    (translation,) = Translator.from_model(*parts).translate_detailed(
        ["the cat sings."], SearchConfig(n_best=3)
    )
    ranked = [translation, *translation.alternatives]
    assert len({each.tokens for each in ranked}) == 3
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    for each in ranked:
        length = len(each.tokens) + 1
        assert each.score == pytest.approx(each.log_probability / ((5 + length) / 6) ** 0.6, rel=1e-5)


def test_deterministic_searches_one_sentence_at_a_time():
    engine, tokenizer = EchoEngine(), learn_tokenizer(TEXTS, 300)
    translator = Translator(LoadedModel(engine, tokenizer))
    assert translator.translate(SENTENCES, options=TranslateOptions(deterministic=True)) == [
        s.strip() for s in SENTENCES
    ]
    assert engine.batches == [1] * 5
    translator.translate(SENTENCES)
    assert engine.batches[5:] == [5]


def test_every_sentence_is_searched_under_its_constraints():
    engine, tokenizer = EchoEngine(max_tokens=9), learn_tokenizer(TEXTS, 300)
    options = TranslateOptions(prefix="a ", required=("bird",), glossary=Glossary((("dog", "sings"),)))
    model = LoadedModel(engine, tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    Translator(model).translate(
        ["the dog", "cat", "the cat sees the dog. The cat sings, too."], options=options
    )
    (prefix,) = tokenizer.tokenize(["a"])
    by_text = {tokenizer.detokenize([source])[0]: each for source, each in engine.constraints}
    assert by_text["the dog"].prefix == by_text["cat"].prefix == tuple(prefix)
    assert [each for text, each in by_text.items() if text.startswith("The cat")] == [
        NO_CONSTRAINTS
    ]  # no first part
    assert [len(each.required) for each in (by_text["the dog"], by_text["cat"])] == [2, 1]


def test_a_text_has_no_translation_if_one_of_its_parts_has_none():
    tokenizer = learn_tokenizer(TEXTS, 300)

    class NoTranslation(EchoEngine):
        def translate(self, sources, config, constraints=None):
            results = super().translate(sources, config, constraints)
            return [
                [UNSATISFIABLE] if "bird" in text else hypotheses
                for hypotheses, text in zip(results, tokenizer.detokenize(sources), strict=True)
            ]

    model = LoadedModel(NoTranslation(max_tokens=9), tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    translator, options = Translator(model), TranslateOptions(glossary=Glossary((("bird", "dog"),)))
    texts = ["the cat sees the dog. The cat sees the bird, too.", "the bird", "the cat"]
    split, whole, other = translator.translate_detailed(texts, options=options)
    assert split == whole
    assert (split.text, split.status, split.log_probability) == ("", "impossible", -math.inf)
    assert "satisfies all constraints" in split.message
    assert (other.text, other.status) == ("the cat", "whole")


def test_alignments_count_words_through_all_parts_even_if_a_word_is_cut():
    tokenizer = learn_tokenizer(TEXTS, 300)
    translator = Translator(
        LoadedModel(EchoEngine(max_tokens=9), tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    )
    text = f"the cat {'qx' * 20} sees the dog."
    (translation,) = translator.translate_detailed([text], options=TranslateOptions(alignments=True))
    assert translation.status == "split"
    assert {i for i, _ in translation.alignment} == set(range(len(text.split())))
    assert {j for _, j in translation.alignment} == set(range(len(translation.text.split())))
    assert translation.alignment[-1][0] == 5


def test_alternatives_of_many_sources_are_force_decoded_in_one_batch(parts):
    class CountingDecoder(DiagonalForcedDecoder):
        calls = 0

        def force_decode(self, sources, targets):
            self.calls += 1
            return super().force_decode(sources, targets)

    decoder = CountingDecoder()
    translator = Translator(LoadedModel(EchoEngine(), parts[1], get_forced_decoder=lambda: decoder))
    texts = [" ".join(["cat"] * n) for n in range(1, 9)]
    translations = translator.translate_detailed(
        texts, SearchConfig(n_best=3), TranslateOptions(alignments=True)
    )
    assert [len(each.alignment) for each in translations] == list(range(1, 9))
    assert all(
        len(other.alignment) == len(each.alignment) for each in translations for other in each.alternatives
    )
    assert decoder.calls == 1


@pytest.mark.parametrize("field", ["required", "forbidden", "ensemble"])
def test_a_string_instead_of_a_tuple_of_phrases_is_refused(field):
    code = f"import regard; regard.TranslateOptions({field}='dog')"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert f"TypeError: {field} takes several; for one, give ('dog',)" in run.stderr


def test_words_have_alignments_and_confidences():
    tokenizer = learn_tokenizer(TEXTS, 300)
    translator = Translator(
        LoadedModel(EchoEngine(max_tokens=9), tokenizer, get_forced_decoder=DiagonalForcedDecoder)
    )
    options = TranslateOptions(alignments=True, confidences=True)
    (translation,) = translator.translate_detailed(["the cat sings."], options=options)
    assert translation.alignment == ((0, 0), (1, 1), (2, 2))
    assert [word.text for word in translation.words] == ["the", "cat", "sings."]
    assert all(word.confidence == pytest.approx(0.5) for word in translation.words)
    (long,) = translator.translate_detailed(["the cat sees the dog. The cat sings, too."], options=options)
    assert long.alignment == tuple((i, i) for i in range(9))
    assert [word.text for word in long.words] == long.text.split()
    with pytest.raises(ConfigError, match="no alignments and no confidences; choose the engine torch"):
        Translator(LoadedModel(EchoEngine(), tokenizer)).translate_detailed(
            ["cat"], options=TranslateOptions(alignments=True)
        )


def test_alternatives_have_alignments_and_confidences():
    translator = Translator(
        LoadedModel(EchoEngine(), learn_tokenizer(TEXTS, 300), get_forced_decoder=DiagonalForcedDecoder)
    )
    options = TranslateOptions(alignments=True, confidences=True)
    (translation,) = translator.translate_detailed(["the cat sings."], SearchConfig(n_best=2), options)
    (other,) = translation.alternatives
    assert (other.alignment, other.words) == (translation.alignment, translation.words)


def test_a_blank_text_has_empty_alignments_and_confidences():
    translator = Translator(
        LoadedModel(EchoEngine(), learn_tokenizer(TEXTS, 300), get_forced_decoder=DiagonalForcedDecoder)
    )
    for options, expected in (
        (TranslateOptions(), None),
        (TranslateOptions(alignments=True, confidences=True), ()),
    ):
        (translation,) = translator.translate_detailed([" "], options=options)
        assert (translation.alignment, translation.words) == (expected, expected)


UNSUPPORTED_BY_CTRANSLATE2 = [
    (SearchConfig(no_repeat_ngram=2), TranslateOptions()),
    (SearchConfig(sampling=Sampling()), TranslateOptions()),
    (SearchConfig(allow_unknown=False), TranslateOptions()),
    (SearchConfig(), TranslateOptions(required=("dog",), forbidden=("bird",), prefix="a")),
    (SearchConfig(n_best=2), TranslateOptions(alignments=True, confidences=True)),
]


@pytest.mark.parametrize(("search", "options"), UNSUPPORTED_BY_CTRANSLATE2, ids=str)
def test_auto_falls_back_to_torch_and_named_ctranslate2_refuses(folder, search, options):
    pytest.importorskip("ctranslate2")
    auto, named, torch_ = (
        Translator.load(folder, "cpu", engine) for engine in ("auto", "ctranslate2", "torch")
    )
    assert (auto.engine_info.engine, torch_.engine_info) == ("ctranslate2", ("torch", "fp32"))
    assert auto.translate_detailed(SENTENCES, search, options) == torch_.translate_detailed(
        SENTENCES, search, options
    )
    assert auto.translate_detailed(SENTENCES) == named.translate_detailed(SENTENCES)
    with pytest.raises(ConfigError, match="choose the engine torch"):
        named.translate_detailed(SENTENCES, search, options)


def test_with_a_glossary_only_the_texts_that_have_its_phrases_need_torch(folder):
    pytest.importorskip("ctranslate2")
    options = TranslateOptions(glossary=Glossary((("bird", "dog"),)))
    auto = Translator.load(folder, "cpu", options=options)
    assert auto.engine_info.engine == "ctranslate2"
    without, with_phrase = "the cat sees the dog.", "a bird sings."
    results = auto.translate_detailed([with_phrase, without], options=options)
    named, torch_ = (Translator.load(folder, "cpu", engine) for engine in ("ctranslate2", "torch"))
    assert results[1:] == named.translate_detailed([without])
    assert results[:1] == torch_.translate_detailed([with_phrase], options=options)
    with pytest.raises(ConfigError, match="CTranslate2 does not support glossaries"):
        Translator.load(folder, "cpu", "ctranslate2", options=options)


def test_a_glossary_of_an_ensemble_is_placed_by_its_first_model(folder):
    options = TranslateOptions(glossary=Glossary((("bird", "dog"),)), ensemble=(folder,))
    ensemble, alone = Translator.load(folder, "cpu", options=options), Translator.load(folder, "cpu", "torch")
    texts = ["a bird sings.", "the cat"]
    results = ensemble.translate_detailed(texts, options=options)
    expected = alone.translate_detailed(texts, options=replace(options, ensemble=()))
    assert [(each.text, each.misplaced_terms) for each in results] == [
        (each.text, each.misplaced_terms) for each in expected
    ]
    with pytest.raises(ConfigError, match="alignments and confidences come from one model"):
        ensemble.translate_detailed(texts, options=TranslateOptions(alignments=True))


def test_the_fallback_engine_is_loaded_and_reported_once(folder, monkeypatch, capsys):
    pytest.importorskip("ctranslate2")
    loaded = []
    real = engines._load_torch
    monkeypatch.setattr(engines, "_load_torch", lambda *arguments: loaded.append(1) or real(*arguments))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    translator = Translator.load(folder, "cpu")
    for _ in range(2):
        translator.translate_detailed(["cat"], SearchConfig(no_repeat_ngram=2))
        translator.translate_detailed(["cat"], options=TranslateOptions(prefix="a"))
    assert len(loaded) == 1
    assert capsys.readouterr().err == "  engine torch: CTranslate2 does not support no_repeat_ngram\n"


def test_conflicting_options_are_refused_before_the_first_sentence(parts):
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
def test_fewer_threads_than_one_are_refused(folder, engine, threads):
    with pytest.raises(ConfigError, match=f"threads = {threads} cannot work; it must be at least 1"):
        Translator.load(folder, "cpu", engine, threads=threads)


def test_what_is_no_text_is_refused(parts):
    for invalid in (b"cat", [b"cat"], [None], 5):
        with pytest.raises(TypeError):
            Translator.from_model(*parts).translate(invalid)


def test_a_lone_surrogate_is_refused(parts):
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
def test_loaded_weights_equal_saved_weights_bit_by_bit(parts, tmp_path, tied, position):
    model, tokenizer = parts
    model = Transformer(replace(model.config, tied=tied, position=position))
    save_translation_model(tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {})
    loaded = load_translation_model(tmp_path / "model")
    assert loaded.transformer.config == model.config
    for ours, theirs in zip(model.parameters(), loaded.transformer.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert loaded.tokenizer.tokenize(SENTENCES) == tokenizer.tokenize(SENTENCES)


def test_the_manifest_states_task_step_version_and_files(folder):
    manifest = load_translation_model(folder).manifest
    assert (manifest["task"], manifest["step"], manifest["regard"]) == ("translation", 7, regard.__version__)
    assert set(manifest["files"]) == {"config.toml", "tokenizer.json", "model.safetensors"}


def write_manifest(folder, manifest):
    """Write a manifest of format 1, which has no seal."""
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 1}))


def change_file(folder, name, change):
    """Change a file and its entry in the manifest, so that no checksum detects it."""
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
def test_an_unreadable_file_of_the_folder_is_named(folder, name, content, message):
    change_file(folder, name, lambda path: path.write_bytes(content))
    with pytest.raises(CheckpointError, match=message):
        load_translation_model(folder)


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json", "model.safetensors"])
def test_a_manifest_without_one_of_the_files_is_refused(folder, name):
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"][name]
    write_manifest(folder, manifest)
    with pytest.raises(CheckpointError, match=f"does not name {name}"):
        load_translation_model(folder)


def test_a_tokenizer_of_another_size_is_refused(folder):
    change_file(
        folder, "tokenizer.json", learn_tokenizer([*TEXTS, "other words, other pieces"] * 2, 290).save
    )
    with pytest.raises(CheckpointError, match="tokens, and model.vocab_size in .* is"):
        load_translation_model(folder)


def test_loading_keeps_the_random_state(folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    load_translation_model(folder)
    assert torch.equal(torch.rand(2), expected)


def test_weights_that_do_not_fit_their_config_are_refused(folder):
    def widen(path):
        path.write_text(path.read_text().replace("d_ff = 32", "d_ff = 64"))

    change_file(folder, "config.toml", widen)
    with pytest.raises(
        CheckpointError, match=r"does not fit its config.toml: .* is \[32, 16\], not \[64, 16\]"
    ):
        load_translation_model(folder)


def test_a_model_of_another_task_is_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, {**manifest, "task": "forecasting"})
    with pytest.raises(CheckpointError, match="is a model for forecasting, not for translation"):
        load_translation_model(folder)


def test_loading_runs_no_code_from_the_folder():
    """No code of the package reads a pickle."""
    from pathlib import Path

    for path in (Path(regard.__file__).parent).rglob("*.py"):
        code = path.read_text()
        assert "import pickle" not in code, path
        assert "torch.load" not in code, path


def test_importing_the_translator_does_not_import_torch():
    code = "import sys, regard; regard.Translator; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_continuations_have_probabilities_and_best_translations(parts):
    translator = Translator.from_model(*parts)
    continuations = translator.continuations("the cat sings.", "a dog", 300)
    assert sum(each.probability for each in continuations) == pytest.approx(1.0, abs=1e-4)
    assert [each.probability for each in continuations] == sorted(
        (each.probability for each in continuations), reverse=True
    )
    prefix = parts[1].detokenize([parts[1].tokenize(["a dog"])[0]])[0]
    assert all(
        each.translation.text.startswith(prefix)
        for each in continuations
        if each.translation.status == "whole"
    )
    (end,) = [each for each in continuations if each.token == ""]
    assert end.translation.text == "a dog"
    (whole,) = translator.translate_detailed(["the cat sings."], options=TranslateOptions(prefix="a dog"))
    assert max(each.translation.score for each in continuations) >= whole.score - 1e-4


def test_continuations_do_not_hash_the_weights(parts, monkeypatch):
    monkeypatch.setattr("regard.trace.model_facts.hashlib.sha256", lambda *_: pytest.fail("hashed"))
    assert len(Translator.from_model(*parts).continuations("the cat sings.", count=3)) == 3


def test_no_constraints_are_compiled_without_any(parts, monkeypatch):
    monkeypatch.setattr(ConstraintCompiler, "compile", lambda *_: pytest.fail("compiled"))
    assert Translator.from_model(*parts).translate(["the cat sings."])


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_fp32_model_is_loaded_only_when_it_is_needed(folder, precision):
    translator = Translator.load(folder, "cpu", "torch", precision)
    (plain,) = translator.translate_detailed(["the cat"])
    assert not translator._model.fp32.is_loaded
    (aligned,) = translator.translate_detailed(["the cat"], options=TranslateOptions(alignments=True))
    assert translator._model.fp32.is_loaded
    assert (aligned.text, aligned.score) == (plain.text, plain.score)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_the_fp32_model_is_freed_once_the_engine_has_its_weights(folder, precision, monkeypatch):
    loaded, load = [], model_folder.load_transformer

    def load_and_watch(each):
        model = load(each)
        loaded.append(weakref.ref(model))
        return model

    monkeypatch.setattr(model_folder, "load_transformer", load_and_watch)
    translator = Translator.load(folder, "cpu", "torch", precision)
    gc.collect()
    assert [model() for model in loaded] == [None]
    assert translator.translate(["the cat"])


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
@pytest.mark.parametrize("options", [TranslateOptions(), TranslateOptions(alignments=True)])
def test_every_file_of_the_folder_is_read_once(folder, monkeypatch, engine, options):
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
        if options.needs_forced_decoding:
            pytest.skip("has no alignments")
        Translator.load(folder, "cpu", engine)  # converts the weights
    tokenizers, hashed = [], []
    monkeypatch.setattr(
        model_folder, "load_tokenizer", lambda path: tokenizers.append(path) or load_tokenizer(path)
    )
    monkeypatch.setattr(checkpoint, "file_sha256", lambda path: hashed.append(path.name) or file_sha256(path))
    translator = Translator.load(folder, "cpu", engine, options=options)
    translator.translate_detailed(["the cat"], options=options)
    assert len(tokenizers) == 1
    expected = ["config.toml", "tokenizer.json"] + ["model.safetensors"] * (engine == "torch")
    assert [name for name in sorted(hashed) if name in expected] == sorted(expected)

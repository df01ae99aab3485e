import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import MICRO
from fake_engines import DiagonalForcedDecoder, EchoEngine
from regard.checkpoint import MANIFEST_FILE, read_manifest
from regard.config import to_toml
from regard.errors import CheckpointError, DataError
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.text.glossary import Glossary
from regard.text.tokenizer import learn_tokenizer
from regard.translation import unlike_training
from regard.translation.engines import LoadedModel
from regard.translation.model_folder import read_translation_folder, save_translation_model
from regard.translation.options import TranslateOptions
from regard.translation.run import TranslationRun
from regard.translation.translator import Translator
from regard.translation.unlike_training import (
    LikelihoodCalibration,
    calibrate_model_folder,
    calibrate_translator,
    fit_calibration,
)

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3
AT_MINUS_2 = LikelihoodCalibration(100, -1.0, -2.0)
"""Flags translations with less than -2 nats per token."""


def random_translations(count):
    """Return log-probabilities and numbers of tokens."""
    random = np.random.default_rng(0)
    tokens = random.choice([3, 5, 10, 20, 40], count)
    return ((-0.4 - random.exponential(0.2, count)) * tokens).tolist(), tokens.tolist()


def test_one_percent_of_the_validation_texts_is_flagged():
    log_probabilities, tokens = random_translations(1000)
    calibration = fit_calibration(log_probabilities, tokens)
    flagged = sum(map(calibration.is_unlike_training, log_probabilities, tokens))
    assert (calibration.texts, flagged) == (1000, 10)
    assert calibration.mean == pytest.approx(-0.6, abs=0.02)


def test_a_less_probable_translation_is_never_more_like_the_training_text():
    calibration = fit_calibration(*random_translations(500))
    for tokens in (1, 7, 300):
        flags = [calibration.is_unlike_training(-value * tokens, tokens) for value in np.arange(0, 9, 0.1)]
        assert flags == sorted(flags)
        assert flags[-1]


def test_too_few_texts_give_no_calibration():
    assert fit_calibration(*random_translations(99)) is None
    assert fit_calibration(*random_translations(100)) is not None


@pytest.fixture
def tokenizer():
    return learn_tokenizer(TEXTS, 300)


@pytest.fixture
def folder(tokenizer, tmp_path):
    torch.manual_seed(0)
    model = Transformer(replace(MICRO, vocab_size=tokenizer.vocab_size, max_length=24)).eval()
    save_translation_model(
        tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {"step": 7}
    )
    return tmp_path / "model"


def echo_translator(tokenizer, max_tokens=99, **fields):
    """A translator whose translations equal their sources and have a log-probability of -5."""
    engine, calibration = EchoEngine(max_tokens), replace(AT_MINUS_2, **fields)
    engine.translate = lambda sources, config, constraints=None, find=engine.translate: [
        [replace(each, log_probability=-5.0) for each in row] for row in find(sources, config, constraints)
    ]
    decoder = DiagonalForcedDecoder
    return Translator(LoadedModel(engine, tokenizer, get_forced_decoder=decoder, calibration=calibration))


def flags(translator, texts, search=None, **options):
    results = translator.translate_detailed(texts, search or SearchConfig(), TranslateOptions(**options))
    return [each.unlike_training for each in results]


def test_a_text_with_an_improbable_translation_is_flagged_and_a_blank_one_is_not_judged(tokenizer):
    assert len(tokenizer.tokenize(["cat"])[0]) == 1
    translator = echo_translator(tokenizer)  # -5 over two tokens with the end token, and over more
    assert flags(translator, ["cat", "the cat sees the dog.", " "]) == [True, False, None]


def test_alternatives_are_not_judged(tokenizer):
    (best,) = echo_translator(tokenizer).translate_detailed(["cat"], SearchConfig(n_best=2))
    assert (best.unlike_training, best.alternatives[0].unlike_training) == (True, None)


@pytest.mark.parametrize(
    ("search", "options"),
    [
        (SearchConfig(sampling=Sampling()), {}),
        (SearchConfig(min_length=1), {}),
        (SearchConfig(max_length=9), {}),
        (SearchConfig(no_repeat_ngram=3), {}),
        (SearchConfig(allow_unknown=False), {}),
        (SearchConfig(), {"prefix": "a"}),
        (SearchConfig(), {"required": ("a",)}),
        (SearchConfig(), {"forbidden": ("sings",)}),
        (SearchConfig(), {"glossary": Glossary((("cat", "cat"),))}),
    ],
)
def test_translations_of_a_constrained_search_are_not_judged(tokenizer, search, options):
    assert flags(echo_translator(tokenizer), ["cat"], search, **options) == [None]


def test_greedy_search_and_other_beams_are_judged(tokenizer):
    for beam in (1, 2, 8):
        assert flags(echo_translator(tokenizer), ["cat"], SearchConfig(beam, alpha=1.0)) == [True]


def test_a_text_that_was_split_is_judged_as_a_whole(tokenizer):
    text = "the cat sees the dog. cat."
    max_tokens = len(tokenizer.tokenize(["the cat sees the dog."])[0])
    (result,) = echo_translator(tokenizer, max_tokens).translate_detailed([text])
    assert result.status == "split"
    tokens = len(result.tokens) + 2  # two parts with an end token each
    assert result.log_probability == -10.0
    for nats, flag in ((0.01, False), (-0.01, True)):
        translator = echo_translator(tokenizer, max_tokens, threshold=-10.0 / tokens - nats)
        assert flags(translator, [text]) == [flag]


def test_a_model_without_calibration_flags_nothing(folder):
    assert read_translation_folder(folder).calibration is None
    assert flags(Translator.load(folder), ["cat"]) == [None]
    assert flags(Translator.load(folder, engine="torch"), ["cat"]) == [None]


def test_a_calibrated_folder_flags_texts_in_every_engine(folder, monkeypatch):
    monkeypatch.setattr(unlike_training, "MIN_CALIBRATION_TEXTS", 3)
    calibration = calibrate_model_folder(folder, ["", *TEXTS])
    assert calibration == read_translation_folder(folder).calibration
    assert (calibration.texts, read_manifest(folder)["step"]) == (9, 7)
    high = replace(calibration, threshold=0.0)  # above every log-probability
    rewrite_calibration(folder, high.to_manifest())
    for engine in ("torch", "ctranslate2"):
        assert flags(Translator.load(folder, "cpu", engine), ["cat", "dog"]) == [True, True]
    traced = Translator.load(folder, "cpu").trace
    assert traced("cat").target.unlike_training is True
    assert traced("cat", prefix="dog").target.unlike_training is None
    assert traced("cat", target="dog").target.unlike_training is None
    assert traced("cat", interventions=[{"type": "positions"}]).target.unlike_training is None
    assert json.loads(traced("cat").dumps())["target"]["unlike_training"] is True


def test_too_few_texts_for_a_folder_are_one_error_line(folder):
    with pytest.raises(DataError, match="there are 9 texts; a calibration needs at least 100"):
        calibrate_model_folder(folder, TEXTS)
    assert read_translation_folder(folder).calibration is None


def rewrite_calibration(folder, entry):
    """Change the manifest entry, with the seal recomputed."""
    unlike_training.publish_model(folder, folder, metadata=entry)


@pytest.mark.parametrize(
    "entry", [[], "x", {}, {"mean": 0.0}, {**AT_MINUS_2.to_manifest()["likelihood_calibration"], "mean": "x"}]
)
def test_an_invalid_calibration_is_a_damaged_folder(folder, entry):
    rewrite_calibration(folder, {"likelihood_calibration": entry})
    with pytest.raises(CheckpointError, match=f"{MANIFEST_FILE}: likelihood_calibration is invalid: "):
        read_translation_folder(folder)


def test_at_most_a_thousand_texts_are_translated_evenly_chosen(tokenizer, monkeypatch):
    monkeypatch.setattr(unlike_training, "MAX_CALIBRATION_TEXTS", 4)
    monkeypatch.setattr(unlike_training, "MIN_CALIBRATION_TEXTS", 1)
    engine = EchoEngine()
    translator = Translator(LoadedModel(engine, tokenizer))
    assert calibrate_translator(translator, TEXTS).texts == 4
    assert sum(engine.batches) == 4
    assert calibrate_translator(translator, []) is None

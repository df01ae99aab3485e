import copy
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from conftest import MICRO
from inference.ctranslate2_models import (
    log_probability,
    random_sources,
    train_copy_model,
    write_engine_folder,
)
from regard.errors import ConfigError
from regard.inference.eager import EagerEngine
from regard.inference.engine import Engine
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, Sampling, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS, Constraints
from regard.search.hypothesis import length_penalty
from regard.text.tokenizer import BOS, EOS, PAD

pytest.importorskip("ctranslate2")
from regard.inference.ctranslate2 import CTranslate2Engine, balanced_batches


@pytest.fixture(scope="module")
def model():
    return train_copy_model(replace(MICRO, max_length=20))


@pytest.fixture
def engine(model, tmp_path):
    return CTranslate2Engine(write_engine_folder(tmp_path / "model", model), model.config, "fp32", threads=2)


def all_tokens(results):
    return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in results]


def test_it_implements_the_engine_protocol(engine):
    assert isinstance(engine, Engine)
    assert engine.max_tokens == 19
    assert engine.translate([]) == []


@pytest.mark.parametrize("min_length", [0, 4])
def test_greedy_search_equals_torch(model, engine, min_length):
    config = replace(GREEDY_SEARCH, min_length=min_length)
    rows = random_sources(60)
    expected = EagerEngine(model).translate(rows, config)
    assert len({len(hypotheses[0].tokens) for hypotheses in expected}) > 5
    assert all_tokens(engine.translate(rows, config)) == all_tokens(expected)


@pytest.mark.parametrize(
    "config", [PAPER_SEARCH, SearchConfig(beam=3, alpha=1.0), SearchConfig(max_length=4)]
)
def test_the_best_hypothesis_nearly_always_equals_torch(model, engine, config):
    rows = random_sources(100)
    expected, results = EagerEngine(model).translate(rows, config), engine.translate(rows, config)
    equal = sum(a[0].tokens == b[0].tokens for a, b in zip(expected, results, strict=True))
    assert equal >= 90


@pytest.mark.parametrize(
    "config",
    [
        GREEDY_SEARCH,
        replace(PAPER_SEARCH, n_best=4),
        replace(GREEDY_SEARCH, max_length=3),
        SearchConfig(n_best=2, min_length=6),
    ],
)
def test_log_probabilities_equal_forced_decoding_with_torch(model, engine, config):
    rows = random_sources(20)
    for row, hypotheses in zip(rows, engine.translate(rows, config), strict=True):
        best = hypotheses[0]
        assert [best, *hypotheses] == sorted([*hypotheses, best], key=lambda each: -each.score)
        for each in hypotheses:
            expected = log_probability(model, row, list(each.tokens))
            assert each.log_probability == pytest.approx(expected, abs=1e-3)
            penalty = length_penalty(len(each.tokens) + 1, config.alpha)
            assert each.score == pytest.approx(each.log_probability / penalty)


def test_n_best_hypotheses_are_returned_and_distinct(engine):
    results = engine.translate(random_sources(20), SearchConfig(n_best=3))
    assert {len(each) for each in results} == {3}
    assert all(len(set(each)) == 3 for each in all_tokens(results))


@pytest.mark.parametrize("beam", [1, 4])
def test_length_limits_are_obeyed(engine, beam):
    rows = random_sources(30)
    lengths = {
        len(hypotheses[0].tokens)
        for hypotheses in engine.translate(rows, SearchConfig(beam, min_length=5, max_length=7))
    }
    assert lengths == {5, 6, 7}


def test_a_translation_without_an_end_mark_stops_at_its_own_limit(micro, tmp_path):
    torch.manual_seed(0)
    model = Transformer(replace(micro, max_length=100, tied="none"))
    with torch.no_grad():
        model.output.weight[2] = 0.0
    engine = CTranslate2Engine(write_engine_folder(tmp_path / "model", model), model.config, "fp32")
    for config in (GREEDY_SEARCH, PAPER_SEARCH):
        results = engine.translate([[5], [5, 6, 7], [9, 9]], config)
        assert [len(each[0].tokens) for each in results] == [51, 53, 52]
        expected = EagerEngine(model).translate([[5], [5, 6, 7], [9, 9]], config)
        for hypotheses, reference in zip(results, expected, strict=True):
            assert hypotheses[0].log_probability == pytest.approx(reference[0].log_probability, abs=1e-2)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
def test_results_do_not_depend_on_the_batch_or_its_order(model, tmp_path, config, precision):
    engine = CTranslate2Engine(
        write_engine_folder(tmp_path / "model", model), model.config, precision, threads=2
    )
    rows = random_sources(40)
    batch = all_tokens(engine.translate(rows, config))
    assert [all_tokens(engine.translate([row], config))[0] for row in rows] == batch
    assert all_tokens(engine.translate(rows[::-1], config)) == batch[::-1]


@pytest.mark.parametrize(
    ("config", "constraints", "option"),
    [
        (SearchConfig(sampling=Sampling()), NO_CONSTRAINTS, "sampling"),
        (SearchConfig(no_repeat_ngram=3), NO_CONSTRAINTS, "no_repeat_ngram"),
        (SearchConfig(allow_unknown=False), NO_CONSTRAINTS, "allow_unknown"),
        (PAPER_SEARCH, Constraints(prefix=(5,)), "prefixes"),
    ],
)
def test_unsupported_options_are_refused(engine, config, constraints, option):
    message = f"CTranslate2 does not support .*{option}.*; choose the engine torch"
    with pytest.raises(ConfigError, match=message):
        engine.translate([[5]], config, [constraints])
    assert engine.translate([[5]], PAPER_SEARCH, [NO_CONSTRAINTS])


def test_an_unsupported_model_is_refused(micro, tmp_path):
    model = Transformer(replace(micro, norm="literal"))
    with pytest.raises(ConfigError, match='model.norm = "literal"'):
        CTranslate2Engine(write_engine_folder(tmp_path / "model", model), model.config)


def test_batches_contain_every_sentence_once_and_are_balanced():
    torch.manual_seed(0)
    lengths = torch.randint(1, 60, (500,)).tolist()
    batches = balanced_batches(lengths, 1000, workers=4)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    sizes = [sum(lengths[index] + 1 for index in batch) for batch in batches]
    assert len(batches) % 4 == 0
    assert 900 < min(sizes) <= max(sizes) < 1060  # 15,560 tokens in all
    assert [len(batch) for batch in balanced_batches([3, 3, 3, 3], 1000, workers=2)] == [2, 2]
    assert balanced_batches([], 1000, workers=2) == []


def test_a_long_sentence_does_not_pad_many_short_ones():
    lengths = [500, *[4] * 500]
    for batch in balanced_batches(lengths, 2000, workers=1):
        padded = len(batch) * (max(lengths[index] for index in batch) + 1)
        assert padded <= 4000


def test_torch_is_not_imported(model, tmp_path):
    folder = write_engine_folder(tmp_path / "model", model)
    code = f"""
import sys
from pathlib import Path
from regard.inference.ctranslate2 import CTranslate2Engine
from regard.model.config import ModelConfig
engine = CTranslate2Engine(Path({str(folder)!r}), {model.config!r})
assert engine.translate([[5, 6]])[0]
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_empty_source_has_an_empty_translation(engine):
    first, blank, last = engine.translate([[5, 6], [], [7]], PAPER_SEARCH)
    assert blank[0].tokens == ()
    assert [first, last] == engine.translate([[5, 6], [7]], PAPER_SEARCH)


@pytest.mark.parametrize("beam", [1, 4])
def test_no_special_token_is_written_below_the_minimum_length(model, tmp_path, beam):
    """The model gives special tokens the probability of the end mark."""
    biased = copy.deepcopy(model)
    with torch.no_grad():
        biased.output.weight[[PAD, BOS]] = biased.output.weight[EOS].clone()
    folder = write_engine_folder(tmp_path / "biased", biased)
    engine = CTranslate2Engine(folder, biased.config, "fp32", threads=1)
    for hypotheses in engine.translate(random_sources(20), SearchConfig(beam, min_length=15)):
        assert len(hypotheses[0].tokens) >= 15
        assert not {PAD, BOS} & set(hypotheses[0].tokens)

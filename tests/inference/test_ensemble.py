from dataclasses import replace

import pytest
import torch

from oracles import beam_one_by_one
from regard.errors import ConfigError
from regard.inference.eager import EagerEngine
from regard.inference.engine import Engine
from regard.inference.ensemble import Ensemble, make_ensemble
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, SearchConfig
from regard.text.tokenizer import BOS, EOS, learn_tokenizer

SOURCES = [[5, 6, 7], [4], [9, 9, 3, 11]]


@pytest.fixture
def members(micro):
    models = []
    for seed, layers in ((0, 2), (1, 1), (2, 2)):  # of different depths
        torch.manual_seed(seed)
        models.append(Transformer(replace(micro, decoder_layers=layers)).eval())
    return models


def best_tokens(results):
    return [hypotheses[0].tokens for hypotheses in results]


def test_an_ensemble_searches_the_mean_of_the_probabilities(members):
    def logits_by_prefix(row):
        source = torch.tensor([[*row, EOS]])

        def logits(prefix):
            target = torch.tensor([[BOS, *prefix]])
            return sum(one(source, source > 0, target)[0, -1].softmax(dim=0) for one in members).log()

        return logits

    with torch.no_grad():
        expected = [beam_one_by_one(logits_by_prefix(row), EOS, 12, beam=2, alpha=0.6) for row in SOURCES]
    results = EagerEngine(Ensemble(members)).translate(SOURCES, SearchConfig(2, max_length=12))
    assert best_tokens(results) == best_tokens(expected)
    for (one,), (other,) in zip(results, expected, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
def test_an_ensemble_of_equal_models_equals_the_model(members, config):
    alone = EagerEngine(members[0]).translate(SOURCES, config)
    equal = EagerEngine(Ensemble([members[0]] * 2)).translate(SOURCES, config)
    assert best_tokens(equal) == best_tokens(alone)


def test_the_shortest_length_limit_applies(micro, members):
    short = Transformer(replace(micro, max_length=12))
    engine = EagerEngine(Ensemble([members[0], short]))
    assert isinstance(engine, Engine)
    assert engine.max_tokens == 11


def test_different_tokenizers_are_refused(members):
    one = learn_tokenizer(["a cat and a dog"] * 3, 300)
    other = learn_tokenizer(["un chat et un chien"] * 3, 300)
    assert len(make_ensemble(members[:2], [one, one]).members) == 2
    with pytest.raises(ConfigError, match="models 1 and 3 have different tokenizers"):
        make_ensemble(members, [one, one, other])

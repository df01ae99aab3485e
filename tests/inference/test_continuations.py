import pytest
import torch

from oracles import log_probabilities
from regard.inference.continuations import find_continuations
from regard.inference.eager import EagerEngine
from regard.inference.forced import ForcedDecoder
from regard.search.config import SearchConfig
from regard.search.hypothesis import length_penalty
from regard.text.tokenizer import BOS, EOS

CONFIG = SearchConfig(2, max_length=10)
SOURCE, PREFIX = [5, 6, 7], [8, 9]


def test_the_most_probable_next_tokens_come_with_their_best_translations(micro_model):
    engine = EagerEngine(micro_model)
    continuations = find_continuations(engine, SOURCE, PREFIX, 23, CONFIG)
    source = torch.tensor([[*SOURCE, EOS]])
    with torch.no_grad():
        logs = log_probabilities(micro_model(source, source > 0, torch.tensor([[BOS, *PREFIX]]))[0, -1])
    assert [one.token for one in continuations] == logs.argsort(descending=True, stable=True).tolist()
    assert [one.log_probability for one in continuations] == pytest.approx(
        sorted(logs.tolist())[::-1], abs=1e-5
    )
    for one in continuations:
        begin = (*PREFIX, *([] if one.token == EOS else [one.token]))
        assert one.best.tokens[: len(begin)] == begin
        (decoding,) = ForcedDecoder(micro_model).force_decode([SOURCE], [list(one.best.tokens)])
        assert one.best.log_probability == pytest.approx(decoding.log_probability, abs=1e-4)
        penalty = length_penalty(len(one.best.tokens) + 1, CONFIG.alpha)
        assert one.best.score == pytest.approx(one.best.log_probability / penalty, abs=1e-4)
    (ended,) = [one.best for one in continuations if one.token == EOS]
    assert ended.tokens == tuple(PREFIX)


def test_the_best_translation_is_among_the_continuations_of_the_empty_prefix(micro_model):
    engine = EagerEngine(micro_model)
    ((best,),) = engine.translate([SOURCE], CONFIG)
    assert best.tokens in [one.best.tokens for one in find_continuations(engine, SOURCE, [], 3, CONFIG)]

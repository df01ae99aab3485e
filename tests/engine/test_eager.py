import torch

from oracles import greedy_one_by_one
from regard.engine.eager import EXTRA, EagerEngine
from regard.text.tokenizer import BOS, EOS


def sources(count, seed=0):
    torch.manual_seed(seed)
    return [torch.randint(3, 23, (length,)).tolist() for length in torch.randint(1, 9, (count,)).tolist()]


def test_cached_and_batched_equals_uncached_and_alone(micro_model):
    rows = sources(4)
    expected = [greedy_one_by_one(micro_model, [*row, EOS], BOS, EOS, limit=39) for row in rows]
    assert EagerEngine(micro_model).translate(rows) == expected


def test_neighbours_and_order_change_nothing(micro_model):
    rows, engine = sources(5), EagerEngine(micro_model)
    together = engine.translate(rows)
    assert [engine.translate([row])[0] for row in rows] == together
    assert engine.translate(rows[::-1]) == together[::-1]


def test_a_translation_ends_at_the_limit_of_the_model_or_of_its_length(micro_model):
    engine = EagerEngine(micro_model)
    assert all(len(row) <= micro_model.config.max_length - 1 for row in engine.translate(sources(6)))
    assert EXTRA == 50


def test_the_model_is_left_as_it_was_found(micro_model):
    micro_model.train()
    EagerEngine(micro_model).translate(sources(2))
    assert micro_model.training

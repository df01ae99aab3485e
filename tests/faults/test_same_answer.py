"""Same sentence, same answer: whatever is in the batch beside it (promise B3, the default mode)."""

import random

import pytest
import torch
from torch.nn import functional

from conftest import MICRO
from regard.data.batch import pad_rows, pad_source
from regard.inference.eager import EagerEngine
from regard.inference.incremental import IncrementalDecoder
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.text.tokenizer import BOS, EOS, PAD

pytestmark = pytest.mark.fault

FEW, MANY = 40, 2000
MOST = 0.001
"""The share of lines that may differ; of few, none."""
CONFIGS = {
    "greedy": SearchConfig(1, max_length=14),
    "beam": SearchConfig(n_best=4, max_length=14),
    "sampled": SearchConfig(sampling=Sampling(top_k=5), max_length=14),
}


def some(count, seed):
    """Sentences of all lengths, some of which it will not have seen the like of."""
    drawn = random.Random(seed)
    return [[drawn.randint(3, 22) for _ in range(drawn.randint(1, 12))] for _ in range(count)]


@pytest.fixture(scope="module")
def learnt():
    """A model that has begun to learn to reverse: sure of some answers, torn about others."""
    torch.manual_seed(0)
    model = Transformer(MICRO)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(100):
        rows = some(48, seed=1000 + step)
        source = pad_source(rows)
        target = pad_rows([[BOS, *row[::-1], EOS] for row in rows])
        logits = model(source, source != PAD, target[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 2.8  # guessing would be 3.1
    return model.eval()


def engine_of(model, name):
    return EagerEngine(model if name == "plain" else IncrementalDecoder(model, name))


def answers(engine, rows, config, size, beside=()):
    """What is found in batches of that size, each with those neighbours."""
    found = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        found += [
            tuple(one.tokens for one in answer)
            for answer in engine.translate([*batch, *beside], config)[: len(batch)]
        ]
    return found


def differing(engine, config, count, alone, sizes):
    """How many answers differ from those in batches of 64, by what was done otherwise."""
    rows = some(count, seed=1)
    expected = answers(engine, rows, config, 64)
    order = random.Random(2).sample(range(count), count)
    shuffled = answers(engine, [rows[i] for i in order], config, 64)
    found = {f"{size} at a time": answers(engine, rows, config, size) for size in sizes}
    found |= {
        "one by one": answers(engine, rows[:alone], config, 1),
        "shuffled": [answer for _, answer in sorted(zip(order, shuffled, strict=True))],
        "beside others": answers(engine, rows, config, 5, beside=some(3, seed=9)),
    }
    return {
        how: sum(one != other for one, other in zip(each, expected, strict=False))
        for how, each in found.items()
    }


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("engine", ["plain", "fp32", "int8"])
def test_batch_size_order_and_neighbours_change_no_answer(learnt, engine, config):
    found = differing(engine_of(learnt, engine), config, FEW, alone=10, sizes=(8,))
    assert max(found.values()) <= MOST * FEW, found


@pytest.mark.slow
@pytest.mark.parametrize("config", [CONFIGS["greedy"], CONFIGS["beam"]], ids=["greedy", "beam"])
@pytest.mark.parametrize("engine", ["fp32", "int8"])
def test_nor_do_they_among_two_thousand(learnt, engine, config):
    found = differing(engine_of(learnt, engine), config, MANY, alone=MANY, sizes=(2, 8, 256))
    assert max(found.values()) <= MOST * MANY, found

"""Same sentence, same answer: whatever is in the batch beside it (promise B3, the default mode)."""

import random

import pytest
import torch
from torch.nn import functional

from conftest import MICRO
from regard.data.batch import pad, source_rows
from regard.engine.eager import EagerEngine
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.text.tokenizer import BOS, EOS, PAD

pytestmark = pytest.mark.fault

SENTENCES = 40
MOST = 0.001
"""Lines that may differ; of so few, none."""
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
        source = source_rows(rows)
        target = pad([[BOS, *row[::-1], EOS] for row in rows])
        logits = model(source, source != PAD, target[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 2.8  # guessing would be 3.1
    return EagerEngine(model.eval())


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


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_batch_size_order_and_neighbours_change_no_answer(learnt, config):
    rows = some(SENTENCES, seed=1)
    expected = answers(learnt, rows, config, 64)
    order = random.Random(2).sample(range(SENTENCES), SENTENCES)
    shuffled = answers(learnt, [rows[i] for i in order], config, 64)
    found = {
        "one by one": answers(learnt, rows[:10], config, 1),
        "in eights": answers(learnt, rows, config, 8),
        "shuffled": [answer for _, answer in sorted(zip(order, shuffled, strict=True))],
        "beside others": answers(learnt, rows, config, 5, beside=some(3, seed=9)),
    }
    differing = {
        how: sum(one != other for one, other in zip(each, expected, strict=False))
        for how, each in found.items()
    }
    assert max(differing.values()) <= MOST * SENTENCES, differing

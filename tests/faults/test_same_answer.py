"""B3, the default mode: a sentence has the same translation whatever else is in the batch."""

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
MAX_DIFFERENT = 0.001
"""The share of sentences that may differ; of a few sentences none."""
CONFIGS = {
    "greedy": SearchConfig(1, max_length=14),
    "beam": SearchConfig(n_best=4, max_length=14),
    "sampled": SearchConfig(sampling=Sampling(top_k=5), max_length=14),
}


def random_sentences(count, seed):
    """Return sentences of all lengths."""
    generator = random.Random(seed)
    return [[generator.randint(3, 22) for _ in range(generator.randint(1, 12))] for _ in range(count)]


@pytest.fixture(scope="module")
def trained_model():
    """A model in the middle of learning to reverse: certain of some tokens, uncertain of others."""
    torch.manual_seed(0)
    model = Transformer(MICRO)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(100):
        rows = random_sentences(48, seed=1000 + step)
        source = pad_source(rows)
        target = pad_rows([[BOS, *row[::-1], EOS] for row in rows])
        logits = model(source, source != PAD, target[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 2.8  # a uniform guess has 3.1
    return model.eval()


def engine_of(model, name):
    return EagerEngine(model if name == "plain" else IncrementalDecoder(model, name))


def translate(engine, rows, config, batch_size, beside=()):
    """Translate in batches of that size, each together with the sentences `beside`."""
    results = []
    for first in range(0, len(rows), batch_size):
        batch = rows[first : first + batch_size]
        results += [
            tuple(hypothesis.tokens for hypothesis in hypotheses)
            for hypotheses in engine.translate([*batch, *beside], config)[: len(batch)]
        ]
    return results


def count_differences(engine, config, count, single, batch_sizes):
    """Return how many translations differ from those in batches of 64, by how they were batched."""
    rows = random_sentences(count, seed=1)
    expected = translate(engine, rows, config, 64)
    order = random.Random(2).sample(range(count), count)
    shuffled = translate(engine, [rows[i] for i in order], config, 64)
    results = {f"batches of {size}": translate(engine, rows, config, size) for size in batch_sizes}
    results |= {
        "one by one": translate(engine, rows[:single], config, 1),
        "shuffled": [result for _, result in sorted(zip(order, shuffled, strict=True))],
        "beside others": translate(engine, rows, config, 5, beside=random_sentences(3, seed=9)),
    }
    return {
        name: sum(one != other for one, other in zip(each, expected, strict=False))
        for name, each in results.items()
    }


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("engine", ["plain", "fp32", "int8"])
def test_batch_size_order_and_neighbours_change_no_translation(trained_model, engine, config):
    differences = count_differences(
        engine_of(trained_model, engine), config, FEW, single=10, batch_sizes=(8,)
    )
    assert max(differences.values()) <= MAX_DIFFERENT * FEW, differences


@pytest.mark.slow
@pytest.mark.parametrize("config", [CONFIGS["greedy"], CONFIGS["beam"]], ids=["greedy", "beam"])
@pytest.mark.parametrize("engine", ["fp32", "int8"])
def test_batch_size_order_and_neighbours_change_no_translation_of_two_thousand(trained_model, engine, config):
    differences = count_differences(
        engine_of(trained_model, engine), config, MANY, single=MANY, batch_sizes=(2, 8, 256)
    )
    assert max(differences.values()) <= MAX_DIFFERENT * MANY, differences

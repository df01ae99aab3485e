"""A small random translation model, its tokenizer and its tracer."""

from dataclasses import replace

import pytest
import torch

from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.trace.model_facts import identify_model_in_memory
from regard.translation.tracing import Tracer

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3


@pytest.fixture
def tokenizer():
    return learn_tokenizer(TEXTS, 300)


@pytest.fixture
def model(micro, tokenizer):
    torch.manual_seed(0)
    return Transformer(replace(micro, vocab_size=tokenizer.vocab_size, max_length=20)).eval()


@pytest.fixture
def tracer(model, tokenizer):
    return Tracer(model, tokenizer, identify_model_in_memory(model))

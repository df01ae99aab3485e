from dataclasses import replace

import torch

from regard.inference.eager import EagerEngine
from regard.inference.word_boundaries import find_word_boundaries
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.constraints import DIGIT, LETTER, SEPARATE, Constraints
from regard.text.tokenizer import learn_tokenizer

TOKENIZER = learn_tokenizer(["the cat, 42 cats in a category"] * 3, 310)


def test_each_token_has_the_kind_of_its_first_and_last_character():
    boundaries = find_word_boundaries(TOKENIZER)
    assert len(boundaries.begins) == len(boundaries.ends) == TOKENIZER.vocab_size
    kinds = {
        TOKENIZER.id_to_token(id): (boundaries.begins[id], boundaries.ends[id])
        for id in range(3, TOKENIZER.vocab_size)
    }
    assert kinds[" cat"] == (SEPARATE, LETTER)
    assert kinds["s"] == (LETTER, LETTER)
    assert kinds["2"] == (DIGIT, DIGIT)
    assert kinds[","] == kinds[" "] == kinds["<0x0A>"] == (SEPARATE, SEPARATE)
    assert kinds["<0xC3>"] == (LETTER, LETTER)


def test_a_required_word_does_not_count_inside_a_longer_one(micro):
    """The model prefers the token s, and so writes cats or scats where cat is required."""
    model = Transformer(replace(micro, vocab_size=TOKENIZER.vocab_size, tied="none"))
    ids = {TOKENIZER.id_to_token(id): id for id in range(TOKENIZER.vocab_size)}
    norm = model.decoder.layers[-1].around_feed_forward.norm
    with torch.no_grad():  # constant logits
        norm.weight.zero_()
        norm.bias.fill_(1.0)
        model.output.weight.zero_()
        model.output.weight[ids["s"]] = 1.0
    constraints, config = Constraints(required=(((ids[" cat"],),),)), SearchConfig(max_length=6, n_best=4)

    def words(engine):
        (hypotheses,) = engine.translate([[ids["s"]]], config, [constraints])
        return [TOKENIZER.detokenize([one.tokens])[0].split() for one in hypotheses]

    assert not all("cat" in each for each in words(EagerEngine(model)))
    assert all("cat" in each for each in words(EagerEngine(model, find_word_boundaries(TOKENIZER))))

from dataclasses import replace

import torch

from regard.inference.eager import EagerEngine
from regard.inference.word_boundaries import find_word_boundaries
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.constraints import DIGIT, LETTER, SEPARATE, Constraints
from regard.text.tokenizer import learn_tokenizer

TOKENIZER = learn_tokenizer(["the cat, 42 cats in a category"] * 3, 310)


def test_pieces_are_told_apart_by_their_first_and_last_characters():
    found = find_word_boundaries(TOKENIZER)
    assert len(found.begins) == len(found.ends) == TOKENIZER.vocab_size
    kinds = {
        TOKENIZER.id_to_token(id): (found.begins[id], found.ends[id]) for id in range(3, TOKENIZER.vocab_size)
    }
    assert kinds[" cat"] == (SEPARATE, LETTER)
    assert kinds["s"] == (LETTER, LETTER)
    assert kinds["2"] == (DIGIT, DIGIT)
    assert kinds[","] == kinds[" "] == kinds["<0x0A>"] == (SEPARATE, SEPARATE)
    assert kinds["<0xC3>"] == (LETTER, LETTER)


def test_a_required_word_is_not_found_inside_a_longer_one(micro):
    """A model that likes the s too much writes cats, or scats, where a cat is asked for."""
    model = Transformer(replace(micro, vocab_size=TOKENIZER.vocab_size, tied="none"))
    pieces = {TOKENIZER.id_to_token(id): id for id in range(TOKENIZER.vocab_size)}
    norm = model.decoder.layers[-1].around_feed_forward.norm
    with torch.no_grad():  # the same logits always
        norm.weight.zero_()
        norm.bias.fill_(1.0)
        model.output.weight.zero_()
        model.output.weight[pieces["s"]] = 1.0
    wish, config = Constraints(required=(((pieces[" cat"],),),)), SearchConfig(max_length=6, n_best=4)

    def words(engine):
        (found,) = engine.translate([[pieces["s"]]], config, [wish])
        return [TOKENIZER.detokenize([one.tokens])[0].split() for one in found]

    assert not all("cat" in each for each in words(EagerEngine(model)))
    assert all("cat" in each for each in words(EagerEngine(model, find_word_boundaries(TOKENIZER))))

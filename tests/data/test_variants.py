from regard.data.variants import variants
from regard.text.segmenting import Sampler
from regard.text.tokenizer import learn_tokenizer

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", ""] * 5
TOKENIZER = learn_tokenizer(TEXTS, 300)


def rows(ids):
    return [ids[i].tolist() for i in range(len(ids))]


def test_each_variant_is_what_the_sampler_draws():
    found = variants(TOKENIZER, TEXTS, dropout=0.3, count=3, seed=7)
    sampler = Sampler(TOKENIZER, 0.3, seed=7)
    assert [rows(ids) for ids in found] == [sampler.tokenize(TEXTS, variant) for variant in range(3)]
    assert rows(found[0]) != rows(found[1])


def test_without_dropout_there_is_one_variant_the_tokenizers():
    (ids,) = variants(TOKENIZER, TEXTS, dropout=0.0, count=3, seed=7)
    assert rows(ids) == TOKENIZER.tokenize(TEXTS)

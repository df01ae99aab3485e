import numpy as np

from regard.data.mmap_store import open_pair_dataset, write_tokenized_pairs
from regard.data.tokenization import NO_BPE_DROPOUT, BPEDropout, tokenize_pairs, tokenize_variants
from regard.text.bpe_dropout import BPEDropoutSampler
from regard.text.tokenizer import learn_tokenizer

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a cat sings to the birds."] * 5
PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))
NUMBERED = list(enumerate(PAIRS, start=1))
TOKENIZER = learn_tokenizer(TEXTS, 300)
DROPOUT = BPEDropout(0.3, 3, 7)


def test_each_way_is_what_the_sampler_draws():
    found = tokenize_variants(TEXTS, TOKENIZER, DROPOUT, 4)
    sampler = BPEDropoutSampler(TOKENIZER, 0.3, seed=7)
    for way in range(3):
        assert [ways[way] for ways in found] == sampler.tokenize(TEXTS, way, 4)
    assert len({tuple(map(tuple, ways)) for ways in found}) > 3


def test_without_dropout_there_is_one_way_the_tokenizers():
    assert tokenize_variants(TEXTS, TOKENIZER, NO_BPE_DROPOUT, 0) == [
        [row] for row in TOKENIZER.tokenize(TEXTS)
    ]


def test_epochs_of_a_stored_corpus_take_the_ways_in_turn(tmp_path):
    facts = write_tokenized_pairs(tmp_path, [NUMBERED[:10], NUMBERED[10:]], TOKENIZER, 100, "drop", DROPOUT)
    pairs = open_pair_dataset(tmp_path, facts, (1.0, 1.0))
    assert (len(pairs), pairs.corpus_sizes, pairs.epoch_size) == (15, (10, 5), 15)
    assert len(pairs.source) == len(pairs.target) == 45
    expected = [
        row
        for part in (PAIRS[:10], PAIRS[10:])
        for row in tokenize_variants([a for a, _ in part], TOKENIZER, DROPOUT, 0)
    ]
    for epoch in range(5):
        shown = pairs.epoch_indexes(epoch, np.arange(15)).tolist()
        assert [pairs.source[i].tolist() for i in shown] == [ways[epoch % 3] for ways in expected]
        texts = [
            TOKENIZER.detokenize([side[i].tolist() for i in shown]) for side in (pairs.source, pairs.target)
        ]
        assert list(zip(*texts, strict=True)) == PAIRS


def test_a_pair_that_is_too_long_in_one_way_is_too_long():
    everything = BPEDropout(0.5, 4, 1)
    longest = 18
    source, target, _, counts = tokenize_pairs(NUMBERED, TOKENIZER, longest, "drop", everything)
    assert 0 < counts["dropped"] < len(PAIRS)
    assert len(source) == len(target) == 4 * (len(PAIRS) - counts["dropped"])
    assert max(map(len, source + target)) <= longest
    source, target, _, counts = tokenize_pairs(NUMBERED, TOKENIZER, longest, "cut", everything)
    assert counts["cut"] > 0
    assert len(source) == 4 * len(PAIRS)
    assert max(map(len, source + target)) <= longest


def test_what_is_split_is_cut_in_every_way():
    given = [(7, ("the cat sings. " * 4, "a dog sees. " * 4))]
    source, target, lines, counts = tokenize_pairs(given, TOKENIZER, 20, "split", DROPOUT)
    assert counts == {"split": 1, "parts": 4}
    assert len(source) == len(target) == 12
    assert lines == [7] * 4
    assert set(TOKENIZER.detokenize(source)) == {"the cat sings."}

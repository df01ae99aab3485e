import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics.translation import MAX_LENGTH_GROUPS, MIN_GROUP_SENTENCES, bleu_by_length, corpus_bleu


@given(st.lists(st.integers(1, 60), min_size=1, max_size=150))
def test_every_sentence_is_in_one_group_and_none_is_empty(lengths):
    texts = ["a b c d e"] * len(lengths)
    found = bleu_by_length(lengths, texts, texts)
    assert list(found.pairs) == np.histogram(lengths, found.bins)[0].tolist()
    assert sum(found.pairs) == len(lengths)
    assert min(found.pairs) >= 1
    assert len(found.bins) == len(found.bleu) + 1 <= MAX_LENGTH_GROUPS + 1
    assert found.bins[0] == min(lengths)


def test_a_group_has_the_bleu_of_its_own_sentences():
    lengths = [5] * MIN_GROUP_SENTENCES + [50] * MIN_GROUP_SENTENCES
    references = ["the cat sat on the mat"] * 2 * MIN_GROUP_SENTENCES
    hypotheses = references[:MIN_GROUP_SENTENCES] + ["the dog sat on the mat"] * MIN_GROUP_SENTENCES
    found = bleu_by_length(lengths, hypotheses, references)
    assert found.bins == (5, 50, 51)
    expected = [
        corpus_bleu(hypotheses[part], references[part]).score
        for part in (slice(0, MIN_GROUP_SENTENCES), slice(MIN_GROUP_SENTENCES, None))
    ]
    assert found.bleu == pytest.approx(expected, abs=0.005)
    assert found.bleu[0] > found.bleu[1]

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics.translation import FEWEST, PARTS, bleu, bleu_by_length


@given(st.lists(st.integers(1, 60), min_size=1, max_size=150))
def test_every_sentence_is_in_one_group_and_none_is_empty(lengths):
    texts = ["a b c d e"] * len(lengths)
    found = bleu_by_length(lengths, texts, texts)
    assert list(found.pairs) == np.histogram(lengths, found.bins)[0].tolist()
    assert sum(found.pairs) == len(lengths)
    assert min(found.pairs) >= 1
    assert len(found.bins) == len(found.bleu) + 1 <= PARTS + 1
    assert found.bins[0] == min(lengths)


def test_a_group_has_the_bleu_of_its_own_sentences():
    lengths = [5] * FEWEST + [50] * FEWEST
    references = ["the cat sat on the mat"] * 2 * FEWEST
    hypotheses = references[:FEWEST] + ["the dog sat on the mat"] * FEWEST
    found = bleu_by_length(lengths, hypotheses, references)
    assert found.bins == (5, 50, 51)
    expected = [
        bleu(hypotheses[part], references[part]).score for part in (slice(0, FEWEST), slice(FEWEST, None))
    ]
    assert found.bleu == pytest.approx(expected, abs=0.005)
    assert found.bleu[0] > found.bleu[1]

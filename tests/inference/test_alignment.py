import math

import numpy as np
import pytest

from regard.inference.alignment import ForcedDecoding, align_words, format_pharaoh, word_confidences

ATTENTION = np.array([[0.1, 0.2, 0.6, 0.1], [0.3, 0.3, 0.3, 0.1], [0.9, 0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 1.0]])


def decoding(*probabilities):
    return ForcedDecoding(tuple(math.log(p) for p in probabilities), ATTENTION)


def test_perplexity_is_the_inverse_geometric_mean_of_the_probabilities():
    forced = decoding(0.5, 0.25, 0.5, 1.0)
    assert forced.log_probability == pytest.approx(math.log(1 / 16))
    assert forced.perplexity == pytest.approx(2.0)
    assert forced.most_attended == (2, 0, 0, 3)


def test_a_word_is_aligned_by_the_attention_of_its_first_token():
    """Attention to a source word is the sum over its tokens; later tokens of a target word are ignored."""
    links = align_words(decoding(1, 1, 1, 1), source=[0, 0, 1], target=[0, 0, 1])
    assert links == ((1, 0), (0, 1))
    assert format_pharaoh(links) == "0-1 1-0"
    assert align_words(decoding(1, 1, 1, 1), source=[0, 1, 1], target=[0, None, 1]) == ((1, 0), (0, 1))


def test_empty_sides_have_no_alignment():
    assert align_words(decoding(1), source=[], target=[]) == ()
    assert align_words(decoding(1, 1), source=[None], target=[0]) == ()
    assert format_pharaoh(()) == ""


def test_the_confidence_of_a_word_is_that_of_its_least_probable_token():
    assert word_confidences(decoding(0.5, 0.25, 0.75, 0.1), [0, 0, 1]) == pytest.approx((0.25, 0.75))
    assert word_confidences(decoding(0.25, 0.5, 0.75, 0.1), [0, 0, 1]) == pytest.approx((0.25, 0.75))

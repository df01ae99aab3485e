import math

import numpy as np
import pytest

from regard.inference.alignment import ForcedDecoding, align_words, format_pharaoh, word_confidences

ATTENTION = np.array([[0.1, 0.2, 0.6, 0.1], [0.3, 0.3, 0.3, 0.1], [0.9, 0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 1.0]])


def reading(*probabilities):
    return ForcedDecoding(tuple(math.log(p) for p in probabilities), ATTENTION)


def test_probabilities_multiply_and_perplexity_is_their_inverse_mean():
    given = reading(0.5, 0.25, 0.5, 1.0)
    assert given.log_probability == pytest.approx(math.log(1 / 16))
    assert given.perplexity == pytest.approx(2.0)
    assert given.most_attended == (2, 0, 0, 3)


def test_a_word_goes_back_to_what_its_first_piece_looks_at_its_pieces_together():
    """The first source word has two pieces, and only the first piece of a target word is asked."""
    links = align_words(reading(1, 1, 1, 1), source=[0, 0, 1], target=[0, 0, 1])
    assert links == ((1, 0), (0, 1))
    assert format_pharaoh(links) == "0-1 1-0"
    assert align_words(reading(1, 1, 1, 1), source=[0, 1, 1], target=[0, None, 1]) == ((1, 0), (0, 1))


def test_nothing_goes_back_to_nothing():
    assert align_words(reading(1), source=[], target=[]) == ()
    assert align_words(reading(1, 1), source=[None], target=[0]) == ()
    assert format_pharaoh(()) == ""


def test_a_word_is_as_sure_as_its_least_likely_piece():
    assert word_confidences(reading(0.5, 0.25, 0.75, 0.1), [0, 0, 1]) == pytest.approx((0.25, 0.75))
    assert word_confidences(reading(0.25, 0.5, 0.75, 0.1), [0, 0, 1]) == pytest.approx((0.25, 0.75))

import math

import numpy as np
import pytest

from regard.inference.alignment import Reading, alignment, confidences, pharaoh

ATTENTION = np.array([[0.1, 0.2, 0.6, 0.1], [0.3, 0.3, 0.3, 0.1], [0.9, 0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 1.0]])


def reading(*probabilities):
    return Reading(tuple(math.log(p) for p in probabilities), ATTENTION)


def test_probabilities_multiply_and_perplexity_is_their_inverse_mean():
    given = reading(0.5, 0.25, 0.5, 1.0)
    assert given.log_probability == pytest.approx(math.log(1 / 16))
    assert given.perplexity == pytest.approx(2.0)
    assert given.looks == (2, 0, 0, 3)


def test_a_word_goes_back_to_what_its_first_piece_looks_at_its_pieces_together():
    """The first source word has two pieces, and only the first piece of a target word is asked."""
    links = alignment(reading(1, 1, 1, 1), source=[0, 0, 1], target=[0, 0, 1])
    assert links == ((1, 0), (0, 1))
    assert pharaoh(links) == "0-1 1-0"
    assert alignment(reading(1, 1, 1, 1), source=[0, 1, 1], target=[0, None, 1]) == ((1, 0), (0, 1))


def test_nothing_goes_back_to_nothing():
    assert alignment(reading(1), source=[], target=[]) == ()
    assert alignment(reading(1, 1), source=[None], target=[0]) == ()
    assert pharaoh(()) == ""


def test_a_word_is_as_sure_as_its_least_likely_piece():
    assert confidences(reading(0.5, 0.25, 0.75, 0.1), [0, 0, 1]) == pytest.approx((0.25, 0.75))
    assert confidences(reading(0.25, 0.5, 0.75, 0.1), [0, 0, 1]) == pytest.approx((0.25, 0.75))

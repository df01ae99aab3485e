import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import one_against_all
from regard.metrics.accuracy import accuracy, confusion

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def of(pairs):
    true, predicted = np.array(pairs, np.int64).T
    return confusion(true, predicted, 4)


@given(LABELS)
def test_rows_of_the_confusion_are_true_labels_and_columns_given_ones(pairs):
    matrix = of(pairs)
    for row in range(4):
        for column in range(4):
            assert matrix[row, column] == pairs.count((row, column))


@given(LABELS)
def test_every_figure_is_what_counting_finds(pairs):
    found = accuracy(of(pairs))
    true, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    assert found.accuracy == pytest.approx(sum(t == p for t, p in pairs) / len(pairs))
    each = [one_against_all(true, predicted, label) for label in range(4)]
    for score, expected in zip(found.classes, each, strict=True):
        assert (score.precision, score.recall, score.f1) == pytest.approx(expected)
    occur = set(true) | set(predicted)
    assert found.macro_f1 == pytest.approx(sum(each[label][2] for label in occur) / len(occur))
    assert [score.texts for score in found.classes] == [true.count(label) for label in range(4)]


def test_a_label_that_never_occurs_does_not_lower_macro_f1():
    assert accuracy(of([(0, 0), (1, 1)])).macro_f1 == 1.0


def test_nothing_gives_zeros():
    empty = accuracy(np.zeros((2, 2), np.int64))
    assert (empty.accuracy, empty.macro_f1) == (0.0, 0.0)

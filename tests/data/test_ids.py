import numpy as np

from regard.data.ids import flatten

ROWS = [[5, 6, 7], [], [8]]


def test_rows_come_back_from_the_flat_array():
    ids = flatten(ROWS)
    assert [ids[i].tolist() for i in range(len(ids))] == ROWS
    assert ids.lengths.tolist() == [3, 0, 1]


def test_taken_rows_come_in_the_order_asked():
    assert [row.tolist() for row in (flatten(ROWS).take(np.array([2, 0]))[i] for i in range(2))] == [
        [8],
        [5, 6, 7],
    ]


def test_nothing_flattens_to_nothing():
    assert len(flatten([])) == 0

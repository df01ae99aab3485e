import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.permutation import permute_indices


@given(st.integers(1, 3000), st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_every_number_has_one_place(size, seed, epoch):
    found = permute_indices(np.arange(size), size, seed, epoch)
    assert np.array_equal(np.sort(found), np.arange(size))


@given(st.integers(1, 10**12), st.lists(st.integers(0, 10**12 - 1), min_size=1, max_size=20))
def test_a_place_holds_the_same_whatever_is_asked_beside_it(size, places):
    asked = np.array(places, np.int64) % size
    together = permute_indices(asked, size, 7)
    alone = [int(permute_indices(asked[i : i + 1], size, 7)[0]) for i in range(len(asked))]
    assert together.tolist() == alone
    assert 0 <= together.min() <= together.max() < size


def test_the_order_is_the_keys():
    orders = [permute_indices(np.arange(500), 500, *key).tolist() for key in ((1, 1), (1, 2), (2, 1), (1, 1))]
    assert orders[0] == orders[3]
    assert len({tuple(order) for order in orders}) == 3


def test_neighbours_are_scattered_evenly():
    size = 100_000
    found = permute_indices(np.arange(1000), size, 3, 0)
    assert np.all(np.bincount(found * 10 // size, minlength=10) > 60)
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.15

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.permutation import permute_indices


@given(st.integers(1, 3000), st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_every_number_has_exactly_one_position(size, seed, epoch):
    permuted = permute_indices(np.arange(size), size, seed, epoch)
    assert np.array_equal(np.sort(permuted), np.arange(size))


@given(st.integers(1, 10**12), st.lists(st.integers(0, 10**12 - 1), min_size=1, max_size=20))
def test_a_position_does_not_depend_on_the_other_positions(size, numbers):
    positions = np.array(numbers, np.int64) % size
    permuted = permute_indices(positions, size, 7)
    one_by_one = [int(permute_indices(positions[i : i + 1], size, 7)[0]) for i in range(len(positions))]
    assert permuted.tolist() == one_by_one
    assert 0 <= permuted.min() <= permuted.max() < size


def test_the_order_depends_on_the_key_alone():
    orders = [permute_indices(np.arange(500), 500, *key).tolist() for key in ((1, 1), (1, 2), (2, 1), (1, 1))]
    assert orders[0] == orders[3]
    assert len({tuple(order) for order in orders}) == 3


def test_neighbours_are_scattered_evenly():
    size = 100_000
    permuted = permute_indices(np.arange(1000), size, 3, 0)
    assert np.all(np.bincount(permuted * 10 // size, minlength=10) > 60)
    assert abs(np.corrcoef(permuted[:-1], permuted[1:])[0, 1]) < 0.15

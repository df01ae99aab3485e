import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from regard.errors import DataError
from regard.trace.packing import pack_array, unpack_array

shares = arrays(np.float32, array_shapes(max_dims=4, max_side=5), elements=st.floats(0, 1, width=32))


@given(shares, st.sampled_from([("u8", 255), ("u16", 65_535)]))
def test_a_share_comes_back_to_half_a_step_and_nothing_stays_nothing(array, stored):
    dtype, steps = stored
    back = unpack_array(pack_array(array, dtype))
    assert back.shape == array.shape
    assert np.abs(back - array).max() <= 0.5 / steps + 1e-6
    assert (back[array == 0] == 0).all()
    assert (back[array == 1] == 1).all()


@given(arrays(np.float32, array_shapes(max_dims=3, max_side=4), elements=st.floats(-100, 100, width=16)))
def test_numbers_of_16_bits_come_back_exactly(array):
    for dtype in ("f16", "f32"):
        assert np.array_equal(unpack_array(pack_array(array, dtype)), array)


def test_bytes_lie_little_endian_with_the_last_axis_fastest():
    packed = pack_array(np.array([[0, 1], [0.5, 0]]), "u16")
    assert packed["shape"] == [2, 2]
    assert base64.b64decode(packed["data"]) == bytes([0, 0, 0xFF, 0xFF, 0x00, 0x80, 0, 0])


def test_what_is_no_share_and_what_is_no_array_are_refused():
    for wrong in (np.array([1.5]), np.array([-0.1]), np.array([np.nan])):
        with pytest.raises(ValueError, match="shares from 0 to 1"):
            pack_array(wrong, "u8")
    good = pack_array(np.zeros(3), "f32")
    for damaged in ({**good, "shape": [4]}, {**good, "data": "?"}, {**good, "dtype": "f64"}, {}):
        with pytest.raises(DataError, match="no packed array"):
            unpack_array(damaged)

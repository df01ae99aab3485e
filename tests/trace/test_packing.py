import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from regard.errors import DataError
from regard.trace.packing import pack_array, unpack_array

fractions = arrays(np.float32, array_shapes(max_dims=4, max_side=5), elements=st.floats(0, 1, width=32))


@given(fractions, st.sampled_from([("u8", 255), ("u16", 65_535)]))
def test_fractions_are_restored_to_half_a_step_and_zero_exactly(array, dtype_and_steps):
    dtype, steps = dtype_and_steps
    restored = unpack_array(pack_array(array, dtype))
    assert restored.shape == array.shape
    assert np.abs(restored - array).max() <= 0.5 / steps + 1e-6
    assert (restored[array == 0] == 0).all()
    assert (restored[array == 1] == 1).all()


@given(arrays(np.float32, array_shapes(max_dims=3, max_side=4), elements=st.floats(-100, 100, width=16)))
def test_half_precision_numbers_are_restored_exactly(array):
    for dtype in ("f16", "f32"):
        assert np.array_equal(unpack_array(pack_array(array, dtype)), array)


def test_bytes_are_little_endian_in_c_order():
    packed = pack_array(np.array([[0, 1], [0.5, 0]]), "u16")
    assert packed["shape"] == [2, 2]
    assert base64.b64decode(packed["data"]) == bytes([0, 0, 0xFF, 0xFF, 0x00, 0x80, 0, 0])


def test_values_out_of_range_and_damaged_arrays_are_rejected():
    for values in (np.array([1.5]), np.array([-0.1]), np.array([np.nan])):
        with pytest.raises(ValueError, match="fractions from 0 to 1"):
            pack_array(values, "u8")
    packed = pack_array(np.zeros(3), "f32")
    for damaged in ({**packed, "shape": [4]}, {**packed, "data": "?"}, {**packed, "dtype": "f64"}, {}):
        with pytest.raises(DataError, match="not a packed array"):
            unpack_array(damaged)

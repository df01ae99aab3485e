import math

import pytest
import torch

from regard.model.position import (
    PositionalEncoding,
    get_timing_signal_1d,
    halves_position_table,
    paper_position_table,
)


def rounded(table):
    return [[round(float(x), 4) for x in row] for row in table]


def test_tensor2tensors_table_at_four_channels():
    expected = [[0, 0, 1, 1], [0.8415, 0.0001, 0.5403, 1], [0.9093, 0.0002, -0.4161, 1]]
    assert rounded(get_timing_signal_1d(3, 4)[0]) == expected


def test_the_papers_table_at_four_channels():
    expected = [[0, 1, 0, 1], [0.8415, 0.5403, 0.01, 0.9999], [0.9093, -0.4161, 0.02, 0.9998]]
    assert rounded(paper_position_table(3, 4)) == expected


@pytest.mark.parametrize("channels", [4, 6, 512])
def test_the_papers_table_equals_its_formula(channels):
    table = paper_position_table(20, channels)
    for position in (0, 1, 7, 19):
        for i in range(channels // 2):
            angle = position / 10_000 ** (2 * i / channels)
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_the_halves_table_reorders_the_papers_columns():
    both = paper_position_table(20, 64)
    torch.testing.assert_close(
        halves_position_table(20, 64), torch.cat([both[:, 0::2], both[:, 1::2]], dim=1)
    )


def test_tensor2tensors_table_is_not_a_reordering_of_the_papers():
    difference = (get_timing_signal_1d(20, 512)[0] - halves_position_table(20, 512)).abs().max()
    assert difference == pytest.approx(0.027, abs=0.001)


def test_the_last_timescale_is_10000_for_tensor2tensor_and_less_for_the_paper():
    assert 1 / math.asin(get_timing_signal_1d(2, 512)[0, 1, 255]) == pytest.approx(10_000, rel=1e-5)
    assert 1 / math.asin(paper_position_table(2, 512)[1, -2]) == pytest.approx(9646.6, abs=0.1)


def test_timescales_are_geometric_from_the_smallest_to_the_largest():
    signal = get_timing_signal_1d(2, 8, min_timescale=5.0, max_timescale=1e4)[0].double()
    timescales = 1 / torch.asin(signal[1, :4])
    expected = [5 * 2000 ** (i / 3) for i in range(4)]
    torch.testing.assert_close(timescales, torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=0)


def test_compat_reproduces_tensor2tensors_timescales():
    signal = get_timing_signal_1d(2, 8, min_timescale=5.0, max_timescale=1e4, compat=True)[0].double()
    angles = torch.atan2(signal[1, :4], signal[1, 4:]) % (2 * math.pi)
    expected = torch.tensor([1 / 0.2, 1 / 2.52, 1 / 31.7, 1 / 400], dtype=torch.float64)
    torch.testing.assert_close(angles, expected, rtol=1e-2, atol=1e-4)


def test_compat_changes_nothing_at_the_default_timescales():
    assert torch.equal(get_timing_signal_1d(9, 10), get_timing_signal_1d(9, 10, compat=True))


def test_start_index_shifts_the_signal():
    shifted = get_timing_signal_1d(6, 10, start_index=4)
    assert torch.equal(shifted, get_timing_signal_1d(10, 10)[:, 4:])


@pytest.mark.parametrize("channels", [1, 2, 3, 5, 7])
def test_odd_and_narrow_signals_are_finite_and_end_in_zeros(channels):
    signal = get_timing_signal_1d(4, channels)
    assert signal.shape == (1, 4, channels)
    assert signal.isfinite().all()
    if channels % 2:
        assert (signal[..., -1] == 0).all()


@pytest.mark.parametrize("table", [paper_position_table, halves_position_table])
@pytest.mark.parametrize("channels", [1, 2, 3, 7])
def test_every_table_supports_odd_widths(table, channels):
    assert table(4, channels).shape == (4, channels)


def test_a_shift_of_position_is_a_linear_map():
    """sin(x + y) and cos(x + y) from sin x and cos x: one rotation per timescale, the same for all x."""
    table = halves_position_table(30, 16).double()
    sine, cosine = table[:, :8], table[:, 8:]
    for shift in (1, 5):
        turn_sine, turn_cosine = sine[shift], cosine[shift]
        moved = torch.cat(
            [sine * turn_cosine + cosine * turn_sine, cosine * turn_cosine - sine * turn_sine], dim=1
        )
        torch.testing.assert_close(moved[:-shift], table[shift:], atol=1e-6, rtol=0)


@pytest.mark.parametrize("scheme", ["paper", "tensor2tensor", "halves", "learned", "none"])
def test_the_encoding_is_looked_up_by_position(scheme):
    positions = PositionalEncoding(scheme, max_length=12, d_model=8)
    ids = torch.tensor([[3, 0, 11]])
    assert torch.equal(positions(ids)[0], positions.table[ids[0]])


def test_only_learned_positions_are_weights():
    assert list(PositionalEncoding("paper", 12, 8).state_dict()) == []
    assert [name for name, _ in PositionalEncoding("learned", 12, 8).named_parameters()] == ["table"]


def test_none_adds_nothing():
    assert (PositionalEncoding("none", 12, 8).table == 0).all()

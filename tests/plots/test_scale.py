import pytest

from regard.plots.scale import LinearScale, padded_range


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 100_000.0, ["0", "20k", "40k", "60k", "80k", "100k"]),
        (0.0, 15_500.0, ["0", "5k", "10k", "15k"]),
        (0.9, 2.1, ["1", "1.25", "1.5", "1.75", "2"]),
        (0.0, 7e-4, ["0", "2e-4", "4e-4", "6e-4"]),
        (0.0, 2.6e6, ["0", "0.5M", "1M", "1.5M", "2M", "2.5M"]),
        (0.0, 0.004, ["0", "0.001", "0.002", "0.003", "0.004"]),
        (-1.0, 1.0, ["-1", "-0.5", "0", "0.5", "1"]),
        (500.0, 1001.0, ["500", "600", "700", "800", "900", "1000"]),
    ],
)
def test_ticks_are_round_and_distinct(low, high, labels):
    assert [label for _, label in LinearScale(low, high, 0.0, 100.0).ticks(5)] == labels


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 12_345.678, 1e15])
def test_there_are_a_few_ticks_with_distinct_labels(size):
    for count in (2, 4, 9):
        labels = [label for _, label in LinearScale(0.0, size, 0.0, 1.0).ticks(count)]
        assert 2 <= len(labels) <= count + 2
        assert len(set(labels)) == len(labels)


def test_a_padded_range_is_never_empty():
    for values in ([], [float("nan")], [3.0], [0.0, 0.0], [-2.0]):
        low, high = padded_range(values)
        assert low < high
    assert padded_range([1.0, 2.0], include_zero=True)[0] == 0

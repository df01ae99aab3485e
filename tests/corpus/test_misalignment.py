import numpy as np
import pytest

from regard.corpus.misalignment import Misalignment, MisalignmentDetector

LINES = 3_000


def lengths(noise: float = 0.2):
    """Of sentences, and of translations a little longer."""
    random = np.random.default_rng(0)
    source = random.lognormal(4, 0.5, LINES)
    return source.astype(int), (1.2 * source * random.lognormal(0, noise, LINES)).astype(int)


def shifts(source, target, slab: int = 1_000) -> list[Misalignment]:
    watch = MisalignmentDetector()
    for start in range(0, len(source), slab):
        watch.add_lengths(source[start : start + slab], target[start : start + slab])
    return watch.find_misalignments()


@pytest.mark.parametrize("slab", [60, 333, 1_000, LINES])
def test_a_shift_is_the_same_however_the_lines_arrive(slab):
    source, target = lengths()
    assert shifts(source, target, slab) == []
    [shift] = shifts(source, np.roll(target, 2), slab)
    assert (shift.first_line, shift.offset) == (1, 2)
    assert LINES - shift.last_line < 60


def test_lengths_that_say_nothing_raise_no_alarm():
    source, target = lengths()
    random = np.random.default_rng(1)
    assert shifts(source, random.permutation(target)) == []
    assert shifts(np.full(LINES, 7), np.full(LINES, 9)) == []
    assert shifts(np.zeros(LINES, dtype=int), target) == []
    assert shifts(source[:3], target[:3]) == []
    assert shifts(source[:0], target[:0]) == []


def test_a_shift_shows_through_loose_translations():
    source, target = lengths(noise=0.4)
    [shift] = shifts(source[:-1], np.delete(target, 1_500))
    assert abs(shift.first_line - 1_500) <= 100
    assert shift.offset == -1

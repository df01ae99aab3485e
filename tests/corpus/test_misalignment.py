import numpy as np
import pytest

from regard.corpus.misalignment import Misalignment, MisalignmentDetector

LINES = 3_000


def lengths(noise: float = 0.2):
    """Return lengths of sentences and of slightly longer translations."""
    random = np.random.default_rng(0)
    source = random.lognormal(4, 0.5, LINES)
    return source.astype(int), (1.2 * source * random.lognormal(0, noise, LINES)).astype(int)


def find_misalignments(source, target, block: int = 1_000) -> list[Misalignment]:
    detector = MisalignmentDetector()
    for start in range(0, len(source), block):
        detector.add_lengths(source[start : start + block], target[start : start + block])
    return detector.find_misalignments()


@pytest.mark.parametrize("block", [60, 333, 1_000, LINES])
def test_a_misalignment_is_found_with_any_size_of_blocks(block):
    source, target = lengths()
    assert find_misalignments(source, target, block) == []
    [misalignment] = find_misalignments(source, np.roll(target, 2), block)
    assert (misalignment.first_line, misalignment.offset) == (1, 2)
    assert LINES - misalignment.last_line < 60


def test_uninformative_lengths_are_no_misalignment():
    source, target = lengths()
    random = np.random.default_rng(1)
    assert find_misalignments(source, random.permutation(target)) == []
    assert find_misalignments(np.full(LINES, 7), np.full(LINES, 9)) == []
    assert find_misalignments(np.zeros(LINES, dtype=int), target) == []
    assert find_misalignments(source[:3], target[:3]) == []
    assert find_misalignments(source[:0], target[:0]) == []


def test_a_misalignment_is_found_in_loose_translations():
    source, target = lengths(noise=0.4)
    [misalignment] = find_misalignments(source[:-1], np.delete(target, 1_500))
    assert abs(misalignment.first_line - 1_500) <= 100
    assert misalignment.offset == -1

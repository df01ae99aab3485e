import pytest
import torch

from regard.search.beam_state import ConstraintState
from regard.search.config import GREEDY_SEARCH
from regard.search.greedy import greedy_search

BOS, EOS = 0, 1


class Countdown:
    """A three-line model: row r says 5, 4, ... down to 2, then ends; the state is what it says next."""

    def __init__(self):
        self.rows_seen = []

    def step(self, state, token):
        self.rows_seen.append(len(token))
        return torch.nn.functional.one_hot(state, 10).float(), state - 1

    def select(self, state, sentences):
        return state[sentences]

    def expand(self, *_):
        raise AssertionError("greedy search has one hypothesis")

    reorder = expand


def search(model, state, limits):
    found = greedy_search(
        model,
        torch.tensor(state, dtype=torch.long),
        BOS,
        EOS,
        ConstraintState.from_lists(limits),
        GREEDY_SEARCH,
    )
    return [list(only.tokens) for (only,) in found]


def test_the_highest_score_is_kept_until_the_end_mark():
    found = search(Countdown(), [5], [50])
    assert found == [[5, 4, 3, 2]]


def test_rows_end_by_themselves_and_keep_their_place():
    model = Countdown()
    found = search(model, [3, 1, 5], [50, 50, 50])
    assert found == [[3, 2], [], [5, 4, 3, 2]]
    assert model.rows_seen == [3, 2, 2, 1, 1]  # finished rows cost nothing


def test_each_row_has_its_own_limit():
    found = search(Countdown(), [9, 9, 9], [2, 0, 4])
    assert found == [[9, 8], [], [9, 8, 7, 6]]


@pytest.mark.parametrize("vocab", [10, 1000, 70_001])
@pytest.mark.parametrize("rows", [1, 3])
def test_ties_go_to_the_lowest_id(vocab, rows):
    class Tied(Countdown):
        def step(self, state, token):
            scores = torch.zeros(len(token), vocab)
            scores[:, [4, 7, vocab // 2, -1]] = 1.0
            return scores, state

    assert search(Tied(), [0] * rows, [2] * rows) == [[4, 4]] * rows


def test_no_rows_give_no_rows():
    assert search(Countdown(), [], []) == []

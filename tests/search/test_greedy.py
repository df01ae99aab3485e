import pytest
import torch

from regard.search.config import GREEDY_SEARCH
from regard.search.constraint_state import ConstraintState
from regard.search.greedy import greedy_search

BOS, EOS = 0, 1


class Countdown:
    """A model whose state is the token it predicts next: 5, 4, ... down to 2, then the end mark."""

    def __init__(self):
        self.row_counts = []

    def step(self, state, token):
        self.row_counts.append(len(token))
        return torch.nn.functional.one_hot(state, 10).float(), state - 1

    def select(self, state, sentences):
        return state[sentences]

    def expand(self, *_):
        raise AssertionError("greedy search has one hypothesis")

    reorder = expand


def search(model, state, limits):
    constraints = ConstraintState.from_lists(limits)
    state = torch.tensor(state, dtype=torch.long)
    results = greedy_search(model, state, BOS, EOS, constraints, GREEDY_SEARCH)
    return [list(only.tokens) for (only,) in results]


def test_the_most_probable_token_is_taken_until_the_end_mark():
    assert search(Countdown(), [5], [50]) == [[5, 4, 3, 2]]


def test_finished_rows_leave_the_batch_and_results_keep_the_input_order():
    model = Countdown()
    assert search(model, [3, 1, 5], [50, 50, 50]) == [[3, 2], [], [5, 4, 3, 2]]
    assert model.row_counts == [3, 2, 2, 1, 1]


def test_each_row_has_its_own_length_limit():
    assert search(Countdown(), [9, 9, 9], [2, 0, 4]) == [[9, 8], [], [9, 8, 7, 6]]


@pytest.mark.parametrize("vocab", [10, 1000, 70_001])
@pytest.mark.parametrize("rows", [1, 3])
def test_ties_go_to_the_lowest_token_id(vocab, rows):
    class Tied(Countdown):
        def step(self, state, token):
            scores = torch.zeros(len(token), vocab)
            scores[:, [4, 7, vocab // 2, -1]] = 1.0
            return scores, state

    assert search(Tied(), [0] * rows, [2] * rows) == [[4, 4]] * rows


def test_an_empty_batch_gives_no_hypotheses():
    assert search(Countdown(), [], []) == []

from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from oracles import beam_one_by_one, every_sequence
from regard.search.beam import beam, length_penalty
from regard.search.config import PAPER, SearchConfig
from regard.search.greedy import greedy

BOS, EOS = 0, 1
SLOTS = 997


class Position(NamedTuple):
    source: Tensor  # by sentence
    read: Tensor  # by row: a number that stands for all tokens so far


class Table:
    """A random model: what comes next depends on the sentence and on every token so far."""

    def __init__(self, seed, vocab, coarse=False):
        random = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(SLOTS, vocab, generator=random) * 2
        if coarse:  # many equal scores
            self.logits = self.logits.round().clamp(-1, 1)
        self.rows_seen = []

    def start(self, sources):
        return Position(torch.tensor(sources), torch.zeros(len(sources), dtype=torch.long))

    def step(self, state, token):
        self.rows_seen.append(len(token))
        read = (state.read * 31 + token + 1) % SLOTS
        source = state.source.repeat_interleave(len(token) // len(state.source))
        return self.logits[(source * 57 + read) % SLOTS], Position(state.source, read)

    def expand(self, state, beam):
        return Position(state.source, state.read.repeat_interleave(beam))

    def reorder(self, state, rows):
        return Position(state.source, state.read[rows])

    def select(self, state, sentences):
        by_sentence = state.read.unflatten(0, (len(state.source), -1))
        return Position(state.source[sentences], by_sentence[sentences].flatten())

    def after(self, source):
        """The same model, asked for one sentence by its prefix."""

        def logits(prefix):
            read = 0
            for token in [BOS, *prefix]:
                read = (read * 31 + token + 1) % SLOTS
            return self.logits[(source * 57 + read) % SLOTS]

        return logits


def search(model, sources, limits, config):
    return beam(model, model.start(sources), BOS, EOS, torch.tensor(limits), config)


sentences = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=4)
models = st.builds(Table, st.integers(0, 10**6), st.integers(2, 6), st.booleans())
configs = st.builds(SearchConfig, st.integers(1, 5), st.sampled_from([0.0, 0.6, 1.0, 3.0]))


@given(models, sentences, configs)
def test_it_finds_what_a_list_of_hypotheses_that_never_stops_early_finds(model, sentences, config):
    sources, limits = zip(*sentences, strict=True)
    expected = [
        beam_one_by_one(model.after(source), EOS, limit, config.beam, config.alpha)
        for source, limit in sentences
    ]
    assert search(model, sources, limits, config) == expected


@given(models, st.integers(0, 3), st.sampled_from([0.0, 0.6, 2.0]))
def test_a_beam_with_room_for_everything_finds_the_best_there_is(model, limit, alpha):
    vocab = model.logits.shape[1]
    config = SearchConfig(sum((vocab - 1) ** n for n in range(limit + 2)), alpha)
    expected = every_sequence(model.after(5), EOS, limit, alpha)
    (found,) = search(model, [5], [limit], config)
    if expected != found:  # equal scores may come in another order; anything lower may not
        assert score(model.after(5), found, alpha) == score(model.after(5), expected, alpha)


def score(logits, tokens, alpha):
    total = torch.tensor(0.0)
    for length, token in enumerate([*tokens, EOS]):
        total = total + logits(tokens[:length]).log_softmax(dim=-1)[token]
    return total / torch.tensor(length_penalty(len(tokens) + 1, alpha))


@given(st.integers(0, 10**6), sentences)
def test_a_beam_of_one_is_greedy_search(seed, sentences):
    sources, limits = zip(*sentences, strict=True)
    model = Table(seed, 6)
    expected = greedy(model, model.start(sources), BOS, EOS, torch.tensor(limits))
    assert search(model, sources, limits, SearchConfig(beam=1)) == expected


@given(models, sentences, configs)
def test_neighbours_and_order_change_nothing(model, sentences, config):
    sources, limits = zip(*sentences, strict=True)
    together = search(model, sources, limits, config)
    alone = [search(model, [source], [limit], config)[0] for source, limit in sentences]
    assert alone == together
    assert search(model, sources[::-1], limits[::-1], config) == together[::-1]


def chain(*probabilities):
    """A model that writes 2, 3, 4, ... with those probabilities, and otherwise ends."""
    model = Table(0, len(probabilities) + 3)
    model.logits.fill_(-1e4)
    read = 0
    for token, probability in enumerate((*probabilities, 0.0), start=2):
        read = (read * 31 + (token - 1 if token > 2 else BOS) + 1) % SLOTS
        model.logits[read, [token, EOS]] = torch.tensor([probability, 1 - probability]).log()
    return model


def test_the_papers_penalty_lets_the_longer_win_where_plain_probability_would_not():
    model = chain(0.47, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert (PAPER.beam, PAPER.alpha) == (4, 0.6)  # section 6.1
    assert search(model, [0], [50], PAPER) == [[2, 3, 4, 5, 6, 7]]
    assert search(model, [0], [50], SearchConfig(alpha=0.0)) == [[]]
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)


def test_an_ended_hypothesis_does_not_stop_a_longer_one_that_can_still_win():
    """The short one ends in the first step, and is only beaten by the twenty-second token."""
    assert search(chain(0.35, *[1.0] * 20), [0], [50], SearchConfig(beam=2)) == [list(range(2, 23))]


def test_a_sentence_stops_when_nothing_open_can_win():
    model = chain(0.01, *[0.9] * 20)
    assert search(model, [0], [20], SearchConfig(beam=2, alpha=0.6)) == [[]]
    assert len(model.rows_seen) == 1  # log 0.01 is too far behind for any length penalty


def test_finished_sentences_cost_nothing():
    model = chain(0.5, 0.5, 0.01)
    alone = len([search(model, [0], [50], PAPER), *model.rows_seen]) - 1
    model.rows_seen.clear()
    search(model, [0, 0, 0], [0, 50, 50], PAPER)
    assert model.rows_seen == [12, *[8] * (alone - 1)]


def test_no_hypothesis_is_longer_than_its_limit():
    model = Table(3, 5)
    model.logits[:, EOS] = -9.0
    assert [len(row) for row in search(model, [1, 2, 3], [2, 0, 4], PAPER)] == [2, 0, 4]


def test_a_model_that_has_lost_its_mind_still_comes_to_an_end():
    model = Table(0, 5)
    model.logits.fill_(torch.nan)
    assert search(model, [0, 1], [50, 3], PAPER) == [[], []]


def test_no_sentences_give_no_translations():
    assert beam(Table(0, 5), Table(0, 5).start([]), BOS, EOS, torch.zeros(0, dtype=torch.long), PAPER) == []

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fake_models import BOS, EOS, TABLE_ROWS, TableModel
from oracles import beam_one_by_one, every_sequence, log_probabilities
from regard.search.beam import beam_search
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, SearchConfig
from regard.search.constraint_state import ConstraintState
from regard.search.greedy import greedy_search
from regard.search.hypothesis import length_penalty


def search(model, sources, limits, config):
    state = model.start_decoding(sources)
    return beam_search(model, state, BOS, EOS, ConstraintState.from_lists(limits), config)


def best(model, sources, limits, config):
    return [list(hypotheses[0].tokens) for hypotheses in search(model, sources, limits, config)]


sentences = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=4)
models = st.builds(TableModel, st.integers(0, 10**6), st.integers(2, 6), st.booleans())
configs = st.builds(
    lambda beam, alpha, n_best: SearchConfig(beam, alpha, min(n_best, beam)),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.6, 1.0, 3.0]),
    st.integers(1, 5),
)


@given(models, sentences, configs)
def test_beam_search_equals_a_list_of_hypotheses_that_runs_to_the_limit(model, sentences, config):
    sources, limits = zip(*sentences, strict=True)
    expected = [
        beam_one_by_one(model.logits_by_prefix(source), EOS, limit, config.beam, config.alpha, config.n_best)
        for source, limit in sentences
    ]
    assert search(model, sources, limits, config) == expected


@given(models, st.integers(0, 3), st.sampled_from([0.0, 0.6, 2.0]))
def test_an_exhaustive_beam_finds_the_best_sequence(model, limit, alpha):
    vocab = model.logits.shape[1]
    config = SearchConfig(sum((vocab - 1) ** n for n in range(limit + 2)), alpha, n_best=2)
    expected = every_sequence(model.logits_by_prefix(5), EOS, limit, alpha, n_best=2)
    (hypotheses,) = search(model, [5], [limit], config)
    assert [h.score for h in hypotheses] == [h.score for h in expected]  # ties may be in another order
    for hypothesis in hypotheses:
        assert hypothesis.score == score(model.logits_by_prefix(5), list(hypothesis.tokens), alpha)


def score(logits, tokens, alpha):
    total = torch.tensor(0.0)
    for length, token in enumerate([*tokens, EOS]):
        total = total + log_probabilities(logits(tokens[:length]))[token]
    return total / torch.tensor(length_penalty(len(tokens) + 1, alpha))


@given(st.integers(0, 10**6), sentences)
def test_a_beam_of_one_is_greedy_search(seed, sentences):
    sources, limits = zip(*sentences, strict=True)
    model, constraints = TableModel(seed, 6), ConstraintState.from_lists(limits)
    expected = greedy_search(model, model.start_decoding(sources), BOS, EOS, constraints, GREEDY_SEARCH)
    assert search(model, sources, limits, GREEDY_SEARCH) == expected


@given(models, sentences, configs)
def test_results_do_not_depend_on_the_batch_or_its_order(model, sentences, config):
    sources, limits = zip(*sentences, strict=True)
    batch = search(model, sources, limits, config)
    one_by_one = [search(model, [source], [limit], config)[0] for source, limit in sentences]
    assert one_by_one == batch
    assert search(model, sources[::-1], limits[::-1], config) == batch[::-1]


def chain(*probabilities):
    """Return a model that continues 2, 3, 4, ... with these probabilities and ends otherwise."""
    model = TableModel(0, len(probabilities) + 3)
    model.logits.fill_(-1e4)
    prefix_hash = 0
    for token, probability in enumerate((*probabilities, 0.0), start=2):
        prefix_hash = (prefix_hash * 31 + (token - 1 if token > 2 else BOS) + 1) % TABLE_ROWS
        model.logits[prefix_hash, [token, EOS]] = torch.tensor([probability, 1 - probability]).log()
    return model


def test_the_papers_length_penalty_prefers_a_longer_hypothesis_of_lower_probability():
    model = chain(0.47, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert (PAPER_SEARCH.beam, PAPER_SEARCH.alpha) == (4, 0.6)  # section 6.1
    assert best(model, [0], [50], PAPER_SEARCH) == [[2, 3, 4, 5, 6, 7]]
    assert best(model, [0], [50], SearchConfig(alpha=0.0)) == [[]]
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)


def test_a_finished_hypothesis_does_not_stop_a_longer_one_that_can_still_win():
    """The empty hypothesis ends in the first step and is overtaken at the twenty-second token."""
    assert best(chain(0.35, *[1.0] * 20), [0], [50], SearchConfig(beam=2)) == [list(range(2, 23))]


def test_a_sentence_stops_when_no_open_hypothesis_can_win():
    model = chain(0.01, *[0.9] * 20)
    assert best(model, [0], [20], SearchConfig(beam=2, alpha=0.6)) == [[]]
    assert len(model.row_counts) == 1  # log 0.01 is too low for any length penalty


def test_finished_sentences_leave_the_batch():
    model = chain(0.5, 0.5, 0.01)
    search(model, [0], [50], PAPER_SEARCH)
    steps = len(model.row_counts)
    model.row_counts.clear()
    search(model, [0, 0, 0], [0, 50, 50], PAPER_SEARCH)
    assert model.row_counts == [12, *[8] * (steps - 1)]


def test_no_hypothesis_exceeds_its_length_limit():
    model = TableModel(3, 5)
    model.logits[:, EOS] = -9.0
    assert [len(row) for row in best(model, [1, 2, 3], [2, 0, 4], PAPER_SEARCH)] == [2, 0, 4]


def test_nan_logits_end_the_search_with_empty_hypotheses():
    model = TableModel(0, 5)
    model.logits.fill_(torch.nan)
    assert best(model, [0, 1], [50, 3], PAPER_SEARCH) == [[], []]


def test_an_empty_batch_gives_no_hypotheses():
    assert search(TableModel(0, 5), [], [], PAPER_SEARCH) == []

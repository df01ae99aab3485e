"""Constraints inside the beam: forced prefixes, banned tokens, minimum lengths, required phrases."""

from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fake_models import BOS, EOS, TableModel
from oracles import beam_one_by_one, every_sequence, satisfies
from regard.search.beam import beam_search
from regard.search.beam_state import BeamSearchStep
from regard.search.config import GREEDY_SEARCH, SearchConfig
from regard.search.constraint_state import ConstraintState, TokenBans
from regard.search.constraints import LETTER, Constraints, WordBoundaries
from regard.search.greedy import greedy_search
from regard.search.required_phrases import RequiredPhrases

VOCAB = 5
tokens = st.integers(2, VOCAB - 1)
phrase = st.lists(tokens, min_size=1, max_size=3).map(tuple)
phrases = st.lists(st.lists(phrase, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(tuple)
prefixes = st.lists(tokens, max_size=2).map(tuple)
forbidden_phrases = st.lists(phrase, max_size=2).map(tuple)
models = st.builds(TableModel, st.integers(0, 10**6), st.just(VOCAB), st.booleans())
no_repeats = st.none() | st.integers(1, 3)


def make_state(limits, config, constraints, word_boundaries=None):
    required = None
    if constraints[0].required:
        required = RequiredPhrases.from_phrases([each.required for each in constraints], word_boundaries)
    bans = TokenBans.from_phrases([each.forbidden for each in constraints], config.no_repeat_ngram)
    begin = [each.prefix for each in constraints]
    return ConstraintState.from_lists(limits, config.min_length, begin, required, bans)


def search(model, limits, config, constraints, word_boundaries=None):
    state = make_state(limits, config, constraints, word_boundaries)
    return beam_search(model, model.start_decoding([0] * len(limits)), BOS, EOS, state, config)


def greedy(model, state, config):
    return greedy_search(model, model.start_decoding([0] * len(state.max_length)), BOS, EOS, state, config)


def allowed_after(constraints, config):
    """Return a function that tells whether a token may follow a prefix."""

    def is_allowed(prefix, token):
        if len(prefix) < len(constraints.prefix):
            return token == constraints.prefix[len(prefix)]
        if token == EOS:
            return len(prefix) >= config.min_length
        so_far = Constraints(prefix[: len(constraints.prefix)], forbidden=constraints.forbidden)
        return satisfies(so_far, (*prefix, token), config.no_repeat_ngram)

    return is_allowed


@given(
    models,
    st.lists(st.tuples(prefixes, forbidden_phrases), min_size=1, max_size=3),
    st.integers(1, 4),
    no_repeats,
    st.integers(0, 3),
)
def test_constrained_beam_search_equals_a_list_of_hypotheses(model, sentences, beam, no_repeat, min_length):
    constraints = [Constraints(prefix, forbidden=forbidden) for prefix, forbidden in sentences]
    config = SearchConfig(beam, n_best=min(2, beam), min_length=min_length, no_repeat_ngram=no_repeat)
    limits = [4 + n for n in range(len(constraints))]
    results = search(model, limits, config, constraints)
    for hypotheses, limit, each in zip(results, limits, constraints, strict=True):
        logits, is_allowed = model.logits_by_prefix(0), allowed_after(each, config)
        expected = beam_one_by_one(logits, EOS, limit, beam, 0.6, config.n_best, is_allowed)
        if expected:
            assert hypotheses == expected
        else:  # no sequence satisfies the constraints
            assert [one.log_probability for one in hypotheses] == [-torch.inf]


@given(models, prefixes, forbidden_phrases, no_repeats)
def test_greedy_search_obeys_the_same_constraints(model, prefix, forbidden, no_repeat):
    constraints = [Constraints(prefix, forbidden=forbidden)]
    config = replace(GREEDY_SEARCH, min_length=2, no_repeat_ngram=no_repeat)
    hypotheses = greedy(model, make_state([5], config, constraints), config)
    expected = search(model, [5], config, constraints)
    if expected[0][0].log_probability > -torch.inf:
        assert hypotheses == expected


@pytest.mark.parametrize("config", [GREEDY_SEARCH, SearchConfig(3)])
def test_a_prefix_may_contain_repeated_ngrams(config):
    constraints, config = Constraints((2, 3, 2, 3, 2, 3)), replace(config, no_repeat_ngram=2)
    ((best,),) = search(TableModel(0, 6), [9], config, [constraints])
    assert best.tokens[:6] == constraints.prefix
    assert best.log_probability > -torch.inf
    assert satisfies(constraints, best.tokens, 2)


@given(models, st.lists(st.tuples(prefixes, st.integers(2, 6)), min_size=1, max_size=4), st.integers(0, 4))
def test_greedy_search_without_bans_obeys_prefixes_and_lengths(model, sentences, min_length):
    """It checks them only at the lengths at which they matter."""
    begin, limits = zip(*sentences, strict=True)
    state = ConstraintState.from_lists(limits, min_length, begin)
    config = replace(GREEDY_SEARCH, min_length=min_length)
    expected = search(model, limits, config, [Constraints(prefix) for prefix in begin])
    assert greedy(model, state, GREEDY_SEARCH) == expected


@given(st.lists(st.tuples(prefixes, st.integers(0, 6)), max_size=4), st.integers(0, 4))
def test_unconstrained_lengths_have_no_forced_token_and_no_minimum(sentences, min_length):
    begin, limits = [prefix for prefix, _ in sentences], [limit for _, limit in sentences]
    state = ConstraintState.from_lists(limits, min_length, begin)

    def is_unconstrained(length):
        return all(
            len(prefix) < length <= limit and length > min(min_length, limit) for prefix, limit in sentences
        )

    expected = [length for length in range(1, 9) if sentences and is_unconstrained(length)]
    assert list(state.unconstrained_lengths()) == expected


def fits(constraints, limit):
    shortest = sum(min(map(len, phrase)) for phrase in constraints.required)
    return len(constraints.prefix) + shortest <= limit


@settings(max_examples=50)
@given(models, prefixes, phrases, st.sampled_from([0.0, 0.6]), st.integers(0, 2))
def test_an_exhaustive_beam_finds_the_best_sequence_that_contains_the_phrase(
    model, prefix, required, alpha, min_length
):
    constraints, limit = Constraints(prefix, required[:1]), 4
    assume(fits(constraints, limit))
    config = SearchConfig(200, alpha, n_best=2, min_length=min_length)
    (hypotheses,) = search(model, [limit], config, [constraints])

    def keep(sequence):
        return len(sequence) > min_length and satisfies(constraints, sequence[:-1])

    expected = every_sequence(model.logits_by_prefix(0), EOS, limit, alpha, 2, keep)
    assert [each.score for each in hypotheses] == [each.score for each in expected]
    assert all(satisfies(constraints, each.tokens) for each in hypotheses)


@given(models, prefixes, phrases, st.integers(1, 4), st.integers(2, 9))
def test_every_hypothesis_contains_every_required_phrase_for_any_beam(model, prefix, required, beam, limit):
    constraints = Constraints(prefix, required)
    assume(fits(constraints, limit))
    (hypotheses,) = search(model, [limit], SearchConfig(beam, n_best=beam), [constraints])
    assert all(satisfies(constraints, each.tokens) and len(each.tokens) <= limit for each in hypotheses)
    assert hypotheses[0].log_probability > -torch.inf
    assert len({each.tokens for each in hypotheses}) == len(hypotheses)
    assert [each.score for each in hypotheses] == sorted((each.score for each in hypotheses), reverse=True)


@settings(max_examples=50)
@given(models, phrases, st.integers(1, 3), st.sets(tokens), st.sets(tokens))
def test_a_phrase_inside_a_longer_word_does_not_count(model, required, beam, begins, ends):
    """Tokens of `begins` continue a word whose last token is in `ends`."""
    boundaries = WordBoundaries(
        *(tuple(LETTER * (token in letters) for token in range(VOCAB)) for letters in (begins, ends))
    )
    config, limit = SearchConfig(beam, n_best=beam), 8
    (hypotheses,) = search(model, [limit], config, [Constraints(required=required)], boundaries)
    for each in hypotheses:
        for alternatives in required:
            assert any(stands_alone(each.tokens, one, begins, ends) for one in alternatives)
    exhaustive = search(model, [4], SearchConfig(200), [Constraints(required=required[:1])], boundaries)[0][0]
    expected = every_sequence(
        model.logits_by_prefix(0),
        EOS,
        4,
        0.6,
        keep=lambda sequence: any(stands_alone(sequence[:-1], one, begins, ends) for one in required[0]),
    )
    assert exhaustive.score == expected[0].score


def stands_alone(sequence, phrase, begins, ends):
    """Return whether the phrase occurs and no token after it continues its last word."""
    width = len(phrase)
    stops = [stop for stop in range(width, len(sequence) + 1) if sequence[stop - width : stop] == phrase]
    return any(
        stop == len(sequence) or not (phrase[-1] in ends and sequence[stop] in begins) for stop in stops
    )


def test_required_phrases_may_overlap_in_one_token():
    model = TableModel(0, 6)
    model.logits.fill_(0.0)
    constraints = Constraints(required=(((2, 3),), ((3, 4),)))
    ((best,),) = search(model, [20], SearchConfig(alpha=0.0), [constraints])
    assert best.tokens == (2, 3, 4)


def test_a_mismatch_falls_back_to_the_longest_matching_prefix_of_the_phrase():
    """After 2 2, another 2 keeps two tokens of 2 2 3 matched, so one more token completes it."""
    constraints = Constraints(prefix=(2, 2, 2), required=(((2, 2, 3),),))
    ((best,),) = search(TableModel(1, 6), [4], SearchConfig(2), [constraints])
    assert best.tokens == (2, 2, 2, 3)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.lists(st.tuples(prefixes, phrases), min_size=2, max_size=3))
def test_required_phrases_of_one_sentence_do_not_affect_others(seed, sentences):
    model = TableModel(seed, VOCAB)
    constraints = [Constraints(prefix, required) for prefix, required in sentences]
    limits, config = [9 + n for n in range(len(constraints))], SearchConfig(2, n_best=2)
    batch = search(model, limits, config, constraints)
    one_by_one = [
        search(model, [limit], config, [each])[0] for limit, each in zip(limits, constraints, strict=True)
    ]
    assert batch == one_by_one


@settings(max_examples=50)
@given(models, prefixes, phrases, st.integers(1, 3), st.booleans())
def test_early_stopping_does_not_change_the_result(model, prefix, required, beam, has_required):
    constraints = [Constraints(prefix, required if has_required else ())]
    config = SearchConfig(beam, n_best=beam)
    stopped = search(model, [9], config, constraints)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BeamSearchStep, "can_improve", lambda _, state, __: (state.score > -torch.inf).any(dim=1)
        )
        assert search(model, [9], config, constraints) == stopped

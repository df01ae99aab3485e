"""What a sentence asks for holds inside the beam: forced beginnings, bans, shortest lengths, phrases."""

from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fake_models import BOS, EOS, TableModel
from oracles import beam_one_by_one, every_sequence, satisfies
from regard.search.beam import beam_search
from regard.search.beam_state import BeamSearchStep, ConstraintState
from regard.search.config import GREEDY_SEARCH, SearchConfig
from regard.search.constraint_state import TokenBans
from regard.search.constraints import LETTER, Constraints, WordBoundaries
from regard.search.greedy import greedy_search

VOCAB = 5
words = st.integers(2, VOCAB - 1)
phrase = st.lists(words, min_size=1, max_size=3).map(tuple)
phrases = st.lists(st.lists(phrase, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(tuple)
beginnings = st.lists(words, max_size=2).map(tuple)
bad = st.lists(phrase, max_size=2).map(tuple)
models = st.builds(TableModel, st.integers(0, 10**6), st.just(VOCAB), st.booleans())
no_repeats = st.none() | st.integers(1, 3)


def search(model, limits, config, wishes, edges=None):
    required = [wish.required for wish in wishes] if wishes[0].required else None
    return beam_search(
        model,
        model.start([0] * len(limits)),
        BOS,
        EOS,
        ConstraintState.from_lists(
            limits, config.min_length, [wish.prefix for wish in wishes], required, edges
        ),
        config,
        TokenBans.from_phrases([wish.forbidden for wish in wishes], config.no_repeat_ngram),
    )


def may(wish, config):
    """Whether a token may follow, one at a time; what ends must also be long enough."""

    def follows(prefix, token):
        if len(prefix) < len(wish.prefix):
            return token == wish.prefix[len(prefix)]
        if token == EOS:
            return len(prefix) >= config.min_length
        banned_only = Constraints(prefix[: len(wish.prefix)], forbidden=wish.forbidden)
        return satisfies(banned_only, (*prefix, token), config.no_repeat_ngram)

    return follows


@given(
    models,
    st.lists(st.tuples(beginnings, bad), min_size=1, max_size=3),
    st.integers(1, 4),
    no_repeats,
    st.integers(0, 3),
)
def test_wishes_hold_inside_the_beam_as_in_a_list_of_hypotheses(model, asked, beams, no_repeat, minimum):
    wishes = [Constraints(prefix, forbidden=forbidden) for prefix, forbidden in asked]
    config = SearchConfig(beams, n_best=min(2, beams), min_length=minimum, no_repeat_ngram=no_repeat)
    limits = [4 + n for n in range(len(wishes))]
    found = search(model, limits, config, wishes)
    for answer, limit, wish in zip(found, limits, wishes, strict=True):
        logits, follows = model.after(0), may(wish, config)
        expected = beam_one_by_one(logits, EOS, limit, beams, 0.6, config.n_best, follows)
        if expected:
            assert answer == expected
        else:  # nothing keeps to it
            assert [one.log_probability for one in answer] == [-torch.inf]


@given(models, beginnings, bad, no_repeats)
def test_greedy_search_keeps_to_the_same_rules(model, prefix, forbidden, no_repeat):
    wish = Constraints(prefix, forbidden=forbidden)
    config = replace(GREEDY_SEARCH, min_length=2, no_repeat_ngram=no_repeat)
    bounds, bans = (
        ConstraintState.from_lists([5], 2, [wish.prefix]),
        TokenBans.from_phrases([wish.forbidden], no_repeat),
    )
    found = greedy_search(model, model.start([0]), BOS, EOS, bounds, config, bans)
    expected = search(model, [5], config, [wish])
    if expected[0][0].log_probability > -torch.inf:
        assert found == expected


@pytest.mark.parametrize("config", [GREEDY_SEARCH, SearchConfig(3)])
def test_a_beginning_may_repeat_itself(config):
    wish, config = Constraints((2, 3, 2, 3, 2, 3)), replace(config, no_repeat_ngram=2)
    ((best,),) = search(TableModel(0, 6), [9], config, [wish])
    assert best.tokens[:6] == wish.prefix
    assert best.log_probability > -torch.inf
    assert satisfies(wish, best.tokens, 2)


@given(models, st.lists(st.tuples(beginnings, st.integers(2, 6)), min_size=1, max_size=4), st.integers(0, 4))
def test_greedy_search_keeps_to_beginnings_and_lengths_where_nothing_is_forbidden(model, asked, minimum):
    """It looks at them only at lengths where there is something to keep to."""
    prefixes, limits = zip(*asked, strict=True)
    bounds = ConstraintState.from_lists(limits, minimum, prefixes)
    found = greedy_search(model, model.start([0] * len(limits)), BOS, EOS, bounds, GREEDY_SEARCH)
    config = replace(GREEDY_SEARCH, min_length=minimum)
    assert found == search(model, limits, config, [Constraints(prefix) for prefix in prefixes])


@given(st.lists(st.tuples(beginnings, st.integers(0, 6)), max_size=4), st.integers(0, 4))
def test_lengths_are_free_where_no_sentence_is_forced_to_anything_or_kept_from_ending(asked, minimum):
    prefixes, limits = [prefix for prefix, _ in asked], [limit for _, limit in asked]
    bounds = ConstraintState.from_lists(limits, minimum, prefixes)

    def nothing_to_keep_to(length):
        return all(len(prefix) < length <= limit and length > min(minimum, limit) for prefix, limit in asked)

    expected = [length for length in range(1, 9) if asked and nothing_to_keep_to(length)]
    assert list(bounds.unconstrained_lengths()) == expected


def fits(wish, limit):
    return len(wish.prefix) + sum(min(map(len, phrase)) for phrase in wish.required) <= limit


@settings(max_examples=50)
@given(models, beginnings, phrases, st.sampled_from([0.0, 0.6]), st.integers(0, 2))
def test_a_beam_with_room_for_everything_finds_the_best_that_contains_the_phrase(
    model, prefix, required, alpha, minimum
):
    wish, limit = Constraints(prefix, required[:1]), 4
    assume(fits(wish, limit))
    (found,) = search(model, [limit], SearchConfig(200, alpha, n_best=2, min_length=minimum), [wish])

    def keep(tokens):
        return len(tokens) > minimum and satisfies(wish, tokens[:-1])

    expected = every_sequence(model.after(0), EOS, limit, alpha, 2, keep)
    assert [one.score for one in found] == [one.score for one in expected]
    assert all(satisfies(wish, one.tokens) for one in found)


@given(models, beginnings, phrases, st.integers(1, 4), st.integers(2, 9))
def test_every_translation_contains_every_phrase_however_narrow_the_beam(
    model, prefix, required, beams, limit
):
    wish = Constraints(prefix, required)
    assume(fits(wish, limit))
    (found,) = search(model, [limit], SearchConfig(beams, n_best=beams), [wish])
    assert all(satisfies(wish, one.tokens) and len(one.tokens) <= limit for one in found)
    assert found[0].log_probability > -torch.inf
    assert len({one.tokens for one in found}) == len(found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@settings(max_examples=50)
@given(models, phrases, st.integers(1, 3), st.sets(words), st.sets(words))
def test_a_phrase_does_not_count_inside_a_longer_word(model, required, beams, begin, end):
    """Tokens of `begin` carry a word on that a token of `end` has begun."""
    edges = WordBoundaries(
        *(tuple(LETTER * (token in kind) for token in range(VOCAB)) for kind in (begin, end))
    )
    config, limit = SearchConfig(beams, n_best=beams), 8
    (found,) = search(model, [limit], config, [Constraints(required=required)], edges)
    for one in found:
        for phrase in required:
            assert any(stands_alone(one.tokens, tokens, begin, end) for tokens in phrase)
    wide = search(model, [4], SearchConfig(200), [Constraints(required=required[:1])], edges)[0][0]
    expected = every_sequence(
        model.after(0),
        EOS,
        4,
        0.6,
        keep=lambda tokens: any(stands_alone(tokens[:-1], a, begin, end) for a in required[0]),
    )
    assert wide.score == expected[0].score


def stands_alone(tokens, phrase, begin, end):
    """Whether the phrase occurs, and no token after it makes its last word longer."""
    ends = [at for at in range(len(phrase), len(tokens) + 1) if tokens[at - len(phrase) : at] == phrase]
    return any(at == len(tokens) or not (phrase[-1] in end and tokens[at] in begin) for at in ends)


def test_phrases_may_overlap_and_one_token_serve_both():
    model = TableModel(0, 6)
    model.logits.fill_(0.0)
    wish = Constraints(required=(((2, 3),), ((3, 4),)))
    ((best,),) = search(model, [20], SearchConfig(alpha=0.0), [wish])
    assert best.tokens == (2, 3, 4)


def test_a_phrase_that_is_broken_off_falls_back_to_what_still_fits():
    """After 2 2 another 2 leaves two of the three tokens that 2 2 3 asks for: one more is enough."""
    wish = Constraints(prefix=(2, 2, 2), required=(((2, 2, 3),),))
    ((best,),) = search(TableModel(1, 6), [4], SearchConfig(2), [wish])
    assert best.tokens == (2, 2, 2, 3)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.lists(st.tuples(beginnings, phrases), min_size=2, max_size=3))
def test_the_phrases_of_neighbours_change_nothing(seed, asked):
    model = TableModel(seed, VOCAB)
    wishes = [Constraints(prefix, required) for prefix, required in asked]
    limits, config = [9 + n for n in range(len(wishes))], SearchConfig(2, n_best=2)
    together = search(model, limits, config, wishes)
    alone = [search(model, [limit], config, [wish])[0] for limit, wish in zip(limits, wishes, strict=True)]
    assert together == alone


@settings(max_examples=50)
@given(models, beginnings, phrases, st.integers(1, 3), st.booleans())
def test_stopping_early_changes_nothing(model, prefix, required, beams, needy):
    wish, config = Constraints(prefix, required if needy else ()), SearchConfig(beams, n_best=beams)
    stopped = search(model, [9], config, [wish])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BeamSearchStep, "can_improve", lambda _, beams, __: (beams.score > -torch.inf).any(dim=1)
        )
        assert search(model, [9], config, [wish]) == stopped

"""Required phrases that share tokens, or stand twice: the fewest missing tokens, and the best translation."""

from collections import deque
from functools import partial
from random import Random

import pytest
import torch

from fake_models import BOS, EOS, TableModel
from oracles import every_sequence, satisfies
from regard.inference.engine import UNSATISFIABLE, constrained_min_length
from regard.search.beam import beam_search
from regard.search.config import SearchConfig
from regard.search.constraint_state import ConstraintState
from regard.search.constraints import LETTER, Constraints, WordBoundaries
from regard.search.required_length import MAX_ORDERED_PHRASES, count_required_tokens
from regard.search.required_phrases import RequiredPhrases

VOCAB = 5
WIDE = 400
"""A beam that holds every sequence of the longest limit below."""


def random_phrase(random, most=3):
    return tuple(random.randrange(2, VOCAB) for _ in range(random.randint(1, most)))


def random_required(random, most=3):
    """Return phrases of which many overlap, contain one another or are equal."""
    phrases = [
        tuple({random_phrase(random): None for _ in range(random.choice([1, 1, 2]))})
        for _ in range(random.randint(2, most))
    ]
    if random.random() < 0.2:
        phrases[-1] = phrases[0]
    return tuple(phrases)


def random_boundaries(random):
    """Return word boundaries in which each token may end and begin inside a word."""
    kinds = [[LETTER * (random.random() < 0.4) for _ in range(VOCAB)] for _ in range(2)]
    kinds[0][2] = 0  # a token that begins a word separates all others
    return WordBoundaries(*map(tuple, kinds))


def search(model, limit, config, constraints, boundaries=None):
    required = RequiredPhrases.from_phrases([constraints.required], boundaries)
    state = ConstraintState.from_lists([limit], 0, [constraints.prefix], required)
    return beam_search(model, model.start_decoding([0]), BOS, EOS, state, config)[0]


def is_translation(constraints, sequence):
    return satisfies(constraints, sequence[:-1])


def shortest_completion(required, boundaries, prefix):
    """Return the fewest tokens after a prefix until all phrases are complete, by trying all sequences."""
    automata = RequiredPhrases.from_phrases([required], boundaries)
    start = automata.initial_progress(1)
    for token in prefix:
        start = automata.advance(start, torch.tensor([[token]]))
    queue, seen = deque([(start, 0)]), set()
    while queue:
        progress, length = queue.popleft()
        if bool(automata._is_complete(progress).all()):
            return length, int(automata.missing_tokens(start))
        for token in range(2, VOCAB):
            after = automata.advance(progress, torch.tensor([[token]]))
            if (key := tuple(after.flatten().tolist())) not in seen:
                seen.add(key)
                queue.append((after, length + 1))
    raise AssertionError("the phrases cannot be completed")


@pytest.mark.parametrize("seed", range(70))
def test_the_best_translation_is_found_up_to_the_length_limit(seed):
    """More than 500 random cases: phrases that overlap or contain one another, prefixes, tight limits."""
    random = Random(seed)
    for _ in range(10):
        constraints = Constraints(random.choice([(), (), random_phrase(random, 2)]), random_required(random))
        shortest = constrained_min_length(constraints)
        limit = shortest + random.randint(0, 1)
        if limit > 5:
            continue
        model = TableModel(random.randrange(10**6), VOCAB)
        (best,) = search(model, limit, SearchConfig(WIDE, 0.0), constraints)
        keep = partial(is_translation, constraints)
        expected = every_sequence(model.logits_by_prefix(0), EOS, limit, 0.0, 1, keep)
        assert best == (expected or [UNSATISFIABLE])[0], constraints


@pytest.mark.parametrize("seed", range(30))
def test_the_missing_tokens_are_those_of_the_shortest_completion(seed):
    random = Random(seed)
    for _ in range(4):
        required, prefix = random_required(random), random_phrase(random, 4)
        boundaries = random.choice([None, random_boundaries(random)])
        shortest, missing = shortest_completion(required, boundaries, prefix)
        if len(set(required)) == len(required):
            assert missing == shortest, (required, prefix, boundaries)
        else:  # two equal phrases that also stand inside others may need more
            assert min(1, shortest) <= missing <= shortest, (required, prefix, boundaries)


def test_shared_tokens_are_counted_once():
    en_septembre, septembre, septembre_prochain = (3, 4), (4,), (4, 2)
    required = ((en_septembre,), (septembre,))
    assert count_required_tokens(required) == 2
    assert count_required_tokens((*required, (septembre_prochain,))) == 3
    assert count_required_tokens(required, prefix=(2, 3)) == 3
    assert count_required_tokens(required, prefix=(3, 4, 2)) == 3
    assert count_required_tokens(((septembre,), (septembre,))) == 2
    assert count_required_tokens(((en_septembre,), (en_septembre,)), prefix=(3, 4, 3)) == 4


def test_a_phrase_that_stands_twice_is_required_twice_without_overlap():
    model = TableModel(0, 6)
    model.logits.fill_(0.0)
    for phrase in ((2, 2), (2, 3)):
        constraints = Constraints(required=((phrase,),) * 2)
        assert search(model, 4, SearchConfig(alpha=0.0), constraints)[0].tokens == phrase * 2
        assert satisfies(constraints, phrase * 2)
        assert not satisfies(constraints, (*phrase, phrase[0]))


def test_the_second_of_two_may_be_another_alternative():
    constraints = Constraints(required=(((2,), (3,)),) * 2)
    model = TableModel(0, 6)
    model.logits.fill_(0.0)
    model.logits[:, 3] = -0.1
    model.logits[:, 2] = -9.0
    (best,) = search(model, 3, SearchConfig(), constraints, None)
    assert best.tokens.count(3) == 2


def test_more_phrases_than_are_ordered_are_still_all_found():
    required = tuple(((2 + n % 3, 2 + n // 3),) for n in range(MAX_ORDERED_PHRASES + 1))
    constraints = Constraints(required=required)
    (best,) = search(TableModel(1, VOCAB), 2 * len(required), SearchConfig(), constraints)
    assert satisfies(constraints, best.tokens)

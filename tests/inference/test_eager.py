import math
from dataclasses import replace

import pytest
import torch

from oracles import beam_one_by_one, greedy_one_by_one, satisfies
from regard.errors import RegardError
from regard.inference.eager import EagerEngine
from regard.inference.engine import EXTRA_LENGTH, Engine
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, Sampling, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS, Constraints
from regard.text.tokenizer import BOS, EOS, PAD


def sources(count, seed=0):
    torch.manual_seed(seed)
    return [torch.randint(3, 23, (length,)).tolist() for length in torch.randint(1, 9, (count,)).tolist()]


def tokens(found):
    return [list(best.tokens) for best, *_ in found]


def test_it_is_an_engine(micro_model):
    assert isinstance(EagerEngine(micro_model), Engine)


def test_cached_and_batched_equals_uncached_and_alone(micro_model):
    rows = sources(4)
    expected = [greedy_one_by_one(micro_model, [*row, EOS], BOS, EOS, limit=39) for row in rows]
    assert tokens(EagerEngine(micro_model).translate(rows, GREEDY_SEARCH)) == expected


def test_beams_that_share_a_cached_source_equal_hypotheses_that_read_it_anew(micro_model):
    rows = sources(3)

    def after(row):
        source = torch.tensor([[*row, EOS]])
        return lambda prefix: micro_model(source, source > 0, torch.tensor([[BOS, *prefix]]))[0, -1]

    with torch.no_grad():
        expected = [beam_one_by_one(after(row), EOS, 39, beam=3, alpha=0.6) for row in rows]
    found = EagerEngine(micro_model).translate(rows, SearchConfig(beam=3))
    assert tokens(found) == [[*best.tokens] for (best,) in expected]


@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
def test_neighbours_and_order_change_nothing(micro_model, config):
    rows, engine = sources(5), EagerEngine(micro_model)
    together = tokens(engine.translate(rows, config))
    assert [tokens(engine.translate([row], config))[0] for row in rows] == together
    assert tokens(engine.translate(rows[::-1], config)) == together[::-1]


@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
@pytest.mark.parametrize(
    ("max_length", "lengths"), [(100, [1 + EXTRA_LENGTH, 3 + EXTRA_LENGTH]), (40, [39, 39])]
)
def test_a_translation_that_does_not_end_is_cut_at_its_limit(micro, max_length, lengths, config):
    torch.manual_seed(0)
    model = Transformer(replace(micro, max_length=max_length, tied="none"))
    with torch.no_grad():
        model.output.weight[EOS] = 0.0
    assert EXTRA_LENGTH == 50  # section 6.1
    assert [len(row) for row in tokens(EagerEngine(model).translate([[5], [5, 6, 7]], config))] == lengths


def test_the_model_is_left_as_it_was_found(micro_model):
    micro_model.train()
    EagerEngine(micro_model).translate(sources(2))
    assert micro_model.training


@pytest.mark.cuda
@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
def test_a_gpu_finds_the_same(micro_model, config):
    rows = sources(20)
    expected = tokens(EagerEngine(micro_model).translate(rows, config))
    assert tokens(EagerEngine(micro_model.cuda()).translate(rows, config)) == expected


def test_wishes_and_rules_reach_the_search(micro_model):
    engine, row = EagerEngine(micro_model), sources(1)[0]
    wishes = [
        Constraints((7, 7)),
        Constraints(required=(((8, 9), (9, 8)), ((11,),))),
        Constraints(forbidden=((4,),)),
        NO_CONSTRAINTS,
    ]
    config = SearchConfig(3, n_best=3, min_length=4, max_length=12)
    found = engine.translate([row] * 4, config, wishes)
    for answer, wish in zip(found, wishes, strict=True):
        assert len(answer) == 3
        for one in answer:
            assert satisfies(wish, one.tokens)
            assert 4 <= len(one.tokens) <= 12
    ((alone),) = engine.translate([row], config)
    assert [one.tokens for one in found[3]] == [one.tokens for one in alone]
    assert [one.score for one in found[3]] == pytest.approx([one.score for one in alone])


@pytest.mark.parametrize(
    ("config", "wish"),
    [
        (SearchConfig(min_length=6, max_length=9), NO_CONSTRAINTS),
        (SearchConfig(1, min_length=6, max_length=9), NO_CONSTRAINTS),
        (SearchConfig(max_length=9), Constraints((5, 6))),
        (SearchConfig(max_length=9), Constraints(required=(((7, 8),),))),
        (SearchConfig(n_best=4, sampling=Sampling(temperature=3.0), max_length=9), NO_CONSTRAINTS),
        (SearchConfig(no_repeat_ngram=2, max_length=9), NO_CONSTRAINTS),
    ],
)
def test_no_mark_is_written_as_text(micro_model, config, wish):
    """Not even by a model that would like nothing better."""
    with torch.no_grad():
        micro_model.output.weight[[PAD, BOS]] = 0.5 * micro_model.output.weight.sum(dim=0)
    wishes = None if wish == NO_CONSTRAINTS else [wish] * 3
    for answer in EagerEngine(micro_model).translate(sources(3), config, wishes):
        for one in answer:
            assert not {PAD, BOS, EOS} & set(one.tokens)


def test_greedy_search_too_writes_what_is_required(micro_model):
    ((best,),) = EagerEngine(micro_model).translate(
        [[5, 6]], GREEDY_SEARCH, [Constraints(required=(((8, 9),),))]
    )
    assert satisfies(Constraints(required=(((8, 9),),)), best.tokens)


def test_a_wish_that_does_not_fit_costs_that_sentence_and_no_other(micro_model):
    engine, wish = EagerEngine(micro_model), Constraints((3,) * 5, required=(((4,) * 36,),))
    before, (none,), after = engine.translate(
        [[5], [5], [6]], PAPER_SEARCH, [NO_CONSTRAINTS, wish, NO_CONSTRAINTS]
    )
    assert (none.tokens, none.log_probability) == ((), -math.inf)
    assert [before, after] == engine.translate([[5], [6]], PAPER_SEARCH)


def test_required_phrases_and_chance_exclude_each_other(micro_model):
    engine = EagerEngine(micro_model)
    with pytest.raises(RegardError, match="required phrases need a beam"):
        engine.translate([[5]], SearchConfig(sampling=Sampling()), [Constraints(required=(((4,),),))])


def test_a_wish_that_needs_more_room_than_is_usual_gets_it(micro_model, monkeypatch):
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 0)
    ((best,),) = EagerEngine(micro_model).translate([[5]], GREEDY_SEARCH, [Constraints((6, 7, 8))])
    assert best.tokens == (6, 7, 8)


def test_without_unknown_characters_no_byte_is_written(micro):
    torch.manual_seed(0)
    model = Transformer(replace(micro, vocab_size=300))
    rows = [[260, 270], [280]]
    bytes_ = range(3, 259)
    free = EagerEngine(model).translate(rows, SearchConfig(max_length=9))
    assert any(token in bytes_ for (one,) in free for token in one.tokens)
    for config in (
        SearchConfig(max_length=9, allow_unknown=False),
        SearchConfig(1, max_length=9, allow_unknown=False),
    ):
        for (one,) in EagerEngine(model).translate(rows, config):
            assert not any(token in bytes_ for token in one.tokens)


def test_sampled_translations_are_the_same_beside_others(micro_model):
    engine, rows = EagerEngine(micro_model), sources(4)
    config = SearchConfig(n_best=2, sampling=Sampling(seed=3), max_length=8)
    together = tokens(engine.translate(rows, config))
    assert [tokens(engine.translate([row], config))[0] for row in rows] == together

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


def best_tokens(results):
    return [list(best.tokens) for best, *_ in results]


def test_it_implements_the_engine_protocol(micro_model):
    assert isinstance(EagerEngine(micro_model), Engine)


def test_cached_batched_search_equals_uncached_search_of_one_sentence(micro_model):
    rows = sources(4)
    expected = [greedy_one_by_one(micro_model, [*row, EOS], BOS, EOS, limit=39) for row in rows]
    assert best_tokens(EagerEngine(micro_model).translate(rows, GREEDY_SEARCH)) == expected


def test_a_beam_with_a_shared_source_cache_equals_recomputed_hypotheses(micro_model):
    rows = sources(3)

    def logits_by_prefix(row):
        source = torch.tensor([[*row, EOS]])
        return lambda prefix: micro_model(source, source > 0, torch.tensor([[BOS, *prefix]]))[0, -1]

    with torch.no_grad():
        expected = [beam_one_by_one(logits_by_prefix(row), EOS, 39, beam=3, alpha=0.6) for row in rows]
    results = EagerEngine(micro_model).translate(rows, SearchConfig(beam=3))
    assert best_tokens(results) == [[*best.tokens] for (best,) in expected]


@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
def test_results_do_not_depend_on_the_batch_or_its_order(micro_model, config):
    rows, engine = sources(5), EagerEngine(micro_model)
    batch = best_tokens(engine.translate(rows, config))
    assert [best_tokens(engine.translate([row], config))[0] for row in rows] == batch
    assert best_tokens(engine.translate(rows[::-1], config)) == batch[::-1]


@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
@pytest.mark.parametrize(
    ("max_length", "lengths"), [(100, [1 + EXTRA_LENGTH, 3 + EXTRA_LENGTH]), (40, [39, 39])]
)
def test_a_translation_without_an_end_mark_stops_at_its_length_limit(micro, max_length, lengths, config):
    torch.manual_seed(0)
    model = Transformer(replace(micro, max_length=max_length, tied="none"))
    with torch.no_grad():
        model.output.weight[EOS] = 0.0
    assert EXTRA_LENGTH == 50  # section 6.1
    assert [
        len(row) for row in best_tokens(EagerEngine(model).translate([[5], [5, 6, 7]], config))
    ] == lengths


def test_the_training_mode_is_restored(micro_model):
    micro_model.train()
    EagerEngine(micro_model).translate(sources(2))
    assert micro_model.training


@pytest.mark.cuda
@pytest.mark.parametrize("config", [GREEDY_SEARCH, PAPER_SEARCH])
def test_a_gpu_gives_the_same_result(micro_model, config):
    rows = sources(20)
    expected = best_tokens(EagerEngine(micro_model).translate(rows, config))
    assert best_tokens(EagerEngine(micro_model.cuda()).translate(rows, config)) == expected


def test_constraints_and_length_limits_reach_the_search(micro_model):
    engine, row = EagerEngine(micro_model), sources(1)[0]
    constraints = [
        Constraints((7, 7)),
        Constraints(required=(((8, 9), (9, 8)), ((11,),))),
        Constraints(forbidden=((4,),)),
        NO_CONSTRAINTS,
    ]
    config = SearchConfig(3, n_best=3, min_length=4, max_length=12)
    results = engine.translate([row] * 4, config, constraints)
    for hypotheses, obeyed in zip(results, constraints, strict=True):
        assert len(hypotheses) == 3
        for each in hypotheses:
            assert satisfies(obeyed, each.tokens)
            assert 4 <= len(each.tokens) <= 12
    ((unconstrained),) = engine.translate([row], config)
    assert [each.tokens for each in results[3]] == [each.tokens for each in unconstrained]
    assert [each.score for each in results[3]] == pytest.approx([each.score for each in unconstrained])


@pytest.mark.parametrize(
    ("config", "constraints"),
    [
        (SearchConfig(min_length=6, max_length=9), NO_CONSTRAINTS),
        (SearchConfig(1, min_length=6, max_length=9), NO_CONSTRAINTS),
        (SearchConfig(max_length=9), Constraints((5, 6))),
        (SearchConfig(max_length=9), Constraints(required=(((7, 8),),))),
        (SearchConfig(n_best=4, sampling=Sampling(temperature=3.0), max_length=9), NO_CONSTRAINTS),
        (SearchConfig(no_repeat_ngram=2, max_length=9), NO_CONSTRAINTS),
    ],
)
def test_no_special_token_is_written(micro_model, config, constraints):
    """Not even by a model that gives special tokens a high probability."""
    with torch.no_grad():
        micro_model.output.weight[[PAD, BOS]] = 0.5 * micro_model.output.weight.sum(dim=0)
    batch = None if constraints == NO_CONSTRAINTS else [constraints] * 3
    for hypotheses in EagerEngine(micro_model).translate(sources(3), config, batch):
        for each in hypotheses:
            assert not {PAD, BOS, EOS} & set(each.tokens)


def test_a_beam_of_one_writes_required_phrases(micro_model):
    ((best,),) = EagerEngine(micro_model).translate(
        [[5, 6]], GREEDY_SEARCH, [Constraints(required=(((8, 9),),))]
    )
    assert satisfies(Constraints(required=(((8, 9),),)), best.tokens)


def test_unsatisfiable_constraints_affect_only_their_own_sentence(micro_model):
    engine, constraints = EagerEngine(micro_model), Constraints((3,) * 5, required=(((4,) * 36,),))
    before, (none,), after = engine.translate(
        [[5], [5], [6]], PAPER_SEARCH, [NO_CONSTRAINTS, constraints, NO_CONSTRAINTS]
    )
    assert (none.tokens, none.log_probability) == ((), -math.inf)
    assert [before, after] == engine.translate([[5], [6]], PAPER_SEARCH)


def test_required_phrases_with_sampling_are_refused(micro_model):
    engine = EagerEngine(micro_model)
    with pytest.raises(RegardError, match="required phrases need a beam"):
        engine.translate([[5]], SearchConfig(sampling=Sampling()), [Constraints(required=(((4,),),))])


def test_constraints_may_raise_the_usual_length_limit(micro_model, monkeypatch):
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 0)
    ((best,),) = EagerEngine(micro_model).translate([[5]], GREEDY_SEARCH, [Constraints((6, 7, 8))])
    assert best.tokens == (6, 7, 8)


def test_no_byte_token_is_written_without_allow_unknown(micro):
    torch.manual_seed(0)
    model = Transformer(replace(micro, vocab_size=300))
    rows = [[260, 270], [280]]
    bytes_ = range(3, 259)
    results = EagerEngine(model).translate(rows, SearchConfig(max_length=9))
    assert any(token in bytes_ for (one,) in results for token in one.tokens)
    for config in (
        SearchConfig(max_length=9, allow_unknown=False),
        SearchConfig(1, max_length=9, allow_unknown=False),
    ):
        for (one,) in EagerEngine(model).translate(rows, config):
            assert not any(token in bytes_ for token in one.tokens)


def test_samples_do_not_depend_on_the_batch(micro_model):
    engine, rows = EagerEngine(micro_model), sources(4)
    config = SearchConfig(n_best=2, sampling=Sampling(seed=3), max_length=8)
    batch = best_tokens(engine.translate(rows, config))
    assert [best_tokens(engine.translate([row], config))[0] for row in rows] == batch


def test_more_samples_than_beam_slots_can_be_drawn(micro_model):
    config = SearchConfig(beam=1, n_best=3, sampling=Sampling(), max_length=8)
    ((*samples,),) = EagerEngine(micro_model).translate(sources(1), config)
    assert len(samples) == 3

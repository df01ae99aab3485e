from dataclasses import replace

import pytest
import torch

from fake_models import BOS, EOS, TableModel
from regard.errors import ConfigError
from regard.search.beam_state import ConstraintState
from regard.search.config import GREEDY_SEARCH, Sampling, SearchConfig
from regard.search.constraint_state import TokenBans
from regard.search.greedy import greedy_search
from regard.search.sampling import draw_uniforms, sample_tokens, sampling_search

CHANCES = (torch.arange(10_000) + 0.5).double() / 10_000


def search(model, sources, sampling=Sampling(), n_best=1, **more):  # noqa: B008
    config = SearchConfig(n_best=n_best, sampling=sampling, **more)
    bounds = ConstraintState.from_lists([8] * len(sources), config.min_length)
    bans = TokenBans.from_phrases([()] * len(sources), config.no_repeat_ngram)
    ids = [[source] for source in sources]
    return sampling_search(model, model.start(sources), BOS, EOS, bounds, config, sampling, ids, bans)


def shares(logits, sampling):
    """How often each token is drawn, over all chances there are."""
    rows = torch.tensor(logits).expand(len(CHANCES), -1)
    drawn = sample_tokens(rows, CHANCES, sampling)
    return (torch.bincount(drawn, minlength=len(logits)) / len(CHANCES)).tolist()


def test_each_token_is_drawn_as_often_as_it_is_likely():
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().tolist()
    assert shares(logits, Sampling()) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=2e-4)
    assert shares(logits, Sampling(top_k=2)) == pytest.approx([0, 0, 3 / 7, 4 / 7], abs=2e-4)
    assert shares(logits, Sampling(top_p=0.65)) == pytest.approx([0, 0, 3 / 7, 4 / 7], abs=2e-4)
    assert shares(logits, Sampling(top_p=0.75)) == pytest.approx([0, 2 / 9, 3 / 9, 4 / 9], abs=2e-4)
    assert shares(logits, Sampling(top_k=3, top_p=0.4)) == pytest.approx([0, 0, 0, 1], abs=2e-4)
    assert shares(logits, Sampling(temperature=0.5)) == pytest.approx(
        [1 / 30, 4 / 30, 9 / 30, 16 / 30], abs=2e-4
    )
    assert shares([-torch.inf, 0.0, -torch.inf], Sampling()) == [0, 1, 0]


def test_a_sentence_draws_the_same_whatever_is_beside_it_and_another_seed_something_else():
    model, sources = TableModel(3, 9), [4, 7, 7, 30]
    together = search(model, sources, n_best=3)
    assert [search(model, [source], n_best=3)[0] for source in sources] == together
    assert search(model, sources[::-1], n_best=3) == together[::-1]
    assert search(model, sources, Sampling(seed=1), n_best=3) != together
    assert together[1] == together[2]


def test_the_draws_of_one_sentence_differ_and_the_likeliest_is_first():
    (found,) = search(TableModel(5, 9), [1], n_best=20)
    assert len({one.tokens for one in found}) > 10
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_what_is_drawn_has_the_models_own_log_probability():
    model, sampling = TableModel(5, 9), Sampling(temperature=3.0, top_k=4)
    for one in search(model, [1], sampling, n_best=5)[0]:
        logits, tokens = model.logits_by_prefix(1), [*one.tokens, EOS]
        logs = [logits(tokens[:at]).log_softmax(0)[token] for at, token in enumerate(tokens)]
        assert one.log_probability == pytest.approx(float(sum(logs)), abs=1e-4)


def test_drawing_from_the_one_likeliest_is_greedy_search():
    model, sources = TableModel(2, 9), [3, 1, 4]
    expected = greedy_search(
        model, model.start(sources), BOS, EOS, ConstraintState.from_lists([8] * 3), GREEDY_SEARCH
    )
    assert search(model, sources, Sampling(top_k=1)) == expected


def test_rules_hold_for_what_is_drawn():
    for found in search(TableModel(2, 6), [3, 1, 4], n_best=9, min_length=3, no_repeat_ngram=1):
        for one in found:
            assert 3 <= len(one.tokens) == len(set(one.tokens))


def test_luck_belongs_to_seed_and_sentence_and_longer_rows_begin_alike():
    assert (draw_uniforms(0, [5], 2, 9)[:, :4] == draw_uniforms(0, [5], 2, 4)).all()
    assert len({float(x) for s in ([5], [6], [5, 6]) for x in draw_uniforms(0, s, 2, 3).flatten()}) == 18
    assert draw_uniforms(2**64 - 1, [], 1, 1).shape == (1, 1)


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}, {"seed": -1}]
)
def test_what_cannot_work_is_refused(wrong):
    with pytest.raises(ConfigError, match="cannot work"):
        replace(Sampling(), **wrong)


@pytest.mark.parametrize("temperature", [1e-40, 1e-300])
def test_next_to_no_warmth_is_the_likeliest(temperature):
    logits = torch.tensor([[1.0, 3.0, 2.0], [5.0, -1.0, 4.0]])
    found = sample_tokens(logits, torch.tensor([0.9, 0.1]), Sampling(temperature=temperature))
    assert found.tolist() == [1, 0]

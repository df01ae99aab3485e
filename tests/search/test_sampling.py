from dataclasses import replace

import pytest
import torch

from fake_models import BOS, EOS, TableModel
from regard.errors import ConfigError
from regard.search.config import GREEDY_SEARCH, Sampling, SearchConfig
from regard.search.constraint_state import ConstraintState, TokenBans
from regard.search.greedy import greedy_search
from regard.search.sampling import draw_uniforms, sample_tokens, sampling_search

UNIFORMS = (torch.arange(10_000) + 0.5).double() / 10_000


def search(model, sources, sampling=Sampling(), n_best=1, **settings):  # noqa: B008
    config = SearchConfig(n_best=n_best, sampling=sampling, **settings)
    bans = TokenBans.from_phrases([()] * len(sources), config.no_repeat_ngram)
    constraints = ConstraintState.from_lists([8] * len(sources), config.min_length, bans=bans)
    ids = [[source] for source in sources]
    return sampling_search(model, model.start_decoding(sources), BOS, EOS, constraints, config, sampling, ids)


def token_shares(logits, sampling):
    """Return the share of each token over evenly spaced uniform numbers."""
    rows = torch.tensor(logits).expand(len(UNIFORMS), -1)
    tokens = sample_tokens(rows, UNIFORMS, sampling)
    return (torch.bincount(tokens, minlength=len(logits)) / len(UNIFORMS)).tolist()


def test_each_token_is_sampled_with_its_probability():
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().tolist()
    assert token_shares(logits, Sampling()) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=2e-4)
    assert token_shares(logits, Sampling(top_k=2)) == pytest.approx([0, 0, 3 / 7, 4 / 7], abs=2e-4)
    assert token_shares(logits, Sampling(top_p=0.65)) == pytest.approx([0, 0, 3 / 7, 4 / 7], abs=2e-4)
    assert token_shares(logits, Sampling(top_p=0.75)) == pytest.approx([0, 2 / 9, 3 / 9, 4 / 9], abs=2e-4)
    assert token_shares(logits, Sampling(top_k=3, top_p=0.4)) == pytest.approx([0, 0, 0, 1], abs=2e-4)
    assert token_shares(logits, Sampling(temperature=0.5)) == pytest.approx(
        [1 / 30, 4 / 30, 9 / 30, 16 / 30], abs=2e-4
    )
    assert token_shares([-torch.inf, 0.0, -torch.inf], Sampling()) == [0, 1, 0]


def test_samples_of_a_sentence_depend_on_the_seed_and_not_on_the_batch():
    model, sources = TableModel(3, 9), [4, 7, 7, 30]
    batch = search(model, sources, n_best=3)
    assert [search(model, [source], n_best=3)[0] for source in sources] == batch
    assert search(model, sources[::-1], n_best=3) == batch[::-1]
    assert search(model, sources, Sampling(seed=1), n_best=3) != batch
    assert batch[1] == batch[2]


def test_samples_of_one_sentence_differ_and_are_ranked_by_score():
    (hypotheses,) = search(TableModel(5, 9), [1], n_best=20)
    assert len({each.tokens for each in hypotheses}) > 10
    assert [each.score for each in hypotheses] == sorted((each.score for each in hypotheses), reverse=True)


def test_a_sample_has_the_models_own_log_probability():
    model, sampling = TableModel(5, 9), Sampling(temperature=3.0, top_k=4)
    for each in search(model, [1], sampling, n_best=5)[0]:
        logits, tokens = model.logits_by_prefix(1), [*each.tokens, EOS]
        logs = [logits(tokens[:at]).log_softmax(0)[token] for at, token in enumerate(tokens)]
        assert each.log_probability == pytest.approx(float(sum(logs)), abs=1e-4)


def test_top_k_of_one_is_greedy_search():
    model, sources = TableModel(2, 9), [3, 1, 4]
    constraints = ConstraintState.from_lists([8] * 3)
    expected = greedy_search(model, model.start_decoding(sources), BOS, EOS, constraints, GREEDY_SEARCH)
    assert search(model, sources, Sampling(top_k=1)) == expected


def test_samples_obey_minimum_length_and_no_repeat_ngram():
    for hypotheses in search(TableModel(2, 6), [3, 1, 4], n_best=9, min_length=3, no_repeat_ngram=1):
        for each in hypotheses:
            assert 3 <= len(each.tokens) == len(set(each.tokens))


def test_uniforms_depend_on_seed_and_source_and_longer_rows_extend_shorter_ones():
    assert (draw_uniforms(0, [5], 2, 9)[:, :4] == draw_uniforms(0, [5], 2, 4)).all()
    assert len({float(x) for s in ([5], [6], [5, 6]) for x in draw_uniforms(0, s, 2, 3).flatten()}) == 18
    assert draw_uniforms(2**64 - 1, [], 1, 1).shape == (1, 1)


@pytest.mark.parametrize(
    "settings", [{"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}, {"seed": -1}]
)
def test_invalid_settings_are_refused(settings):
    with pytest.raises(ConfigError, match="cannot work"):
        replace(Sampling(), **settings)


def test_a_temperature_near_zero_gives_the_most_probable_token():
    logits = torch.tensor([[1.0, 3.0, 2.0], [5.0, -1.0, 4.0]])
    tokens = sample_tokens(logits, torch.tensor([0.9, 0.1]), Sampling(temperature=0.001))
    assert tokens.tolist() == [1, 0]

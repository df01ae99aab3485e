from dataclasses import replace

import pytest
import torch

from regard.inference.eager import EagerEngine
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, SearchConfig
from regard.search.constraints import Constraints

pytestmark = pytest.mark.cuda


def make_engines(micro, precision="fp32", **changes):
    from regard.inference.cuda_graphs import CudaGraphEngine
    from regard.inference.incremental import IncrementalDecoder

    torch.manual_seed(0)
    model = Transformer(replace(micro, max_length=100, **changes)).eval().cuda()
    return EagerEngine(model), CudaGraphEngine(IncrementalDecoder(model, precision))


def random_sources(count, longest=20):
    return [torch.randint(3, 23, (n,)).tolist() for n in torch.randint(1, longest, (count,)).tolist()]


def best_tokens(results):
    return [hypotheses[0].tokens for hypotheses in results]


@pytest.mark.parametrize(
    "config", [GREEDY_SEARCH, PAPER_SEARCH, replace(PAPER_SEARCH, n_best=3, max_length=40)]
)
@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "activation": "gelu", "d_k": 5}])
def test_a_captured_search_gives_the_same_hypotheses_as_the_model(micro, config, changes):
    eager, graphs = make_engines(micro, **changes)
    for count in (5, 3, 1, 5):  # the same shape twice, with other sentences
        sources = random_sources(count)
        results, expected = graphs.translate(sources, config), eager.translate(sources, config)
        for hypotheses, reference in zip(results, expected, strict=True):
            assert len(hypotheses) == config.n_best
            assert [each.tokens for each in hypotheses] == [each.tokens for each in reference]
            scores = [each.score for each in reference]
            assert [each.score for each in hypotheses] == pytest.approx(scores, abs=1e-3)
    assert graphs._captured


@pytest.mark.parametrize(
    ("config", "constraints"),
    [
        (replace(PAPER_SEARCH, min_length=4), None),
        (SearchConfig(no_repeat_ngram=2), None),
        (PAPER_SEARCH, [Constraints(prefix=(5, 6))] * 3),
    ],
)
def test_searches_that_mask_logits_run_without_graphs(micro, config, constraints):
    eager, graphs = make_engines(micro)
    sources = random_sources(3)
    results = graphs.translate(sources, config, constraints)
    assert best_tokens(results) == best_tokens(eager.translate(sources, config, constraints))
    assert not graphs._captured


def test_fp16_changes_scores_little(micro):
    eager, graphs = make_engines(micro, "fp16")
    sources = random_sources(8)
    results, expected = graphs.translate(sources, PAPER_SEARCH), eager.translate(sources, PAPER_SEARCH)
    for hypotheses, reference in zip(results, expected, strict=True):
        assert hypotheses[0].score == pytest.approx(reference[0].score, abs=0.05)


def test_captured_shapes_are_dropped_before_they_exceed_the_memory_share(micro, monkeypatch):
    from regard.inference import cuda_graphs

    eager, graphs = make_engines(micro)
    monkeypatch.setattr(cuda_graphs.GraphShape, "kv_cache_bytes", lambda *_: 2)
    memory = torch.cuda.get_device_properties(0).total_memory
    monkeypatch.setattr(cuda_graphs, "GRAPH_MEMORY_SHARE", 3 / memory)
    for count in (1, 2, 4, 8):
        sources = random_sources(count)
        results = graphs.translate(sources, GREEDY_SEARCH)
        assert best_tokens(results) == best_tokens(eager.translate(sources, GREEDY_SEARCH))
        assert len(graphs._captured) == 1


def test_the_longest_source_fits_the_position_table(micro):
    eager, graphs = make_engines(micro)
    sources = [torch.randint(3, 23, (99,)).tolist()]
    results = graphs.translate(sources, GREEDY_SEARCH)
    assert best_tokens(results) == best_tokens(eager.translate(sources, GREEDY_SEARCH))


def test_a_batch_that_exceeds_the_memory_share_is_halved(micro, monkeypatch):
    from regard.inference import cuda_graphs

    eager, graphs = make_engines(micro)
    sources = random_sources(8)
    monkeypatch.setattr(cuda_graphs, "GRAPH_MEMORY_SHARE", 1e-9)
    results = graphs.translate(sources, GREEDY_SEARCH)
    assert best_tokens(results) == best_tokens(eager.translate(sources, GREEDY_SEARCH))
    assert all(shape.sentences == 1 for shape in graphs._captured)

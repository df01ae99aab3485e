from dataclasses import replace

import pytest
import torch

from regard.inference.eager import EagerEngine
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH

pytestmark = pytest.mark.cuda


def engines(micro, precision="fp32", **changes):
    from regard.inference.cuda_graphs import CudaGraphEngine
    from regard.inference.incremental import IncrementalDecoder

    torch.manual_seed(0)
    model = Transformer(replace(micro, max_length=100, **changes)).eval().cuda()
    return EagerEngine(model), CudaGraphEngine(IncrementalDecoder(model, precision))


def rows(count, longest=20):
    return [torch.randint(3, 23, (n,)).tolist() for n in torch.randint(1, longest, (count,)).tolist()]


@pytest.mark.parametrize(
    "config", [GREEDY_SEARCH, PAPER_SEARCH, replace(PAPER_SEARCH, n_best=3, min_length=4, max_length=40)]
)
@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "activation": "gelu", "d_k": 5}])
def test_played_back_it_finds_what_the_model_finds(micro, config, changes):
    plain, played = engines(micro, **changes)
    for count in (5, 3, 1, 5):  # the same shape twice, with other sentences
        sources = rows(count)
        found, expected = played.translate(sources, config), plain.translate(sources, config)
        assert [[each.tokens for each in one] for one in found] == [
            [each.tokens for each in one] for one in expected
        ]
        for one, other in zip(found, expected, strict=True):
            assert one[0].score == pytest.approx(other[0].score, abs=1e-3)


def test_in_half_precision_the_scores_stay_near(micro):
    plain, played = engines(micro, "fp16")
    sources = rows(8)
    for one, other in zip(
        played.translate(sources, PAPER_SEARCH), plain.translate(sources, PAPER_SEARCH), strict=True
    ):
        assert one[0].score == pytest.approx(other[0].score, abs=0.05)


def test_shapes_are_forgotten_before_they_fill_the_gpu(micro, monkeypatch):
    from regard.inference import cuda_graphs

    plain, played = engines(micro)
    monkeypatch.setattr(cuda_graphs.GraphShape, "kv_cache_bytes", lambda *_: 2)
    monkeypatch.setattr(
        cuda_graphs, "GRAPH_MEMORY_SHARE", 3 / torch.cuda.get_device_properties(0).total_memory
    )
    for count in (1, 2, 4, 8):
        sources = rows(count)
        assert [one[0].tokens for one in played.translate(sources, GREEDY_SEARCH)] == [
            one[0].tokens for one in plain.translate(sources, GREEDY_SEARCH)
        ]
        assert len(played._captured) == 1


def test_the_longest_sources_have_their_positions(micro):
    plain, played = engines(micro)
    sources = [torch.randint(3, 23, (99,)).tolist()]
    assert (
        played.translate(sources, GREEDY_SEARCH)[0][0].tokens
        == plain.translate(sources, GREEDY_SEARCH)[0][0].tokens
    )


def test_a_batch_that_is_too_large_for_the_gpu_is_halved(micro, monkeypatch):
    from regard.inference import cuda_graphs

    plain, played = engines(micro)
    sources = rows(8)
    monkeypatch.setattr(cuda_graphs, "GRAPH_MEMORY_SHARE", 1e-9)
    assert [one[0].tokens for one in played.translate(sources, GREEDY_SEARCH)] == [
        one[0].tokens for one in plain.translate(sources, GREEDY_SEARCH)
    ]
    assert all(shape.sentences == 1 for shape in played._captured)

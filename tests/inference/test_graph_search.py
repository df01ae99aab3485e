"""CUDA graph search on a CPU: a step that would be captured runs whenever its graph is replayed."""

from dataclasses import dataclass, replace

import pytest
import torch

from regard.inference import cuda_graphs
from regard.inference.cuda_graphs import CapturedSearch, CudaGraphEngine
from regard.inference.eager import EagerEngine
from regard.inference.graph_search import GraphBeam
from regard.inference.incremental import IncrementalDecoder
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH


class InstantEvent:
    """A CUDA event whose work is done when it is recorded."""

    def record(self):
        pass

    def synchronize(self):
        pass


class GpuProperties:
    total_memory = 2**30


@dataclass
class ReplayedStep:
    """A CUDA graph that runs its work on replay."""

    replay: object


def capture(work):
    work()  # warm-up, which leaves its results in the search state
    return ReplayedStep(work)


@pytest.fixture
def engines(micro_model, monkeypatch):
    """The eager engine and the CUDA graph engine of the same model, both on the CPU."""
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: GpuProperties)
    monkeypatch.setattr(torch.cuda, "Event", InstantEvent)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    monkeypatch.setattr(CapturedSearch, "_capture", lambda _, work: capture(work))
    monkeypatch.setattr(cuda_graphs, "make_graph_search", GraphBeam)
    return EagerEngine(micro_model), CudaGraphEngine(IncrementalDecoder(micro_model, "fp32"))


@pytest.mark.parametrize(
    "config", [GREEDY_SEARCH, PAPER_SEARCH, replace(PAPER_SEARCH, n_best=3), replace(PAPER_SEARCH, n_best=4)]
)
def test_a_captured_search_finds_the_n_best_hypotheses_of_the_eager_engine(engines, config):
    eager, graphs = engines
    generator = torch.Generator().manual_seed(0)
    for count in (5, 3, 1, 5):  # the same shape twice, with other sentences
        lengths = torch.randint(1, 20, (count,), generator=generator).tolist()
        sources = [torch.randint(3, 23, (length,), generator=generator).tolist() for length in lengths]
        results, expected = graphs.translate(sources, config), eager.translate(sources, config)
        assert [len(hypotheses) for hypotheses in results] == [config.n_best] * count
        for hypotheses, reference in zip(results, expected, strict=True):
            assert [each.tokens for each in hypotheses] == [each.tokens for each in reference]
            scores = [each.score for each in reference]
            assert [each.score for each in hypotheses] == pytest.approx(scores, abs=1e-4)
    assert graphs._captured

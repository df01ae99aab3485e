"""CUDA graph engine: every search step on a GPU is one graph launch, model and search included.

A step of a small model is a few hundred kernels of a few microseconds each, and launching them one by one
takes far longer than running them. A graph is captured once per batch shape and launched as a whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.inference.eager import EagerEngine
from regard.inference.engine import output_length_limit
from regard.inference.graph_search import make_graph_search
from regard.inference.incremental import NO_ANCESTOR, IncrementalDecoder
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS, Constraints, WordBoundaries
from regard.search.hypothesis import Hypothesis
from regard.text.tokenizer import EOS, PAD

SOURCE_LENGTH_MULTIPLE = 16
"""Sources are padded to a multiple of this, so that there are few shapes."""
LOOKAHEAD_STEPS = 2
"""Steps launched before the host knows whether they are needed."""
GRAPH_MEMORY_SHARE = 0.25
"""The share of GPU memory for captured graphs; if another would exceed it, all are dropped."""


@dataclass(frozen=True)
class GraphShape:
    """Everything a captured graph depends on."""

    sentences: int
    source_length: int
    target_length: int
    config: SearchConfig

    def kv_cache_bytes(self, model: IncrementalDecoder) -> int:
        """Return the memory of keys and values, which is nearly all of a graph's."""
        tokens = self.sentences * (self.source_length + self.target_length * self.config.beam)
        token_bytes = 2 * model.config.heads * model.config.head_width * model.dtype.itemsize
        return tokens * token_bytes * model.config.decoder_layers


class CudaGraphEngine:
    """Translates token ids on a GPU; implements `Engine`.

    Searches that a graph does not support run step by step.
    """

    def __init__(self, model: IncrementalDecoder, word_boundaries: WordBoundaries | None = None) -> None:
        self._model = model
        self._eager = EagerEngine(model, word_boundaries)
        self._captured: dict[GraphShape, CapturedSearch] = {}
        self._pool = torch.cuda.graph_pool_handle()

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER_SEARCH,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the best translations of each source."""
        is_constrained = any(each != NO_CONSTRAINTS for each in constraints or ())
        if is_constrained or not config.is_plain:
            return self._eager.translate(sources, config, constraints)
        results: list[list[Hypothesis]] = []
        while len(results) < len(sources):
            rest = sources[len(results) :]
            results += self._translate_batch(rest[: _batch_size(len(rest))], config)
        return results

    def _translate_batch(
        self, sources: Sequence[Sequence[int]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        limits = [
            output_length_limit(len(source), self.max_tokens, config, NO_CONSTRAINTS) for source in sources
        ]
        longest = max(map(len, sources)) + 1  # with the end mark
        padded = -(-longest // SOURCE_LENGTH_MULTIPLE) * SOURCE_LENGTH_MULTIPLE
        shape = GraphShape(
            sentences=_next_power_of_two(len(sources)),
            source_length=min(padded, self._model.config.max_length),
            target_length=max(2 * SOURCE_LENGTH_MULTIPLE, _next_power_of_two(max(limits) + 1)),
            config=config,
        )
        budget = GRAPH_MEMORY_SHARE * torch.cuda.get_device_properties(self._model.device).total_memory
        if shape.kv_cache_bytes(self._model) > budget and len(sources) > 1:
            half = len(sources) // 2
            first = self._translate_batch(sources[:half], config)
            return first + self._translate_batch(sources[half:], config)
        with torch.inference_mode():
            if shape not in self._captured:
                if sum(each.kv_cache_bytes(self._model) for each in (*self._captured, shape)) > budget:
                    self._captured.clear()
                    self._pool = torch.cuda.graph_pool_handle()  # the old pool is freed with its last graph
                self._captured[shape] = CapturedSearch(self._model, shape, self._pool)
            return self._captured[shape](sources, limits)


class CapturedSearch:
    """The tensors and CUDA graphs of one batch shape."""

    def __init__(self, model: IncrementalDecoder, shape: GraphShape, pool: Any) -> None:
        config, sentences, device = shape.config, shape.sentences, model.device
        self._model, self._shape, self._pool = model, shape, pool
        self._source = torch.full((sentences, shape.source_length), PAD, device=device)
        self._source[:, 0] = EOS
        mask = torch.zeros(sentences, 1, 1, shape.source_length, dtype=model.dtype, device=device)
        lengths = torch.ones(sentences, dtype=torch.long, device=device)
        source_kv = model.encode_source(self._source, mask)
        self._state = model.allocate_state(source_kv, lengths, mask, config.beam, shape.target_length)
        self._search = make_graph_search(sentences, shape.target_length, config, device)
        self._position = torch.zeros((), dtype=torch.long, device=device)
        self._is_unfinished = torch.ones((), dtype=torch.bool, device=device)
        self._unfinished_by_step = torch.ones(shape.target_length + 1, dtype=torch.bool).pin_memory()
        self._encode_graph = self._capture(self._encode)
        self._step_graph = self._capture(self._step)

    def __call__(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[Hypothesis]]:
        self._load_inputs(sources, limits)
        self._encode_graph.replay()
        copied: list[torch.cuda.Event] = []
        for step in range(max(limits) + 1):
            self._step_graph.replay()
            self._unfinished_by_step[step].copy_(self._is_unfinished, non_blocking=True)
            copied.append(torch.cuda.Event())
            copied[-1].record()
            if step >= LOOKAHEAD_STEPS:
                copied[step - LOOKAHEAD_STEPS].synchronize()
                if not self._unfinished_by_step[step - LOOKAHEAD_STEPS]:
                    break
        return self._search.hypotheses(len(sources))

    def _load_inputs(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> None:
        """Copy the sentences into the graph's tensors; unused rows repeat the first sentence."""
        unused = self._shape.sentences - len(sources)
        rows = [[*source, EOS] for source in [*sources, *[sources[0]] * unused]]
        padded = [row + [PAD] * (self._shape.source_length - len(row)) for row in rows]
        self._source.copy_(torch.tensor(padded))
        self._search.reset([*limits, *[limits[0]] * unused])
        self._state.ancestors.fill_(NO_ANCESTOR)
        self._position.zero_()

    def _encode(self) -> None:
        padding, state = self._source == PAD, self._state
        state.source_lengths.copy_((~padding).sum(dim=1))
        state.source_mask.zero_().masked_fill_(padding[:, None, None], -torch.inf)
        source_kv = self._model.encode_source(self._source, state.source_mask)
        for tensor, value in zip(state.source_kv, source_kv, strict=True):
            tensor.copy_(value)

    def _step(self) -> None:
        state, search = self._state, self._search
        logits = self._model.step_logits(state, search.last_token, self._position, self._shape.target_length)
        parents = search.advance(logits, self._position)
        if parents is not None:
            state.ancestors.copy_(state.reorder(parents).ancestors)
        self._is_unfinished.copy_(search.is_unfinished())
        self._position.add_(1)

    def _capture(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Run once on a side stream to warm up, as CUDA graphs require, then capture."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            work()
        return graph


def _next_power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _batch_size(count: int) -> int:
    """Return how many of `count` sentences to batch, so that at most a quarter of the rows is unused."""
    return count if 4 * count >= 3 * _next_power_of_two(count) else _next_power_of_two(count) // 2

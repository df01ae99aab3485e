"""Search played back on a GPU: every step is launched as one CUDA graph, search and all.

A step of a small model is a few hundred kernels of a few microseconds each, and to launch them one by one
takes far longer than to run them. A graph is recorded once for each shape of batch and launched whole.
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
"""Sources are padded to a multiple of it, so that shapes are few."""
LOOKAHEAD_STEPS = 2
"""Steps that are launched before it is known whether they are needed."""
GRAPH_MEMORY_SHARE = 0.25
"""Of the GPU's memory that is for shapes kept ready; when they would take more, all are forgotten."""


@dataclass(frozen=True)
class GraphShape:
    """All that a recording depends on."""

    sentences: int
    source_length: int
    target_length: int
    config: SearchConfig

    def kv_cache_bytes(self, model: IncrementalDecoder) -> int:
        """What keys and values take, which is nearly everything."""
        tokens = self.sentences * (self.source_length + self.target_length * self.config.beam)
        each = 2 * model.config.heads * model.config.head_width * model.dtype.itemsize
        return tokens * each * model.config.decoder_layers


class CudaGraphEngine:
    """Translates ids on a GPU; satisfies `Engine`. What no graph can do is searched step by step."""

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
        """The best translations found of each row of ids."""
        ruled = config.sampling is not None or config.no_repeat_ngram is not None or not config.allow_unknown
        if ruled or config.min_length or any(wish != NO_CONSTRAINTS for wish in constraints or ()):
            return self._eager.translate(sources, config, constraints)
        found: list[list[Hypothesis]] = []
        while len(found) < len(sources):
            rest = sources[len(found) :]
            found += self._translate_batch(rest[: _batch_size(len(rest))], config)
        return found

    def _translate_batch(
        self, sources: Sequence[Sequence[int]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        limits = [output_length_limit(len(row), self.max_tokens, config, NO_CONSTRAINTS) for row in sources]
        longest = max(map(len, sources)) + 1  # and the end mark
        shape = GraphShape(
            sentences=_next_power_of_two(len(sources)),
            source_length=min(
                -(-longest // SOURCE_LENGTH_MULTIPLE) * SOURCE_LENGTH_MULTIPLE, self._model.config.max_length
            ),
            target_length=max(2 * SOURCE_LENGTH_MULTIPLE, _next_power_of_two(max(limits) + 1)),
            config=config,
        )
        room = GRAPH_MEMORY_SHARE * torch.cuda.get_device_properties(self._model.device).total_memory
        if shape.kv_cache_bytes(self._model) > room and len(sources) > 1:
            half = len(sources) // 2
            return self._translate_batch(sources[:half], config) + self._translate_batch(
                sources[half:], config
            )
        with torch.inference_mode():
            if shape not in self._captured:
                if sum(known.kv_cache_bytes(self._model) for known in (*self._captured, shape)) > room:
                    self._captured.clear()
                    self._pool = torch.cuda.graph_pool_handle()  # the old one went with its last graph
                self._captured[shape] = CapturedSearch(self._model, shape, self._pool)
            return self._captured[shape](sources, limits)


class CapturedSearch:
    """One shape of batch: where everything lies, and the graphs that work on it."""

    def __init__(self, model: IncrementalDecoder, shape: GraphShape, pool: Any) -> None:
        config, sentences, device = shape.config, shape.sentences, model.device
        self._model, self._shape, self._pool = model, shape, pool
        self._source = torch.full((sentences, shape.source_length), PAD, device=device)
        self._source[:, 0] = EOS
        mask = torch.zeros(sentences, 1, 1, shape.source_length, dtype=model.dtype, device=device)
        lengths = torch.ones(sentences, dtype=torch.long, device=device)
        sources = model.encode_source(self._source, mask)
        self._state = model.allocate_state(sources, lengths, mask, config.beam, shape.target_length)
        self._choosing = make_graph_search(sentences, shape.target_length, config, device)
        self._at = torch.zeros((), dtype=torch.long, device=device)
        self._going_on = torch.ones((), dtype=torch.bool, device=device)
        self._seen = torch.ones(shape.target_length + 1, dtype=torch.bool).pin_memory()
        self._read = self._capture(self._read_source)
        self._step = self._capture(self._advance)

    def __call__(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[Hypothesis]]:
        self._load_inputs(sources, limits)
        self._read.replay()
        told: list[torch.cuda.Event] = []
        for number in range(max(limits) + 1):
            self._step.replay()
            self._seen[number].copy_(self._going_on, non_blocking=True)
            told.append(torch.cuda.Event())
            told[-1].record()
            if number >= LOOKAHEAD_STEPS:
                told[number - LOOKAHEAD_STEPS].synchronize()
                if not self._seen[number - LOOKAHEAD_STEPS]:
                    break
        return self._choosing.hypotheses(len(sources))

    def _load_inputs(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> None:
        """The sentences to their places; what is left over repeats the first, for nobody."""
        spare = self._shape.sentences - len(sources)
        rows = [[*row, EOS] for row in [*sources, *[sources[0]] * spare]]
        padded = [row + [PAD] * (self._shape.source_length - len(row)) for row in rows]
        self._source.copy_(torch.tensor(padded))
        self._choosing.reset([*limits, *[limits[0]] * spare])
        self._state.ancestors.fill_(NO_ANCESTOR)
        self._at.zero_()

    def _read_source(self) -> None:
        padding, state = self._source == PAD, self._state
        state.source_lengths.copy_((~padding).sum(dim=1))
        state.source_mask.zero_().masked_fill_(padding[:, None, None], -torch.inf)
        found = self._model.encode_source(self._source, state.source_mask)
        for place, value in zip(state.source_kv, found, strict=True):
            place.copy_(value)

    def _advance(self) -> None:
        state, choosing = self._state, self._choosing
        logits = self._model.step_logits(state, choosing.last_token, self._at, self._shape.target_length)
        rows = choosing.advance(logits, self._at)
        if rows is not None:
            state.ancestors.copy_(state.reorder(rows).ancestors)
        self._going_on.copy_(choosing.is_unfinished())
        self._at.add_(1)

    def _capture(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Once for warming up, beside what else the GPU does, as graphs want it; then recorded."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            work()
        return graph


def _next_power_of_two(count: int) -> int:
    """The next power of two: shapes have to be few."""
    return 1 << (count - 1).bit_length()


def _batch_size(count: int) -> int:
    """How many of so many sentences to take at once, so that at most a quarter of the places is empty."""
    return count if 4 * count >= 3 * _next_power_of_two(count) else _next_power_of_two(count) // 2

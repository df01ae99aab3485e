"""Search played back on a GPU: every step is launched as one CUDA graph, search and all.

A step of a small model is a few hundred kernels of a few microseconds each, and to launch them one by one
takes far longer than to run them. A graph is recorded once for each shape of batch and launched whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.inference.eager import EagerEngine
from regard.inference.engine import limit
from regard.inference.graph_search import choosing
from regard.inference.incremental import NOBODY, Lean
from regard.search.config import PAPER, SearchConfig
from regard.search.constraints import NO_WISH, Edges, Wish
from regard.search.hypothesis import Hypothesis
from regard.text.tokenizer import EOS, PAD

WIDTH = 16
"""Sources are padded to a multiple of it, so that shapes are few."""
BEHIND = 2
"""Steps that are launched before it is known whether they are needed."""
SHARE = 0.25
"""Of the GPU's memory that is for shapes kept ready; when they would take more, all are forgotten."""


@dataclass(frozen=True)
class Shape:
    """All that a recording depends on."""

    sentences: int
    source: int
    target: int
    config: SearchConfig

    def bytes(self, model: Lean) -> int:
        """What keys and values take, which is nearly everything."""
        tokens = self.sentences * (self.source + self.target * self.config.beam)
        each = 2 * model.config.heads * model.config.head_width * model.dtype.itemsize
        return tokens * each * model.config.decoder_layers


class GraphEngine:
    """Translates ids on a GPU; satisfies `Engine`. What no graph can do is searched step by step."""

    def __init__(self, model: Lean, edges: Edges | None = None) -> None:
        self._model = model
        self._step_by_step = EagerEngine(model, edges)
        self._played: dict[Shape, Played] = {}
        self._pool = torch.cuda.graph_pool_handle()

    @property
    def longest(self) -> int:
        return self._model.longest

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER,
        wishes: Sequence[Wish] | None = None,
    ) -> list[list[Hypothesis]]:
        """The best translations found of each row of ids."""
        ruled = config.sampling is not None or config.no_repeat_ngram is not None or not config.unknown
        if ruled or config.min_length or any(wish != NO_WISH for wish in wishes or ()):
            return self._step_by_step.translate(sources, config, wishes)
        found: list[list[Hypothesis]] = []
        while len(found) < len(sources):
            rest = sources[len(found) :]
            found += self._together(rest[: _fitting(len(rest))], config)
        return found

    def _together(self, sources: Sequence[Sequence[int]], config: SearchConfig) -> list[list[Hypothesis]]:
        limits = [limit(len(row), self.longest, config, NO_WISH) for row in sources]
        longest = max(map(len, sources)) + 1  # and the end mark
        shape = Shape(
            sentences=_power(len(sources)),
            source=min(-(-longest // WIDTH) * WIDTH, self._model.config.max_length),
            target=max(2 * WIDTH, _power(max(limits) + 1)),
            config=config,
        )
        room = SHARE * torch.cuda.get_device_properties(self._model.device).total_memory
        if shape.bytes(self._model) > room and len(sources) > 1:
            half = len(sources) // 2
            return self._together(sources[:half], config) + self._together(sources[half:], config)
        with torch.inference_mode():
            if shape not in self._played:
                if sum(known.bytes(self._model) for known in (*self._played, shape)) > room:
                    self._played.clear()
                    self._pool = torch.cuda.graph_pool_handle()  # the old one went with its last graph
                self._played[shape] = Played(self._model, shape, self._pool)
            return self._played[shape](sources, limits)


class Played:
    """One shape of batch: where everything lies, and the graphs that work on it."""

    def __init__(self, model: Lean, shape: Shape, pool: Any) -> None:
        config, sentences, device = shape.config, shape.sentences, model.device
        self._model, self._shape, self._pool = model, shape, pool
        self._source = torch.full((sentences, shape.source), PAD, device=device)
        self._source[:, 0] = EOS
        mask = torch.zeros(sentences, 1, 1, shape.source, dtype=model.dtype, device=device)
        lengths = torch.ones(sentences, dtype=torch.long, device=device)
        sources = model.remembered(self._source, mask)
        self._state = model.room(sources, lengths, mask, config.beam, shape.target)
        self._choosing = choosing(sentences, shape.target, config, device)
        self._at = torch.zeros((), dtype=torch.long, device=device)
        self._going_on = torch.ones((), dtype=torch.bool, device=device)
        self._seen = torch.ones(shape.target + 1, dtype=torch.bool).pin_memory()
        self._read = self._recorded(self._read_source)
        self._step = self._recorded(self._advance)

    def __call__(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[Hypothesis]]:
        self._put(sources, limits)
        self._read.replay()
        told: list[torch.cuda.Event] = []
        for number in range(max(limits) + 1):
            self._step.replay()
            self._seen[number].copy_(self._going_on, non_blocking=True)
            told.append(torch.cuda.Event())
            told[-1].record()
            if number >= BEHIND:
                told[number - BEHIND].synchronize()
                if not self._seen[number - BEHIND]:
                    break
        return self._choosing.found(len(sources))

    def _put(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> None:
        """The sentences to their places; what is left over repeats the first, for nobody."""
        spare = self._shape.sentences - len(sources)
        rows = [[*row, EOS] for row in [*sources, *[sources[0]] * spare]]
        padded = [row + [PAD] * (self._shape.source - len(row)) for row in rows]
        self._source.copy_(torch.tensor(padded))
        self._choosing.begin([*limits, *[limits[0]] * spare])
        self._state.ancestors.fill_(NOBODY)
        self._at.zero_()

    def _read_source(self) -> None:
        padding, state = self._source == PAD, self._state
        state.lengths.copy_((~padding).sum(dim=1))
        state.source_mask.zero_().masked_fill_(padding[:, None, None], -torch.inf)
        found = self._model.remembered(self._source, state.source_mask)
        for place, value in zip(state.source, found, strict=True):
            place.copy_(value)

    def _advance(self) -> None:
        state, choosing = self._state, self._choosing
        logits = self._model.logits(state, choosing.last, self._at, self._shape.target)
        rows = choosing.choose(logits, self._at)
        if rows is not None:
            state.ancestors.copy_(state.reorder(rows).ancestors)
        self._going_on.copy_(choosing.going_on())
        self._at.add_(1)

    def _recorded(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
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


def _power(count: int) -> int:
    """The next power of two: shapes have to be few."""
    return 1 << (count - 1).bit_length()


def _fitting(count: int) -> int:
    """How many of so many sentences to take at once, so that at most a quarter of the places is empty."""
    return count if 4 * count >= 3 * _power(count) else _power(count) // 2

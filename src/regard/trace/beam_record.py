"""The search for one translation, and every hypothesis that was in its beam."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.inference.eager import EagerEngine, bans_for
from regard.model.transformer import Transformer
from regard.search.beam import beam as search_beam
from regard.search.beam_state import Beams, Bounds
from regard.search.config import SearchConfig
from regard.search.constraints import Wish
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.topk import likeliest
from regard.text.tokenizer import BOS, EOS
from regard.trace.schema import Beam, Finished, Greedy, Node
from regard.trace.tokens import Names


@torch.inference_mode()
def search(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    limit: int,
    prefix: Sequence[int],
    config: SearchConfig,
    names: Names,
) -> tuple[Hypothesis, Beam]:
    """The best translation, and how it was found."""
    bounds = Bounds.of([limit], 0, [prefix], device=source.device)
    record = _Record(config, len(prefix), limit, names)
    start = model.start(source, keep)
    engine = EagerEngine(model)
    bans = bans_for(SearchConfig(), [Wish(tuple(prefix))], bool(prefix), source.device)
    ((best, *_),) = search_beam(engine, start, BOS, EOS, bounds, config, bans, record)
    greedy = SearchConfig(1, config.alpha)
    ((alone, *_),) = search_beam(engine, model.start(source, keep), BOS, EOS, bounds, greedy, bans)
    aside = Greedy(alone.tokens, names.whole(alone.tokens), alone.score, leaves_at(alone.tokens, best.tokens))
    return best, Beam(config.beam, config.alpha, tuple(record.nodes), tuple(record.finished()), aside)


def leaves_at(other: Sequence[int], winner: Sequence[int]) -> int | None:
    """The first place at which the two differ, their end marks included."""
    if tuple(other) == tuple(winner):
        return None
    pairs = zip((*other, EOS), (*winner, EOS), strict=False)
    return next(t for t, (one, two) in enumerate(pairs) if one != two)


class _Record:
    """Watches one sentence's beam, step by step."""

    def __init__(self, config: SearchConfig, prefix: int, limit: int, names: Names) -> None:
        self.nodes: list[Node] = []
        self._config, self._free, self._names = config, range(prefix, limit), names
        self._at: list[int | None] = [None] * config.beam
        """The node in each place of the beam."""
        self._t = 0

    def __call__(
        self,
        before: Beams,
        logits: Float[Tensor, "place vocab"],
        norm: Float[Tensor, " place"],
        after: Beams,
        parents: Int[Tensor, " place"],
    ) -> None:
        """One step: what was kept of all continuations, and the best of what was not."""
        room, size = int(before.room[0]), self._config.beam
        chosen = list(zip(parents.tolist(), after.last[0].tolist(), strict=True))[:room]
        others: list[tuple[int, int]] = []
        if self._t in self._free:
            _, place, token = likeliest(logits[None], norm[None], before.score, room + size)
            ranked = zip(place[0].tolist(), token[0].tolist(), strict=True)
            others = [each for each in ranked if each not in chosen][:size]
        logs = logits.float() - norm[:, None]
        sums = logs + before.score[0][:, None]
        now: list[int | None] = [None] * size
        rank = 0
        for number, (parent, token) in enumerate([*chosen, *others]):
            total = float(sums[parent, token])
            if total == -math.inf:  # an empty place
                continue
            kept = number < len(chosen)
            if kept and token != EOS:
                now[number] = len(self.nodes)
            self._add(parent, token, float(logs[parent, token]), total, rank, kept)
            rank += 1
        self._at, self._t = now, self._t + 1

    def _add(self, parent: int, token: int, log: float, total: float, rank: int, kept: bool) -> None:
        penalty = torch.tensor(length_penalty(self._t + 1, self._config.alpha))
        self.nodes.append(
            Node(
                id=len(self.nodes),
                parent=self._at[parent],
                t=self._t,
                token=token,
                text=self._names.text(token),
                piece=self._names.piece(token),
                logprob=log,
                sum=total,
                score=float(torch.tensor(total) / penalty),  # rounded as in the search
                rank=rank,
                state="pruned" if not kept else "finished" if token == EOS else "kept",
            )
        )

    def finished(self) -> list[Finished]:
        """The best first; the earlier among equals, as the search has it."""
        ended = [node for node in self.nodes if node.state == "finished"]
        ranked = sorted(ended, key=lambda node: -node.score)
        return [Finished(node.id, rank) for rank, node in enumerate(ranked)]

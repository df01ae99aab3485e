"""The search for one translation, and every hypothesis that was in its beam."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.inference.eager import EagerEngine, make_token_bans
from regard.model.transformer import Transformer
from regard.search.beam import beam_search as search_beam
from regard.search.beam_state import BeamState, ConstraintState
from regard.search.config import SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.search.topk import topk_continuations
from regard.text.tokenizer import BOS, EOS
from regard.trace.schema import BeamNode, BeamRecord, FinishedHypothesis, GreedyResult
from regard.trace.tokens import TokenRenderer


@torch.inference_mode()
def search_with_record(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    keep: Bool[Tensor, "1 source"],
    limit: int,
    prefix: Sequence[int],
    config: SearchConfig,
    renderer: TokenRenderer,
) -> tuple[Hypothesis, BeamRecord]:
    """The best translation, and how it was found."""
    bounds = ConstraintState.from_lists([limit], 0, [prefix], device=source.device)
    record = _BeamRecorder(config, len(prefix), limit, renderer)
    start = model.start_decoding(source, keep)
    engine = EagerEngine(model)
    bans = make_token_bans(SearchConfig(), [Constraints(tuple(prefix))], bool(prefix), source.device)
    ((best, *_),) = search_beam(engine, start, BOS, EOS, bounds, config, bans, record)
    greedy = SearchConfig(1, config.alpha)
    ((alone, *_),) = search_beam(engine, model.start_decoding(source, keep), BOS, EOS, bounds, greedy, bans)
    aside = GreedyResult(
        alone.tokens, renderer.line(alone.tokens), alone.score, divergence_index(alone.tokens, best.tokens)
    )
    return best, BeamRecord(config.beam, config.alpha, tuple(record.nodes), tuple(record.finished()), aside)


def divergence_index(hypothesis: Sequence[int], winner: Sequence[int]) -> int | None:
    """The first place at which the two differ, their end marks included."""
    if tuple(hypothesis) == tuple(winner):
        return None
    pairs = zip((*hypothesis, EOS), (*winner, EOS), strict=False)
    return next(t for t, (one, two) in enumerate(pairs) if one != two)


class _BeamRecorder:
    """Watches one sentence's beam, step by step."""

    def __init__(self, config: SearchConfig, prefix: int, limit: int, names: TokenRenderer) -> None:
        self.nodes: list[BeamNode] = []
        self._config, self._free, self._names = config, range(prefix, limit), names
        self._at: list[int | None] = [None] * config.beam
        """The node in each place of the beam."""
        self._t = 0

    def __call__(
        self,
        before: BeamState,
        logits: Float[Tensor, "place vocab"],
        norm: Float[Tensor, " place"],
        after: BeamState,
        parents: Int[Tensor, " place"],
    ) -> None:
        """One step: what was kept of all continuations, and the best of what was not."""
        room, size = int(before.open_slots[0]), self._config.beam
        chosen = list(zip(parents.tolist(), after.last_token[0].tolist(), strict=True))[:room]
        others: list[tuple[int, int]] = []
        if self._t in self._free:
            _, place, token = topk_continuations(logits[None], norm[None], before.score, room + size)
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
            BeamNode(
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

    def finished(self) -> list[FinishedHypothesis]:
        """The best first; the earlier among equals, as the search has it."""
        ended = [node for node in self.nodes if node.state == "finished"]
        ranked = sorted(ended, key=lambda node: -node.score)
        return [FinishedHypothesis(node.id, rank) for rank, node in enumerate(ranked)]

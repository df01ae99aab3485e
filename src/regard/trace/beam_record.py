"""Beam search for one sentence with a record of every hypothesis."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.inference.eager import EagerEngine, make_constraint_state
from regard.model.transformer import Transformer
from regard.search.beam import beam_search
from regard.search.beam_state import BeamState
from regard.search.config import PAPER_SEARCH, SearchConfig
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
    """Return the best hypothesis and the record of the search."""
    constraints = [Constraints(tuple(prefix))] if prefix else None
    state = make_constraint_state([limit], PAPER_SEARCH, constraints, device=source.device)
    recorder = _BeamRecorder(config, len(prefix), limit, renderer)
    start = model.start_decoding(source, keep)
    engine = EagerEngine(model)
    ((best, *_),) = beam_search(engine, start, BOS, EOS, state, config, recorder)
    greedy_start = model.start_decoding(source, keep)
    ((greedy, *_),) = beam_search(engine, greedy_start, BOS, EOS, state, SearchConfig(1, config.alpha))
    greedy_result = GreedyResult(
        greedy.tokens,
        renderer.line(greedy.tokens),
        greedy.score,
        divergence_index(greedy.tokens, best.tokens),
    )
    return best, BeamRecord(
        config.beam, config.alpha, tuple(recorder.nodes), tuple(recorder.finished()), greedy_result
    )


def divergence_index(hypothesis: Sequence[int], winner: Sequence[int]) -> int | None:
    """Return the first index at which the two differ, end of sentence included; None if they do not."""
    if tuple(hypothesis) == tuple(winner):
        return None
    pairs = zip((*hypothesis, EOS), (*winner, EOS), strict=False)
    return next(t for t, (one, two) in enumerate(pairs) if one != two)


class _BeamRecorder:
    """Records the hypotheses of one sentence's beam search, step by step."""

    def __init__(self, config: SearchConfig, prefix: int, limit: int, renderer: TokenRenderer) -> None:
        self.nodes: list[BeamNode] = []
        self._config, self._renderer = config, renderer
        self._free_steps = range(prefix, limit)
        self._slot_nodes: list[int | None] = [None] * config.beam
        """The node in each slot of the beam."""
        self._t = 0

    def __call__(
        self,
        before: BeamState,
        logits: Float[Tensor, "slot vocab"],
        norm: Float[Tensor, " slot"],
        after: BeamState,
        parents: Int[Tensor, " slot"],
    ) -> None:
        """Record one step: the continuations that were kept, and the best of those that were pruned."""
        open_slots, size = int(before.open_slots[0]), self._config.beam
        chosen = list(zip(parents.tolist(), after.last_token[0].tolist(), strict=True))[:open_slots]
        pruned: list[tuple[int, int]] = []
        if self._t in self._free_steps:
            _, slots, token = topk_continuations(logits[None], norm[None], before.score, open_slots + size)
            ranked = zip(slots[0].tolist(), token[0].tolist(), strict=True)
            pruned = [each for each in ranked if each not in chosen][:size]
        logprobs = logits.float() - norm[:, None]
        sums = logprobs + before.score[0][:, None]
        slot_nodes: list[int | None] = [None] * size
        rank = 0
        for number, (parent, token) in enumerate([*chosen, *pruned]):
            total = float(sums[parent, token])
            if total == -math.inf:  # an empty slot
                continue
            kept = number < len(chosen)
            if kept and token != EOS:
                slot_nodes[number] = len(self.nodes)
            self._add(parent, token, float(logprobs[parent, token]), total, rank, kept)
            rank += 1
        self._slot_nodes, self._t = slot_nodes, self._t + 1

    def _add(self, parent: int, token: int, logprob: float, total: float, rank: int, kept: bool) -> None:
        penalty = torch.tensor(length_penalty(self._t + 1, self._config.alpha))
        self.nodes.append(
            BeamNode(
                id=len(self.nodes),
                parent=self._slot_nodes[parent],
                t=self._t,
                token=token,
                text=self._renderer.text(token),
                piece=self._renderer.piece(token),
                logprob=logprob,
                sum=total,
                score=float(torch.tensor(total) / penalty),  # rounded as in the search
                rank=rank,
                state="pruned" if not kept else "finished" if token == EOS else "kept",
            )
        )

    def finished(self) -> list[FinishedHypothesis]:
        """Return the finished hypotheses, best first; ties in the order of the search."""
        finished = [node for node in self.nodes if node.state == "finished"]
        ranked = sorted(finished, key=lambda node: -node.score)
        return [FinishedHypothesis(node.id, rank) for rank, node in enumerate(ranked)]

"""Sampling: translations drawn by chance, the same for a sentence whatever is drawn beside it."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.beam_state import ConstraintState
from regard.search.config import Sampling, SearchConfig
from regard.search.constraint_state import TokenBans
from regard.search.greedy import search_left_to_right
from regard.search.hypothesis import Hypothesis
from regard.search.interface import ModelState, StepModel
from regard.search.topk import topk_continuations


def sampling_search(
    model: StepModel[ModelState],
    state: ModelState,
    bos: int,
    eos: int,
    constraints: ConstraintState,
    config: SearchConfig,
    sampling: Sampling,
    sources: Sequence[Sequence[int]],
    bans: TokenBans | None = None,
) -> list[list[Hypothesis]]:
    """`n_best` translations drawn for each sentence, the likeliest first; two may be the same.

    Their log-probabilities are the model's own, at temperature 1 and with every token allowed.
    """
    width = int(constraints.max_length.max()) + 1 if len(sources) else 0
    rows = [draw_uniforms(sampling.seed, source, config.n_best, width) for source in sources]
    table = torch.from_numpy(np.array(rows)).to(constraints.max_length.device)

    def choose(logits: Tensor, sentences: Tensor, length: int) -> Tensor:
        return sample_tokens(logits, table[sentences, :, length - 1].flatten(), sampling)

    return search_left_to_right(
        model, state, bos, eos, constraints, config.alpha, bans, choose, config.n_best
    )


def sample_tokens(
    logits: Float[Tensor, "row vocab"], uniforms: Float[Tensor, " row"], sampling: Sampling
) -> Int[Tensor, " row"]:
    """The token at which the probabilities, added up, pass that share of all that is allowed."""
    logits = (logits.double() - logits.amax(dim=1, keepdim=True)) / sampling.temperature
    if sampling.top_k is not None:
        none = torch.zeros(len(logits), 1, device=logits.device)
        logits, _, tokens = topk_continuations(
            logits[:, None], none, none, min(sampling.top_k, logits.shape[1])
        )
    elif sampling.top_p is not None:
        logits, tokens = logits.sort(dim=1, descending=True, stable=True)
    else:
        tokens = torch.arange(logits.shape[1], device=logits.device).expand_as(logits)
    probability = logits.double().softmax(dim=1)
    if sampling.top_p is not None:
        before = probability.cumsum(dim=1) - probability
        probability = probability.masked_fill(before >= sampling.top_p, 0.0)
    reached = probability.cumsum(dim=1)
    which = (reached <= uniforms[:, None] * reached[:, -1:]).sum(dim=1, keepdim=True)
    return tokens.gather(1, which.clamp(max=tokens.shape[1] - 1))[:, 0]


def draw_uniforms(
    seed: int, source: Sequence[int], samples: int, length: int
) -> Float[np.ndarray, "copies length"]:
    """Numbers from 0 up to 1 that belong to the seed and the sentence; longer rows begin alike."""
    said = np.array([seed, *source], np.uint64).tobytes()
    keys = [hashlib.sha256(said + bytes([0]) + str(copy).encode()).digest()[:16] for copy in range(samples)]
    draws = [np.random.Generator(np.random.Philox(key=int.from_bytes(key))) for key in keys]
    return np.array([one.integers(2**32, size=length) for one in draws]) / 2**32

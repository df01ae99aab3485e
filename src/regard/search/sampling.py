"""Sampling: random translations whose random numbers depend only on the seed and the sentence."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.config import Sampling, SearchConfig
from regard.search.constraint_state import ConstraintState
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
) -> list[list[Hypothesis]]:
    """Return `n_best` samples per sentence, the most probable first; two may be equal.

    Their log-probabilities are the model's own, at temperature 1 and over the full vocabulary.
    """
    width = int(constraints.max_length.max()) + 1 if len(sources) else 0
    rows = [draw_uniforms(sampling.seed, source, config.n_best, width) for source in sources]
    table = torch.from_numpy(np.array(rows)).to(constraints.max_length.device)

    def select_token(logits: Tensor, sentences: Tensor, length: int) -> Tensor:
        return sample_tokens(logits, table[sentences, :, length - 1].flatten(), sampling)

    return search_left_to_right(
        model, state, bos, eos, constraints, config.alpha, select_token, config.n_best
    )


def sample_tokens(
    logits: Float[Tensor, "row vocab"], uniforms: Float[Tensor, " row"], sampling: Sampling
) -> Int[Tensor, " row"]:
    """Return the first token whose cumulative probability, among those allowed, exceeds the uniform."""
    logits = (logits.double() - logits.amax(dim=1, keepdim=True)) / sampling.temperature
    if sampling.top_k is not None:
        zeros, count = torch.zeros(len(logits), 1, device=logits.device), min(sampling.top_k, logits.shape[1])
        logits, _, tokens = topk_continuations(logits[:, None], zeros, zeros, count)
    elif sampling.top_p is not None:
        logits, tokens = logits.sort(dim=1, descending=True, stable=True)
    else:
        tokens = torch.arange(logits.shape[1], device=logits.device).expand_as(logits)
    probability = logits.double().softmax(dim=1)
    if sampling.top_p is not None:
        before = probability.cumsum(dim=1) - probability
        probability = probability.masked_fill(before >= sampling.top_p, 0.0)
    cumulative = probability.cumsum(dim=1)
    index = (cumulative <= uniforms[:, None] * cumulative[:, -1:]).sum(dim=1, keepdim=True)
    return tokens.gather(1, index.clamp(max=tokens.shape[1] - 1))[:, 0]


def draw_uniforms(
    seed: int, source: Sequence[int], samples: int, length: int
) -> Float[np.ndarray, "samples length"]:
    """Return numbers in [0, 1) that depend on seed and source; a longer row extends the shorter."""
    content = np.array([seed, *source], np.uint64).tobytes()
    keys = [
        hashlib.sha256(content + bytes([0]) + str(sample).encode()).digest()[:16] for sample in range(samples)
    ]
    generators = [np.random.Generator(np.random.Philox(key=int.from_bytes(key))) for key in keys]
    return np.array([each.integers(2**32, size=length) for each in generators]) / 2**32

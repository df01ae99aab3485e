import math

import pytest
import torch

from regard.search.highest import CHUNK, chunk_maxima, highest

pytestmark = pytest.mark.cuda


def test_the_highest_on_a_gpu_are_those_on_a_cpu_equals_and_all():
    scores = torch.randint(0, 5, (60, 37)).float()
    scores[0, 3], scores[1], scores[2] = math.nan, -math.inf, -math.inf
    scores[2, 7], scores[3, 0], scores[3, 1] = 1.0, -0.0, 0.0
    for count in (1, 4):
        for one, other in zip(highest(scores, count), highest(scores.cuda(), count), strict=True):
            assert torch.equal(one, other.cpu())


@pytest.mark.parametrize("vocab", [CHUNK, 1000, 32_000])
def test_one_look_at_the_logits_gives_norms_and_maxima(vocab):
    from regard.search.kernels import norms

    logits = 5 * torch.randn(7, vocab, device="cuda")
    norm, maxima = norms(logits, CHUNK)
    torch.testing.assert_close(norm, logits.logsumexp(dim=1), rtol=1e-5, atol=1e-5)
    assert torch.equal(maxima, chunk_maxima(logits))

import math

import pytest
import torch

from regard.search.topk import VOCAB_CHUNK, chunk_maxima, stable_topk

pytestmark = pytest.mark.cuda


def test_the_highest_on_a_gpu_are_those_on_a_cpu_equals_and_all():
    scores = torch.randint(0, 5, (60, 37)).float()
    scores[0, 3], scores[1], scores[2] = math.nan, -math.inf, -math.inf
    scores[2, 7], scores[3, 0], scores[3, 1] = 1.0, -0.0, 0.0
    for count in (1, 4):
        for one, other in zip(stable_topk(scores, count), stable_topk(scores.cuda(), count), strict=True):
            assert torch.equal(one, other.cpu())


@pytest.mark.parametrize("vocab", [VOCAB_CHUNK, 1000, 32_000])
def test_one_look_at_the_logits_gives_norms_and_maxima(vocab):
    from regard.search.selection_kernels import log_normalizers_cuda

    logits = 5 * torch.randn(7, vocab, device="cuda")
    norm, maxima = log_normalizers_cuda(logits, VOCAB_CHUNK)
    torch.testing.assert_close(norm, logits.logsumexp(dim=1), rtol=1e-5, atol=1e-5)
    assert torch.equal(maxima, chunk_maxima(logits))


def test_one_kernel_chooses_what_a_beam_of_one_does():
    from regard.search.selection_kernels import greedy_step_cuda

    eos, at = 2, torch.tensor(3, device="cuda")
    logits = torch.randn(7, 5000, device="cuda")
    logits[1, 5] = logits[1, 9] = 9.0  # the first of equals
    logits[2:4, eos] = 20.0  # in row 2 too early
    logits[6, 3] = math.nan  # never
    last, written = torch.ones(7, dtype=torch.long, device="cuda"), torch.full((7, 10), eos, device="cuda")
    log, open_ = torch.zeros(7, device="cuda"), torch.ones(7, dtype=torch.bool, device="cuda")
    open_[5] = False  # stays as it is
    limit = torch.tensor([9, 9, 9, 9, 3, 9, 9], device="cuda")
    minimum = torch.tensor([0, 0, 4, 0, 0, 0, 0], device="cuda")
    greedy_step_cuda(logits, last, written, log, open_, limit, minimum, at, eos, VOCAB_CHUNK)
    free = logits.nan_to_num(-math.inf).index_fill(1, torch.tensor([eos], device="cuda"), -math.inf)
    assert last.tolist() == [free[0].argmax(), 5, free[2].argmax(), eos, eos, 1, free[6].argmax()]
    assert open_.tolist() == [True, True, True, False, False, False, True]
    assert torch.equal(written[:5, 3], last[:5])
    assert written[5].eq(eos).all()
    expected = logits.log_softmax(dim=1).gather(1, last[:, None])[:5, 0]
    torch.testing.assert_close(log[:5], expected, rtol=1e-5, atol=1e-5)

import math

import pytest
import torch

from regard.search.topk import VOCAB_CHUNK, chunk_maxima, stable_topk

pytestmark = pytest.mark.cuda


def test_topk_on_a_gpu_equals_topk_on_a_cpu_with_ties_and_nan():
    scores = torch.randint(0, 5, (60, 37)).float()
    scores[0, 3], scores[1], scores[2] = math.nan, -math.inf, -math.inf
    scores[2, 7], scores[3, 0], scores[3, 1] = 1.0, -0.0, 0.0
    for count in (1, 4):
        for cpu, gpu in zip(stable_topk(scores, count), stable_topk(scores.cuda(), count), strict=True):
            assert torch.equal(cpu, gpu.cpu())


@pytest.mark.parametrize("vocab", [VOCAB_CHUNK, 1000, 32_000])
def test_one_kernel_computes_normalizers_and_chunk_maxima(vocab):
    from regard.search.selection_kernels import log_normalizers_cuda

    logits = 5 * torch.randn(7, vocab, device="cuda")
    norm, maxima = log_normalizers_cuda(logits, VOCAB_CHUNK)
    torch.testing.assert_close(norm, logits.logsumexp(dim=1), rtol=1e-5, atol=1e-5)
    assert torch.equal(maxima, chunk_maxima(logits))


def test_the_greedy_step_kernel_equals_argmax_and_log_softmax():
    from regard.search.selection_kernels import greedy_step_cuda

    eos, position = 2, torch.tensor(3, device="cuda")
    logits = torch.randn(7, 5000, device="cuda")
    logits[1, 5] = logits[1, 9] = 9.0  # the first of ties
    logits[2, eos] = 20.0
    logits[6, 3] = math.nan  # never chosen
    last_token = torch.ones(7, dtype=torch.long, device="cuda")
    tokens = torch.full((7, 10), eos, device="cuda")
    log_probability, is_open = torch.zeros(7, device="cuda"), torch.ones(7, dtype=torch.bool, device="cuda")
    is_open[5] = False  # not touched
    max_length = torch.tensor([9, 9, 9, 9, 3, 9, 9], device="cuda")
    greedy_step_cuda(
        logits, last_token, tokens, log_probability, is_open, max_length, position, eos, VOCAB_CHUNK
    )
    best = logits.nan_to_num(-math.inf).argmax(dim=1)
    assert last_token.tolist() == [best[0], 5, eos, best[3], eos, 1, best[6]]
    assert is_open.tolist() == [True, True, False, True, False, False, True]
    assert torch.equal(tokens[:5, 3], last_token[:5])
    assert tokens[5].eq(eos).all()
    expected = logits.log_softmax(dim=1).gather(1, last_token[:, None])[:5, 0]
    torch.testing.assert_close(log_probability[:5], expected, rtol=1e-5, atol=1e-5)

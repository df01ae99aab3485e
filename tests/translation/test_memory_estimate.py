import sys
from dataclasses import replace

import pytest
import torch

from peak_memory import measure_peak_memory
from regard.model.config import BASE, BIG, SMALL, TINY
from regard.model.transformer import Transformer
from regard.training.loss import LossConfig
from regard.translation.memory_estimate import count_transformer_weights, estimate_translation_step_memory

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
SIZES = {"tiny": TINY, "small": SMALL, "base": replace(BASE, vocab_size=32_000)}

STEPS = """
import sys
from dataclasses import dataclass, replace
import numpy as np, torch, torch._dynamo
from regard.data.batch import make_pair_batch
from regard.data.pairs import concatenate_rows
from regard.model import config
from regard.model.transformer import Transformer
from regard.translation.task import pair_loss, rdrop_pair_loss
from regard.runtime import keep_freed_memory
from regard.training.device import autocast_to
from regard.training.optimizer import OptimizerConfig, build_optimizer
from regard.training.step import EagerStep, Learner
from regard.training.task import BatchCounts
name, is_bf16, (tokens, length, rdrop) = sys.argv[1], sys.argv[2] == "bf16", map(int, sys.argv[3:])
keep_freed_memory()
torch.set_num_threads(1)
random = np.random.default_rng(1)
libraries = next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]
shape = getattr(config, name.upper())
model = Transformer(replace(shape, vocab_size=32_000 if name == "base" else 8_000)).train()
class Task:
    def batch_counts(self, batch): return BatchCounts(batch.source_tokens, batch.target_tokens)
    def loss(self, batch):
        with autocast_to(torch.bfloat16 if is_bf16 else torch.float32, torch.device("cpu")):
            return rdrop_pair_loss(model, batch, 0.1, 5.0) if rdrop else pair_loss(model, batch, 0.1)
step = EagerStep(Task(), Learner(model, build_optimizer(model, OptimizerConfig())), 1, None)
for number in range(3):
    lengths = random.integers(length * 4 // 5, length * 6 // 5, (2, tokens // length))
    sides = [concatenate_rows([random.integers(3, 8000, n) for n in side]) for side in lengths]
    step(number, [make_pair_batch(*sides, np.arange(len(sides[0])))], 1e-4)
print(libraries)
"""


def measured(name, tokens, precision, length, rdrop) -> float:
    """Return the peak memory of three steps beyond that of the libraries, in bytes."""
    [libraries], peak = measure_peak_memory(STEPS, name, precision, tokens, length, rdrop)
    return peak * 2**20 - int(libraries) * 2**10


def estimated(name, tokens, precision, length, rdrop) -> float:
    loss = LossConfig(rdrop=5.0 * rdrop)
    return estimate_translation_step_memory(
        SIZES[name],
        loss,
        has_ema=False,
        device=CPU,
        precision=PRECISIONS[precision],
        is_captured=False,
        sentence_length=float(length),
        batch_tokens=tokens,
    ).total_bytes(tokens)


def estimate_on_cpu(model, loss):
    return estimate_translation_step_memory(
        model,
        loss,
        has_ema=False,
        device=CPU,
        precision=torch.float32,
        is_captured=False,
        sentence_length=20.0,
        batch_tokens=4096,
    )


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "tokens", "precision", "length", "rdrop"),
    [
        ("tiny", 2048, "fp32", 14, 0),
        slow("tiny", 8192, "fp32", 14, 0),
        slow("tiny", 4096, "bf16", 27, 0),
        slow("small", 1024, "fp32", 14, 0),
        slow("small", 8192, "bf16", 14, 0),
        slow("small", 4096, "fp32", 40, 0),
        slow("small", 2048, "fp32", 14, 1),
        slow("base", 1024, "fp32", 27, 0),
        slow("base", 2048, "bf16", 27, 0),
    ],
)
def test_the_estimate_is_near_the_measured_memory(name, tokens, precision, length, rdrop):
    case = name, tokens, precision, length, rdrop
    assert 0.85 < estimated(*case) / measured(*case) < 1.3


@pytest.mark.parametrize(
    ("model", "tokens", "gib"),
    [(replace(BASE, vocab_size=32_768), 25_600, 8.26), (replace(TINY, vocab_size=10_000), 8192, 0.70)],
)
def test_the_estimate_is_near_the_memory_measured_on_an_h200(model, tokens, gib):
    need = estimate_translation_step_memory(
        model,
        LossConfig(),
        has_ema=False,
        device=CUDA,
        precision=torch.bfloat16,
        is_captured=True,
        sentence_length=27.0,
        batch_tokens=tokens,
    )
    assert 0.9 < need.total_bytes(tokens) / gib / 2**30 < 1.1


@pytest.mark.parametrize("model", [TINY, BASE, BIG, replace(SMALL, tied="none", d_k=32)])
def test_weights_are_counted_without_biases_and_norms(model):
    model = replace(model, vocab_size=1000, encoder_layers=2, decoder_layers=1)
    matrices = [parameter for parameter in Transformer(model).parameters() if parameter.ndim > 1]
    assert count_transformer_weights(model) == sum(matrix.numel() for matrix in matrices)


@pytest.mark.parametrize(
    "more",
    [{"activation": "gelu"}, {"activation_dropout": 0.1}, {"attention_dropout": 0.1}, {"d_k": 128}],
)
def test_more_activations_need_more_memory(more):
    plain, other = (estimate_on_cpu(model, LossConfig()) for model in (SMALL, replace(SMALL, **more)))
    assert other.bytes_per_token > plain.bytes_per_token


def test_two_passes_need_twice_the_memory_of_one():
    one, two = (estimate_on_cpu(SMALL, LossConfig(rdrop=alpha)) for alpha in (0.0, 5.0))
    assert two.bytes_per_token == 2 * one.bytes_per_token

import pytest
import torch

from regard.errors import ConfigError
from regard.train.device import choose_device, choose_precision, computing_in, keep_freed_memory

CPU = torch.device("cpu")


def test_the_cpu_computes_in_fp32_and_a_gpu_in_bf16_unless_told():
    assert choose_precision("auto", CPU) == torch.float32
    assert choose_precision("auto", torch.device("cuda")) == torch.bfloat16
    assert choose_precision("bf16", CPU) == torch.bfloat16
    assert choose_precision("fp32", torch.device("cuda")) == torch.float32


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    with pytest.raises(ConfigError, match="device cuda cannot be used"):
        choose_device("cuda")


def test_products_are_computed_in_the_precision_asked():
    x = torch.randn(2, 2)
    with computing_in(torch.bfloat16, CPU):
        assert (x @ x).dtype == torch.bfloat16
    with computing_in(torch.float32, CPU):
        assert (x @ x).dtype == torch.float32


def test_keeping_freed_memory_changes_no_result():
    keep_freed_memory()
    assert torch.ones(1000, 1000).sum() == 1_000_000

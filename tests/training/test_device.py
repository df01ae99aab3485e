import pytest
import torch

from regard.errors import ConfigError
from regard.training.device import (
    ComputeConfig,
    autocast_to,
    can_capture_cuda_graphs,
    choose_device,
    choose_precision,
    describe_device,
)

CPU = torch.device("cpu")


def test_auto_precision_is_bf16_on_a_gpu():
    assert choose_precision("auto", torch.device("cuda")) == torch.bfloat16
    assert choose_precision("bf16", CPU) == torch.bfloat16
    assert choose_precision("fp32", torch.device("cuda")) == torch.float32


def test_device_cuda_without_a_gpu_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    with pytest.raises(ConfigError, match="device cuda cannot be used"):
        choose_device("cuda")


def test_matrix_products_use_the_chosen_precision():
    x = torch.randn(2, 2)
    with autocast_to(torch.bfloat16, CPU):
        assert (x @ x).dtype == torch.bfloat16
    with autocast_to(torch.float32, CPU):
        assert (x @ x).dtype == torch.float32


def test_the_cpu_is_described_with_its_threads():
    assert describe_device(CPU).startswith("cpu (")


@pytest.mark.parametrize("is_native", [True, False])
def test_auto_precision_is_bf16_on_a_cpu_only_with_native_bf16(monkeypatch, is_native):
    for check in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, check, lambda: is_native, raising=False)
    assert choose_precision("auto", CPU) == (torch.bfloat16 if is_native else torch.float32)


@pytest.mark.parametrize("memory", [0.0, -1.0, float("inf"), float("nan")])
def test_compute_memory_must_be_positive(memory):
    with pytest.raises(ConfigError, match="compute.memory = .* it must be a number above 0, auto or any"):
        ComputeConfig(memory=memory)


def test_cuda_graphs_need_a_gpu_in_bf16_with_triton(monkeypatch):
    monkeypatch.setattr("regard.training.device.find_spec", lambda name: name)
    gpu = torch.device("cuda")
    assert can_capture_cuda_graphs("auto", gpu, torch.bfloat16)
    assert not can_capture_cuda_graphs("no", gpu, torch.bfloat16)
    assert not can_capture_cuda_graphs("auto", gpu, torch.float32)
    assert not can_capture_cuda_graphs("auto", CPU, torch.bfloat16)
    monkeypatch.setattr("regard.training.device.find_spec", lambda _: None)
    assert not can_capture_cuda_graphs("auto", gpu, torch.bfloat16)
    with pytest.raises(ConfigError, match="it needs a GPU, bf16 and triton"):
        can_capture_cuda_graphs("yes", gpu, torch.bfloat16)

import pytest
import torch

from regard.errors import ConfigError
from regard.train.device import (
    ComputeConfig,
    autocast_to,
    can_capture_cuda_graphs,
    choose_device,
    choose_precision,
    describe_device,
)

CPU = torch.device("cpu")


def test_the_cpu_computes_in_fp32_and_a_gpu_in_bf16_unless_told():
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
    with autocast_to(torch.bfloat16, CPU):
        assert (x @ x).dtype == torch.bfloat16
    with autocast_to(torch.float32, CPU):
        assert (x @ x).dtype == torch.float32


def test_a_device_has_a_name_for_people():
    assert describe_device(CPU).startswith("cpu (")


@pytest.mark.parametrize("has_it", [True, False])
def test_a_cpu_computes_in_bf16_only_if_it_multiplies_it_itself(monkeypatch, has_it):
    for check in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, check, lambda: has_it, raising=False)
    assert choose_precision("auto", CPU) == (torch.bfloat16 if has_it else torch.float32)


@pytest.mark.parametrize("memory", [0.0, -1.0, float("inf"), float("nan")])
def test_memory_is_a_number_above_nothing(memory):
    with pytest.raises(ConfigError, match="compute.memory = .* it must be a number above 0, auto or any"):
        ComputeConfig(memory=memory)


def test_only_a_gpu_in_half_precision_plays_steps_back(monkeypatch):
    monkeypatch.setattr("regard.train.device.find_spec", lambda name: name)
    gpu = torch.device("cuda")
    assert can_capture_cuda_graphs("auto", gpu, torch.bfloat16)
    assert not can_capture_cuda_graphs("no", gpu, torch.bfloat16)
    assert not can_capture_cuda_graphs("auto", gpu, torch.float32)
    assert not can_capture_cuda_graphs("auto", CPU, torch.bfloat16)
    monkeypatch.setattr("regard.train.device.find_spec", lambda _: None)
    assert not can_capture_cuda_graphs("auto", gpu, torch.bfloat16)
    with pytest.raises(ConfigError, match="it takes a GPU, bf16 and triton"):
        can_capture_cuda_graphs("yes", gpu, torch.bfloat16)

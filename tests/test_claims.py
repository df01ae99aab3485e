"""The benchmarks of docs/claims.md run, and the page shows the stored results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from baseline_models import RecurrentBaseline, TransformerBaseline
from parameter_matching import count_parameters, match_parameter_count
from regard.model.config import ModelConfig
from residual_connections import remove_residuals
from run import CLAIMS
from training_speed import longest_dependency_chain
from update_page import PAGE, RESULTS, fill_page

ROOT = Path(__file__).parent.parent
SMALL = ModelConfig(
    vocab_size=50, d_model=32, heads=4, d_ff=64, encoder_layers=2, decoder_layers=2, dropout=0.0
)


def models():
    torch.manual_seed(0)
    return {name: build().eval() for name, build in match_parameter_count(SMALL).items()}


def test_every_claim_is_measured_and_plotted(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "benchmarks/claims/run.py"), "--quick"]
    process = subprocess.run([*command, "--out", str(tmp_path)], check=True, capture_output=True, text=True)
    results = json.loads((tmp_path / "cpu.json").read_text())
    assert list(results) == list(CLAIMS)
    assert all(f"## {name}\n\n| " in process.stdout for name in CLAIMS)
    assert all((tmp_path / f"{name}-cpu.svg").read_text().startswith("<svg") for name in CLAIMS)


def test_the_page_has_the_stored_results():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- cpu {name} 0 -->" in text for name in CLAIMS)
    assert fill_page(text, RESULTS) == text, "run python benchmarks/claims/update_page.py"


def test_baselines_have_the_parameter_count_of_the_transformer():
    config = ModelConfig(vocab_size=1000, d_model=256, heads=4, d_ff=1024, encoder_layers=2, decoder_layers=2)
    sizes = {name: count_parameters(build()) for name, build in match_parameter_count(config).items()}
    assert all(abs(size / sizes["Transformer"] - 1) < 0.05 for size in sizes.values()), sizes


@pytest.mark.parametrize("name", models())
def test_no_model_depends_on_later_target_tokens(name):
    model = models()[name]
    source, target = torch.arange(3, 10)[None], torch.arange(10, 18)[None]
    other = target.clone()
    other[0, 5] = 3
    before, after = model(source, target), model(source, other)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_decoding_step_by_step_equals_the_fused_layer(kind):
    """With zero weights for the fed input, the loop over steps computes what the fused layer does."""
    torch.manual_seed(0)
    fused, stepwise = RecurrentBaseline(kind, 20, 16), RecurrentBaseline(kind, 20, 16, input_feeding=True)
    weights = fused.state_dict()
    first = weights["decoder.weight_ih_l0"]
    weights["decoder.weight_ih_l0"] = torch.cat([first, torch.zeros_like(first)], dim=1)
    stepwise.load_state_dict(weights)
    source, target = torch.arange(3, 8)[None], torch.arange(8, 14)[None]
    torch.testing.assert_close(stepwise(source, target), fused(source, target))


def test_only_recurrent_chains_grow_with_the_length():
    chains = {
        name: [longest_dependency_chain(model, length, 50) for length in (4, 8)]
        for name, model in models().items()
    }
    assert {name for name, (short, long) in chains.items() if long == short} == {"Transformer", "convolution"}


def test_without_residuals_a_zero_sublayer_gives_zero():
    torch.manual_seed(0)
    model = TransformerBaseline(SMALL)
    layer = model.transformer.encoder.layers[0]
    for removed in (False, True):
        if removed:
            remove_residuals(model.transformer)
        out = layer.around_attention(torch.randn(1, 3, 32), torch.zeros_like)
        assert bool((out == 0).all()) == removed

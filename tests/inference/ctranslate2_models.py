"""Models and model folders for the tests of CTranslate2, and reference log-probabilities."""

from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from regard.checkpoint import write_folder_atomically
from regard.data.batch import pad_rows
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.text.tokenizer import BOS, EOS, PAD
from regard.training.weights import save_weights


def write_engine_folder(folder: Path, model: Transformer) -> Path:
    """Write the part of a model folder that the engine reads."""

    def fill(temporary: Path) -> dict[str, object]:
        save_weights(temporary, model)
        return {}

    write_folder_atomically(folder, fill, overwrite=True)
    return folder


@torch.no_grad()
def log_probability(model: Transformer, source: list[int], target: list[int]) -> float:
    """Return the log-probability of the target and its end mark, computed in one pass."""
    row = torch.tensor([[*source, EOS]])
    logits = model(row, row > 0, torch.tensor([[BOS, *target]]))[0]
    chosen = logits.log_softmax(dim=-1).gather(1, torch.tensor([*target, EOS])[:, None])
    return chosen.sum().item()


@torch.no_grad()
def with_larger_weights(model: Transformer) -> Transformer:
    """Double the weights, so that the probabilities of tokens differ more."""
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and "table" not in name:
            weight.mul_(2.0)
    return model.eval()


def random_sources(count: int, seed: int = 0) -> list[list[int]]:
    torch.manual_seed(seed)
    return [torch.randint(3, 23, (length,)).tolist() for length in torch.randint(1, 9, (count,)).tolist()]


def train_copy_model(config: ModelConfig) -> Transformer:
    """Return a model partly trained to copy: it ends its sentences, but is uncertain about their tokens."""
    torch.manual_seed(0)
    model = Transformer(config)
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(60):
        rows = random_sources(32, seed=step + 1)
        source = pad_rows([[*row, EOS] for row in rows])
        logits = model(source, source != PAD, pad_rows([[BOS, *row] for row in rows]))
        loss = cross_entropy(logits.flatten(0, 1), source.flatten(), ignore_index=PAD)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model.eval()

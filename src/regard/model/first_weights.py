"""Weights before the first step, of which the paper says nothing."""

from torch import nn


def first_weights(model: nn.Module, d_model: int) -> None:
    """Xavier for matrices, zero for biases, and embeddings that sqrt(d_model) scales to unit variance."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=d_model**-0.5)

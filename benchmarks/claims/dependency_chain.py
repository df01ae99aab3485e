"""How many operations of a step must wait for one another, whatever the hardware."""

import torch
from torch import Tensor, nn


def longest_dependency_chain(model: nn.Module, length: int, vocab: int) -> int:
    """Links of the longest chain in the graph that gradients go back through, for one pair of that length.

    In fp64, for which oneDNN has no LSTM that would hide its steps in one operation.
    """
    tokens = torch.arange(length)[None] % vocab
    return _graph_depth(model.double()(tokens, tokens).sum())


def _graph_depth(loss: Tensor) -> int:
    """Each operation after those it needs: it is one deeper than the deepest of them."""
    depth: dict[object, int] = {}
    open_nodes = [loss.grad_fn]
    while open_nodes:
        node = open_nodes[-1]
        below = [found for found, _ in node.next_functions if found is not None] if node else []
        missing = [found for found in below if found not in depth]
        if missing:
            open_nodes += missing
        else:
            depth[node] = 1 + max((depth[found] for found in below), default=0)
            open_nodes.pop()
    return depth[loss.grad_fn]

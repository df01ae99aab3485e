"""Words in another order: without positions an encoder sees the same words, and cannot tell."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import DataError
from regard.explorer.models import Model
from regard.model.transformer import Transformer, positions
from regard.model.visible import padded
from regard.text.tokenizer import EOS
from regard.trace.interventions import Positions
from regard.trace.request import LengthError
from regard.trace.tokens import Names
from regard.trace.what_if import changed


@torch.inference_mode()
def permuted(model: Model, text: str) -> dict[str, Any]:
    """The encoder's output for the words forwards and backwards, compared word by word and on average.

    The end mark stays last. Each difference is the largest of any dimension, after the order is undone.
    """
    (ids,) = model.tokenizer.tokenize([text.strip()])
    if not ids:
        raise DataError("the text is blank; type a few words")
    if len(ids) > model.transformer.longest:
        raise LengthError("the text", len(ids), model.transformer.longest)
    shown = list(map(Names(model.tokenizer).text, ids))
    without = changed(model.transformer, [Positions()])
    return {
        "orders": [shown, shown[::-1]],
        "with": _compared(model.transformer, ids),
        "without": _compared(without, ids),
    }


def _compared(transformer: Transformer, ids: list[int]) -> dict[str, Any]:
    forwards, backwards = _encoded(transformer, ids), _encoded(transformer, ids[::-1])
    undone = torch.cat([backwards[:-1].flip(0), backwards[-1:]])
    words = (forwards - undone).abs().amax(dim=1)
    mean = (forwards.mean(dim=0) - undone.mean(dim=0)).abs().max()
    return {"mean": float(mean), "words": words[:-1].tolist()}


def _encoded(transformer: Transformer, ids: list[int]) -> Float[Tensor, "length d_model"]:
    source = torch.tensor([[*ids, EOS]], device=transformer.device)
    keep = torch.ones_like(source, dtype=torch.bool)
    return transformer.encode(source, positions(source), padded(keep))[0]

"""What was found, as the page reads it."""

from typing import Any, Literal

from regard.explorer.models import Model
from regard.trace.embeddings import InTwoContexts
from regard.trace.pack import pack
from regard.trace.positions import Survival, tables
from regard.trace.tokens import Names

SAME = 1 - 1e-5
"""A cosine from which on two vectors are one, but for rounding."""
LAYOUTS = {"paper": "interleaved", "halves": "halves", "tensor2tensor": "t2t"}


def near(model: Model, word: str, count: int, side: Literal["source", "target"]) -> dict[str, Any]:
    """The word's own piece, if it is one, and its neighbours."""
    found = model.tracer.neighbours(word, count, side)
    (ids,) = model.tokenizer.tokenize([word.strip()])
    return {
        "piece": "".join(map(Names(model.tokenizer).piece, ids)),
        "id": ids[0] if len(ids) == 1 else None,
        "neighbours": [{"id": each.id, "text": each.piece, "cosine": each.cosine} for each in found],
    }


def alike(word: str, found: InTwoContexts) -> dict[str, Any]:
    """One word in two sentences: after the embedding (layer 0) and after each layer."""
    cosines = dict(zip(found.points, found.cosines, strict=True))
    ends = [cosines["embed"], *(value for point, value in cosines.items() if point.endswith(".ffn"))]
    return {
        "word": word,
        "embedding_equal": found.embedding >= SAME,
        "embedding": found.embedding,
        "layers": [{"layer": layer, "cosine": cosine} for layer, cosine in enumerate(ends)],
        "points": list(found.points),
        "cosines": list(found.cosines),
        "encoded": found.encoded,
        "places": list(found.places),
    }


def survived(found: dict[str, Survival]) -> dict[str, Any]:
    """Of each stack, point by point: the mean over its words, and each word."""
    return {
        stack: {
            "points": list(each.points),
            "mean": each.cosine.mean(axis=1).tolist(),
            "cosine": each.cosine.tolist(),
            "projection": each.projection.tolist(),
        }
        for stack, each in found.items()
    }


def positions(model: Model, length: int, width: int) -> dict[str, Any]:
    """The tables side by side; the model's own is one of them, or learnt, or none."""
    own = model.config.position
    learned = pack(model.tracer.positions(length), "f32") if own == "learned" else None
    found = {LAYOUTS[name]: pack(table, "f32") for name, table in tables(length, width).items()}
    return {"own": LAYOUTS.get(own, own), "tables": found, "learned": learned}

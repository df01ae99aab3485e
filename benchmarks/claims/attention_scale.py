"""D5: what do scores, softmax and gradients look like without the division by the root of d_k?"""

import math
from dataclasses import replace

import torch

from benchmark_setting import Found, Setting
from claim_task import Learning, learn
from regard.model.attention import attention_weights
from regard.model.config import ModelConfig
from regard.model.masks import EVERYTHING
from report_figures import Chart, chart, table
from synthetic_data import phrases
from transformer_baseline import Attentive

KEYS, QUERIES = 64, 512
SCALES = {"with": None, "without": 1.0}
CONFIG = ModelConfig(d_model=128, heads=1, d_ff=256, encoder_layers=2, decoder_layers=2, dropout=0.0)


def measure(setting: Setting) -> Found:
    widths = setting.choose((4, 16, 64, 256, 1024), (4, 64))
    found: Found = {"d_k": list(widths), "keys": KEYS}
    for name, scale in SCALES.items():
        rows = [softmax_at(width, scale) for width in widths]
        found[name] = {column: [row[column] for row in rows] for column in rows[0]}
    book = phrases(setting.choose(20_000, 200))
    found["training"] = {}
    for d_k in setting.choose((64, 512), (16,)):
        for name, scale in SCALES.items():
            torch.manual_seed(1)
            config = replace(CONFIG, vocab_size=book.vocab, d_k=d_k, attention_scale=scale)
            task = Learning(Attentive(config), book.draw, book.valid, setting.device)
            lesson = learn(task, setting.choose(400, 3), peak=3e-3)
            found["training"][f"{d_k}, {name}"] = {
                "loss": lesson.loss,
                "accuracy": lesson.accuracy,
                "curve": lesson.curve,
            }
    return found


def softmax_at(width: int, scale: float | None) -> dict[str, float]:
    """Queries and keys of unit variance, as at the start of a training: medians over many queries."""
    generator = torch.Generator().manual_seed(width)
    query, key = (torch.randn(1, 1, n, width, generator=generator) for n in (QUERIES, KEYS))
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(width) if scale is None else scale)
    scores.requires_grad_()
    query.requires_grad_()
    weights = attention_weights(query, key, EVERYTHING, scale)[0, 0]
    value = torch.randn(KEYS, generator=generator)
    (by_score,) = torch.autograd.grad((scores[0, 0].softmax(-1) @ value).sum(), scores)
    (by_query,) = torch.autograd.grad((weights @ value).sum(), query)
    entropy = -(weights.detach() * weights.detach().clamp(min=1e-30).log()).sum(-1)
    return {
        "scores": float(scores.detach().std()),
        "largest": float(weights.detach().amax(-1).median()),
        "entropy": float(entropy.median() / math.log(KEYS)),
        "by_score": float(by_score.norm(dim=-1).median()),
        "by_query": float(by_query.norm(dim=-1).median()),
    }


def tables(found: Found) -> list[str]:
    columns = {
        "scores": "spread of scores",
        "largest": "largest weight",
        "entropy": "entropy, of ln 64",
        "by_score": "gradient at the scores",
        "by_query": "gradient at the query",
    }
    rows = [
        [f"d_k = {width}, {name} the scale", *(f"{found[name][column][place]:.3g}" for column in columns)]
        for place, width in enumerate(found["d_k"])
        for name in SCALES
    ]
    trained = [
        [f"d_k = {name} the scale", f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"]
        for name, row in found["training"].items()
    ]
    return [
        table(["", *columns.values()], rows),
        table(["phrasebook, one head", "validation loss", "right pieces, %"], trained),
    ]


def charts(found: Found) -> list[Chart]:
    widths = [math.log2(width) for width in found["d_k"]]
    gradients = {
        f"{name} the scale": [math.log10(each) for each in found[name]["by_score"]] for name in SCALES
    }
    curves = {name: [loss for _, loss in row["curve"]] for name, row in found["training"].items()}
    steps = [step for step, _ in next(iter(found["training"].values()))["curve"]]
    return [
        chart(
            "saturation",
            "Gradient at the scores, power of ten",
            "d_k, power of two",
            widths,
            gradients,
            False,
        ),
        chart("unscaled", "Training loss: d_k, scale", "step", steps, curves),
    ]

"""D5: scores, softmax and gradients of attention without the division by the square root of d_k."""

import math
from dataclasses import replace

import torch

from baseline_models import TransformerBaseline
from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from regard.model.attention import attention_weights
from regard.model.config import ModelConfig
from regard.model.masks import NO_MASK
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import phrasebook_batches

KEYS, QUERIES = 64, 512
SCALES = {"with": None, "without": 1.0}
CONFIG = ModelConfig(d_model=128, heads=1, d_ff=256, encoder_layers=2, decoder_layers=2, dropout=0.0)


def measure(setting: BenchmarkSetting) -> Measurements:
    widths = setting.pick((4, 16, 64, 256, 1024), (4, 64))
    results: Measurements = {"d_k": list(widths), "keys": KEYS}
    for name, scale in SCALES.items():
        rows = [softmax_statistics(width, scale) for width in widths]
        results[name] = {column: [row[column] for row in rows] for column in rows[0]}
    book = phrasebook_batches(setting.pick(20_000, 200))
    results["training"] = {}
    for d_k in setting.pick((64, 512), (16,)):
        for name, scale in SCALES.items():
            torch.manual_seed(1)
            config = replace(CONFIG, vocab_size=book.vocab, d_k=d_k, attention_scale=scale)
            task = ClaimTask(TransformerBaseline(config), book.training_batch, book.valid, setting.device)
            training = train_claim_model(task, setting.pick(400, 3), peak=3e-3)
            results["training"][f"{d_k}, {name}"] = {
                "loss": training.loss,
                "accuracy": training.accuracy,
                "curve": training.curve,
            }
    return results


def softmax_statistics(width: int, scale: float | None) -> dict[str, float]:
    """Return medians over many queries; queries and keys have unit variance, as before training."""
    generator = torch.Generator().manual_seed(width)
    query, key = (torch.randn(1, 1, n, width, generator=generator) for n in (QUERIES, KEYS))
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(width) if scale is None else scale)
    scores.requires_grad_()
    query.requires_grad_()
    weights = attention_weights(query, key, NO_MASK, scale)[0, 0]
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


def tables(results: Measurements) -> list[str]:
    columns = {
        "scores": "standard deviation of scores",
        "largest": "largest weight",
        "entropy": "entropy / ln 64",
        "by_score": "gradient at the scores",
        "by_query": "gradient at the query",
    }
    rows = [
        [f"d_k = {width}, {name} the scale", *(f"{results[name][column][place]:.3g}" for column in columns)]
        for place, width in enumerate(results["d_k"])
        for name in SCALES
    ]
    trained = [
        [f"d_k = {name} the scale", f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"]
        for name, row in results["training"].items()
    ]
    return [
        markdown_table(["", *columns.values()], rows),
        markdown_table(["phrasebook, one head", "validation loss", "token accuracy, %"], trained),
    ]


def charts(results: Measurements) -> list[LineChart]:
    widths = [math.log2(width) for width in results["d_k"]]
    gradients = {
        f"{name} the scale": [math.log10(each) for each in results[name]["by_score"]] for name in SCALES
    }
    curves = {name: [loss for _, loss in row["curve"]] for name, row in results["training"].items()}
    steps = [step for step, _ in next(iter(results["training"].values()))["curve"]]
    return [
        line_chart(
            "saturation",
            "Gradient at the scores, log10",
            "log2 d_k",
            widths,
            gradients,
            False,
        ),
        line_chart("unscaled", "Training loss: d_k, scale", "step", steps, curves),
    ]

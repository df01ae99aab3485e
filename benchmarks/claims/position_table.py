"""C1: what can be learnt without positions, and what cannot?"""

from dataclasses import replace

import torch

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from regard.model.config import ModelConfig
from regard.model.masks import NO_MASK
from regard.model.transformer import Transformer, position_ids
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import FIRST_SYMBOL, phrasebook_batches, reversal_batch, seeded_batches
from transformer_baseline import TransformerBaseline

KINDS, LENGTH = 16, 8
CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
TABLES = {"with": "paper", "without": "none"}


def measure(setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    found: Measurements = {"class_token": {}, "training": {}}
    for name, position in TABLES.items():
        config = replace(CONFIG, position=position)
        found["class_token"][name] = class_token_difference(replace(config, vocab_size=FIRST_SYMBOL + 4))
        reversing = ClaimTask(
            _model(replace(config, vocab_size=FIRST_SYMBOL + KINDS)),
            seeded_batches(lambda seed: reversal_batch(64, LENGTH, KINDS, seed), 1),
            [reversal_batch(256, LENGTH, KINDS, 0)],
            setting.device,
        )
        translating = ClaimTask(
            _model(replace(config, vocab_size=book.vocab)), book.training_batch, book.valid, setting.device
        )
        plans = (("reversal", reversing, 500, 2e-3), ("phrasebook", translating, 1000, 6e-3))
        for what, task, steps, peak in plans:
            lesson = train_claim_model(task, setting.pick(steps, 3), peak)
            found["training"][f"{what}, {name} positions"] = {
                "loss": lesson.loss,
                "accuracy": lesson.accuracy,
                "curve": lesson.curve,
            }
    return found


def class_token_difference(config: ModelConfig) -> float:
    """How far apart are "Qian kill you" and "you kill Qian", read at a class token before them?"""
    torch.manual_seed(1)
    model = Transformer(config).eval()
    token, qian, kill, you = range(FIRST_SYMBOL, FIRST_SYMBOL + 4)
    both = torch.tensor([[token, qian, kill, you], [token, you, kill, qian]])
    with torch.no_grad():
        one, other = model.encode(both, position_ids(both), NO_MASK)[:, 0]
    return float((one - other).abs().max())


def tables(found: Measurements) -> list[str]:
    told = [[f"{name} positions", f"{value:.1g}"] for name, value in found["class_token"].items()]
    trained = [
        [name, f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"]
        for name, row in found["training"].items()
    ]
    return [
        markdown_table(['"Qian kill you" against "you kill Qian"', "difference at the class token"], told),
        markdown_table(["", "validation loss", "right tokens, %"], trained),
    ]


def charts(found: Measurements) -> list[LineChart]:
    return [_chart(found["training"], what) for what in ("reversal", "phrasebook")]


def _chart(training: Measurements, what: str) -> LineChart:
    lines = {f"{name} positions": training[f"{what}, {name} positions"]["curve"] for name in TABLES}
    steps = [step for step, _ in lines["with positions"]]
    losses = {name: [loss for _, loss in curve] for name, curve in lines.items()}
    return line_chart(what, f"Training loss, {what}", "step", steps, losses)


def _model(config: ModelConfig) -> TransformerBaseline:
    torch.manual_seed(1)
    return TransformerBaseline(config)

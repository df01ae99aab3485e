"""C1: what can be learned without positional encoding, and what cannot?"""

from dataclasses import replace

import torch

from baseline_models import TransformerBaseline
from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from regard.model.config import ModelConfig
from regard.model.masks import NO_MASK
from regard.model.transformer import Transformer, position_ids
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import FIRST_SYMBOL, phrasebook_batches, reversal_batch, seeded_batches

KINDS, LENGTH = 16, 8
CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
TABLES = {"with": "paper", "without": "none"}


def measure(setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    results: Measurements = {"class_token": {}, "training": {}}
    for name, position in TABLES.items():
        config = replace(CONFIG, position=position)
        results["class_token"][name] = class_token_difference(replace(config, vocab_size=FIRST_SYMBOL + 4))
        reversing = ClaimTask(
            _model(replace(config, vocab_size=FIRST_SYMBOL + KINDS)),
            seeded_batches(lambda seed: reversal_batch(64, LENGTH, KINDS, seed), 1),
            [reversal_batch(256, LENGTH, KINDS, 0)],
            setting.device,
        )
        translating = ClaimTask(
            _model(replace(config, vocab_size=book.vocab)), book.training_batch, book.valid, setting.device
        )
        trainings = (("reversal", reversing, 500, 2e-3), ("phrasebook", translating, 1000, 6e-3))
        for corpus, task, steps, peak in trainings:
            training = train_claim_model(task, setting.pick(steps, 3), peak)
            results["training"][f"{corpus}, {name} positions"] = {
                "loss": training.loss,
                "accuracy": training.accuracy,
                "curve": training.curve,
            }
    return results


def class_token_difference(config: ModelConfig) -> float:
    """Return the difference of "Qian kill you" and "you kill Qian" at a class token before them."""
    torch.manual_seed(1)
    model = Transformer(config).eval()
    token, qian, kill, you = range(FIRST_SYMBOL, FIRST_SYMBOL + 4)
    both = torch.tensor([[token, qian, kill, you], [token, you, kill, qian]])
    with torch.no_grad():
        one, other = model.encode(both, position_ids(both), NO_MASK)[:, 0]
    return float((one - other).abs().max())


def tables(results: Measurements) -> list[str]:
    class_token_rows = [
        [f"{name} positions", f"{value:.1g}"] for name, value in results["class_token"].items()
    ]
    training_rows = [
        [name, f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"]
        for name, row in results["training"].items()
    ]
    return [
        markdown_table(
            ['"Qian kill you" against "you kill Qian"', "difference at the class token"], class_token_rows
        ),
        markdown_table(["", "validation loss", "token accuracy, %"], training_rows),
    ]


def charts(results: Measurements) -> list[LineChart]:
    return [_chart(results["training"], corpus) for corpus in ("reversal", "phrasebook")]


def _chart(training: Measurements, corpus: str) -> LineChart:
    lines = {f"{name} positions": training[f"{corpus}, {name} positions"]["curve"] for name in TABLES}
    steps = [step for step, _ in lines["with positions"]]
    losses = {name: [loss for _, loss in curve] for name, curve in lines.items()}
    return line_chart(corpus, f"Training loss, {corpus}", "step", steps, losses)


def _model(config: ModelConfig) -> TransformerBaseline:
    torch.manual_seed(1)
    return TransformerBaseline(config)

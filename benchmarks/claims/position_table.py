"""C1: what can be learnt without positions, and what cannot?"""

from dataclasses import replace

import torch

from benchmark_setting import Found, Setting
from claim_task import Learning, learn
from regard.model.config import ModelConfig
from regard.model.masks import EVERYTHING
from regard.model.transformer import Transformer, positions
from report_figures import Chart, chart, table
from synthetic_data import FIRST, phrases, reversal, seeded
from transformer_baseline import Attentive

KINDS, LENGTH = 16, 8
CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
TABLES = {"with": "paper", "without": "none"}


def measure(setting: Setting) -> Found:
    book = phrases(setting.choose(20_000, 200))
    found: Found = {"class_token": {}, "training": {}}
    for name, position in TABLES.items():
        config = replace(CONFIG, position=position)
        found["class_token"][name] = class_token_differs(replace(config, vocab_size=FIRST + 4))
        reversing = Learning(
            _model(replace(config, vocab_size=FIRST + KINDS)),
            seeded(lambda seed: reversal(64, LENGTH, KINDS, seed), 1),
            [reversal(256, LENGTH, KINDS, 0)],
            setting.device,
        )
        translating = Learning(
            _model(replace(config, vocab_size=book.vocab)), book.draw, book.valid, setting.device
        )
        plans = (("reversal", reversing, 500, 2e-3), ("phrasebook", translating, 1000, 6e-3))
        for what, task, steps, peak in plans:
            lesson = learn(task, setting.choose(steps, 3), peak)
            found["training"][f"{what}, {name} positions"] = {
                "loss": lesson.loss,
                "accuracy": lesson.accuracy,
                "curve": lesson.curve,
            }
    return found


def class_token_differs(config: ModelConfig) -> float:
    """How far apart are "Qian kill you" and "you kill Qian", read at a class token before them?"""
    torch.manual_seed(1)
    model = Transformer(config).eval()
    token, qian, kill, you = range(FIRST, FIRST + 4)
    both = torch.tensor([[token, qian, kill, you], [token, you, kill, qian]])
    with torch.no_grad():
        one, other = model.encode(both, positions(both), EVERYTHING)[:, 0]
    return float((one - other).abs().max())


def tables(found: Found) -> list[str]:
    told = [[f"{name} positions", f"{value:.1g}"] for name, value in found["class_token"].items()]
    trained = [
        [name, f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"]
        for name, row in found["training"].items()
    ]
    return [
        table(['"Qian kill you" against "you kill Qian"', "difference at the class token"], told),
        table(["", "validation loss", "right tokens, %"], trained),
    ]


def charts(found: Found) -> list[Chart]:
    return [_chart(found["training"], what) for what in ("reversal", "phrasebook")]


def _chart(training: Found, what: str) -> Chart:
    lines = {f"{name} positions": training[f"{what}, {name} positions"]["curve"] for name in TABLES}
    steps = [step for step, _ in lines["with positions"]]
    losses = {name: [loss for _, loss in curve] for name, curve in lines.items()}
    return chart(what, f"Training loss, {what}", "step", steps, losses)


def _model(config: ModelConfig) -> Attentive:
    torch.manual_seed(1)
    return Attentive(config)

"""F10: what can be learnt with weights made from the input, and what with weights that stay as they are?"""

import torch

from benchmark_setting import Found, Setting
from claim_task import Learning, learn
from mixing_model import Kind, Mixing
from parameter_matching import parameters
from pointer_tasks import ANSWERS, LENGTH, VOCAB, away, pointed
from regard.model.config import ModelConfig
from report_figures import Chart, chart, table
from synthetic_data import seeded

CONFIG = ModelConfig(vocab_size=VOCAB, d_model=64, heads=4, d_ff=128, dropout=0.0)
KINDS: tuple[Kind, ...] = ("attention", "linear", "convolution")
TASKS = {
    "two words before": lambda rows, seed: away(rows, 2, seed),
    "six words before": lambda rows, seed: away(rows, 6, seed),
    "where it points": pointed,
}


def measure(setting: Setting) -> Found:
    found: Found = {"tasks": list(TASKS), "mixers": {}}
    for kind in KINDS:
        right, curves, change, count = [], [], 0.0, 0
        for make in TASKS.values():
            torch.manual_seed(1)
            model = Mixing(CONFIG, LENGTH, ANSWERS, kind)
            draw = seeded(lambda seed, make=make: make(64, seed), 1)
            lesson = learn(Learning(model, draw, [make(256, 0)], setting.device), setting.choose(800, 3))
            right.append(lesson.accuracy)
            curves.append(lesson.curve)
            change, count = changes(model, setting), parameters(model)
        found["mixers"][kind] = {"parameters": count, "accuracy": right, "change": change, "curves": curves}
    return found


def changes(model: Mixing, setting: Setting) -> float:
    """The most that a weight differs between two sentences."""
    one, other = model.weights(pointed(2, 1).source.to(setting.device))
    return float((one - other).abs().max())


def tables(found: Found) -> list[str]:
    rows = [
        [
            name,
            *(f"{100 * each:.0f}" for each in row["accuracy"]),
            f"{row['change']:.2f}",
            f"{row['parameters']:,}",
        ]
        for name, row in found["mixers"].items()
    ]
    titles = ["right answers, %", *found["tasks"], "change of weights", "parameters"]
    return [table(titles, rows)]


def charts(found: Found) -> list[Chart]:
    mixers = found["mixers"]
    steps = [step for step, _ in mixers["attention"]["curves"][0]]
    return [
        chart(
            f"task-{place}",
            f"Training loss: {task}",
            "step",
            steps,
            {name: [loss for _, loss in row["curves"][place]] for name, row in mixers.items()},
        )
        for place, task in enumerate(found["tasks"])
    ]

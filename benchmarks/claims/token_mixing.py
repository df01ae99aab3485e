"""F10: what can be learned with attention weights, and what with fixed mixing weights?"""

import torch

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from mixing_model import MixerKind, MixingModel
from parameter_matching import count_parameters
from pointer_tasks import ANSWERS, LENGTH, VOCAB, symbol_at_distance, symbol_at_pointer
from regard.model.config import ModelConfig
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import seeded_batches

CONFIG = ModelConfig(vocab_size=VOCAB, d_model=64, heads=4, d_ff=128, dropout=0.0)
KINDS: tuple[MixerKind, ...] = ("attention", "linear", "convolution")
TASKS = {
    "two words before": lambda rows, seed: symbol_at_distance(rows, 2, seed),
    "six words before": lambda rows, seed: symbol_at_distance(rows, 6, seed),
    "where it points": symbol_at_pointer,
}


def measure(setting: BenchmarkSetting) -> Measurements:
    results: Measurements = {"tasks": list(TASKS), "mixers": {}}
    for kind in KINDS:
        accuracies, curves, weight_change, count = [], [], 0.0, 0
        for make in TASKS.values():
            torch.manual_seed(1)
            model = MixingModel(CONFIG, LENGTH, ANSWERS, kind)
            draw = seeded_batches(lambda seed, make=make: make(64, seed), 1)
            training = train_claim_model(
                ClaimTask(model, draw, [make(256, 0)], setting.device), setting.pick(800, 3)
            )
            accuracies.append(training.accuracy)
            curves.append(training.curve)
            weight_change, count = max_weight_change(model, setting), count_parameters(model)
        results["mixers"][kind] = {
            "parameters": count,
            "accuracy": accuracies,
            "change": weight_change,
            "curves": curves,
        }
    return results


def max_weight_change(model: MixingModel, setting: BenchmarkSetting) -> float:
    """Return the largest difference of a mixing weight between two inputs."""
    one, other = model.weights(symbol_at_pointer(2, 1).source.to(setting.device))
    return float((one - other).abs().max())


def tables(results: Measurements) -> list[str]:
    rows = [
        [
            name,
            *(f"{100 * each:.0f}" for each in row["accuracy"]),
            f"{row['change']:.2f}",
            f"{row['parameters']:,}",
        ]
        for name, row in results["mixers"].items()
    ]
    titles = ["accuracy, %", *results["tasks"], "change of weights", "parameters"]
    return [markdown_table(titles, rows)]


def charts(results: Measurements) -> list[LineChart]:
    mixers = results["mixers"]
    steps = [step for step, _ in mixers["attention"]["curves"][0]]
    return [
        line_chart(
            f"task-{place}",
            f"Training loss: {task}",
            "step",
            steps,
            {name: [loss for _, loss in row["curves"][place]] for name, row in mixers.items()},
        )
        for place, task in enumerate(results["tasks"])
    ]

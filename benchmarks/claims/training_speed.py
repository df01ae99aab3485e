"""I1, I3, I4, A5: how fast does each model train, and what does the length of the sentences do to it?

Models of like size take turns at one step of the loop (forward, backward, Adam) on as many tokens
in shorter or longer sentences; the best turn counts. Without padding, without dropout, in fp32 (TF32
on a GPU, for all of them), each operation by itself: nothing is compiled or captured.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import CLIP, ClaimTask
from dependency_chain import longest_dependency_chain
from parameter_matching import (
    baseline_builders,
    build_on_meta_device,
    count_parameters,
    match_parameter_count,
)
from regard.model.config import ModelConfig
from regard.train.optimizer import OptimizerConfig, build_optimizer
from regard.train.step import EagerStep, Learner
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import copy_batch, seeded_batches
from transformer_baseline import TransformerBaseline

SMALL = ModelConfig(
    vocab_size=1000, d_model=256, heads=4, d_ff=1024, encoder_layers=2, decoder_layers=2, dropout=0.0
)
LARGE = ModelConfig(
    vocab_size=8000,
    d_model=512,
    heads=8,
    d_ff=2048,
    encoder_layers=3,
    decoder_layers=3,
    dropout=0.0,
    max_length=2048,
)
CHAINS = (8, 64)
SAME_WIDTH = 256
RATE = 1e-4


def measure(setting: BenchmarkSetting) -> Measurements:
    config, tokens, lengths = _trial_sizes(setting)
    builds = match_parameter_count(config)
    tasks = {}
    for name, build in builds.items():
        torch.manual_seed(1)
        tasks[name] = _SpeedTrial(build(), setting)
    seconds = {name: [float("inf")] * len(lengths) for name in tasks}
    for _ in range(1 + setting.pick(4, 1)):  # the first turn is the warm-up: later ones beat it
        for place, length in enumerate(lengths):
            for name, task in tasks.items():
                seconds[name][place] = min(seconds[name][place], task.step(tokens // length, length))
    speed = {name: [round(2 * tokens / each) for each in some] for name, some in seconds.items()}
    small = {name: build() for name, build in match_parameter_count(_tiny_config(config)).items()}
    return {
        "tokens_a_step": 2 * tokens,
        "lengths": list(lengths),
        "parameters": {name: count_parameters(task.model) for name, task in tasks.items()},
        "parameters_at_one_width": _at_one_width(config),
        "tokens_per_second": speed,
        "chain": {
            name: [longest_dependency_chain(model, length, 100) for length in CHAINS]
            for name, model in small.items()
        },
    }


def tables(found: Measurements) -> list[str]:
    lengths, speed = found["lengths"], found["tokens_per_second"]
    ours = speed["Transformer"]
    return [
        markdown_table(
            ["tokens per second, by sentence length", *map(str, lengths), "parameters"],
            [
                [name, *(f"{each:,}" for each in speed[name]), f"{found['parameters'][name]:,}"]
                for name in speed
            ],
        ),
        markdown_table(
            ["Transformer's speed over theirs, by length", *map(str, lengths)],
            [[name, *_ratios(ours, theirs)] for name, theirs in speed.items() if name != "Transformer"],
        ),
        markdown_table(
            ["operations in a row, by length", *map(str, CHAINS), f"parameters at width {SAME_WIDTH}"],
            [
                [name, *(f"{each:,}" for each in chain), f"{found['parameters_at_one_width'][name]:,}"]
                for name, chain in found["chain"].items()
            ],
        ),
    ]


def charts(found: Measurements) -> list[LineChart]:
    speed, ours = found["tokens_per_second"], found["tokens_per_second"]["Transformer"]
    ratios = {
        name: [each / other for each, other in zip(ours, theirs, strict=True)]
        for name, theirs in speed.items()
    }
    return [
        line_chart("speed", "Training, tokens per second", "words in a sentence", found["lengths"], speed),
        line_chart(
            "ratio", "Speed of the Transformer over theirs", "words in a sentence", found["lengths"], ratios
        ),
    ]


class _SpeedTrial:
    """One model with its optimizer, ready for another step."""

    def __init__(self, model: torch.nn.Module, setting: BenchmarkSetting) -> None:
        self.model = model.to(setting.device).train()
        self._setting = setting
        self._learner = Learner(model, build_optimizer(model, OptimizerConfig()))
        self._steps = 0

    def step(self, rows: int, length: int) -> float:
        """Seconds of one step."""
        draw = seeded_batches(lambda seed: copy_batch(rows, length, 900, seed), self._steps)
        task = ClaimTask(self.model, draw, [], self._setting.device)
        batch = draw(0).to(self._setting.device)
        step = EagerStep(task, self._learner, 1, CLIP)
        self._steps += 1
        self._setting.synchronize()
        began = self._setting.seconds()
        step(self._steps, [batch], RATE)
        self._setting.synchronize()
        return self._setting.seconds() - began


def _trial_sizes(setting: BenchmarkSetting) -> tuple[ModelConfig, int, Sequence[int]]:
    """The model, the tokens on each side of a step, the lengths of sentences."""
    if setting.quick:
        return _tiny_config(SMALL), 64, (8, 16)
    if setting.on_gpu:
        return LARGE, 16384, (16, 32, 64, 128, 256, 512, 1024)
    return SMALL, 1024, (8, 16, 32, 64, 128, 256)


def _tiny_config(config: ModelConfig) -> ModelConfig:
    """Narrow, as deep: a chain is no shorter for it."""
    layers = config.encoder_layers
    return ModelConfig(
        vocab_size=1000,
        d_model=32,
        heads=4,
        d_ff=64,
        encoder_layers=layers,
        decoder_layers=layers,
        dropout=0.0,
    )


def _at_one_width(config: ModelConfig) -> dict[str, int]:
    wide = replace(config, d_model=SAME_WIDTH, d_ff=4 * SAME_WIDTH)
    builds = {"Transformer": lambda _: TransformerBaseline(wide), **baseline_builders(wide)}
    return {
        name: count_parameters(build_on_meta_device(lambda build=build: build(SAME_WIDTH)))
        for name, build in builds.items()
    }


def _ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[str]:
    return [f"{each / other:.2f}" for each, other in zip(ours, theirs, strict=True)]

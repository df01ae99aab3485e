"""I1, I3, I4, A5: training speed of each model by sentence length, and its longest chain of operations.

Models of like size alternate at one training step (forward, backward, Adam) on the same number of tokens in
shorter or longer sentences; the fastest step counts. No padding, no dropout, fp32 (TF32 on a GPU), nothing
compiled or captured.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from baseline_models import TransformerBaseline
from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import CLIP, ClaimTask
from parameter_matching import (
    baseline_builders,
    build_on_meta_device,
    count_parameters,
    match_parameter_count,
)
from regard.model.config import ModelConfig
from regard.training.optimizer import OptimizerConfig, build_optimizer
from regard.training.step import EagerStep, Learner
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import copy_batch, seeded_batches

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
    for _ in range(1 + setting.pick(4, 1)):  # the first round is the warm-up
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


def tables(results: Measurements) -> list[str]:
    lengths, speed = results["lengths"], results["tokens_per_second"]
    ours = speed["Transformer"]
    return [
        markdown_table(
            ["tokens per second, by sentence length", *map(str, lengths), "parameters"],
            [
                [name, *(f"{each:,}" for each in speed[name]), f"{results['parameters'][name]:,}"]
                for name in speed
            ],
        ),
        markdown_table(
            ["speed of the Transformer relative to each, by length", *map(str, lengths)],
            [[name, *_ratios(ours, theirs)] for name, theirs in speed.items() if name != "Transformer"],
        ),
        markdown_table(
            [
                "longest chain of operations, by length",
                *map(str, CHAINS),
                f"parameters at width {SAME_WIDTH}",
            ],
            [
                [name, *(f"{each:,}" for each in chain), f"{results['parameters_at_one_width'][name]:,}"]
                for name, chain in results["chain"].items()
            ],
        ),
    ]


def charts(results: Measurements) -> list[LineChart]:
    speed, ours = results["tokens_per_second"], results["tokens_per_second"]["Transformer"]
    ratios = {
        name: [each / other for each, other in zip(ours, theirs, strict=True)]
        for name, theirs in speed.items()
    }
    return [
        line_chart("speed", "Training, tokens per second", "words in a sentence", results["lengths"], speed),
        line_chart(
            "ratio",
            "Speed of the Transformer relative to each",
            "words in a sentence",
            results["lengths"],
            ratios,
        ),
    ]


class _SpeedTrial:
    """One model with its optimizer, ready for a training step."""

    def __init__(self, model: torch.nn.Module, setting: BenchmarkSetting) -> None:
        self.model = model.to(setting.device).train()
        self._setting = setting
        self._learner = Learner(model, build_optimizer(model, OptimizerConfig()))
        self._steps = 0

    def step(self, rows: int, length: int) -> float:
        """Return the seconds of one training step."""
        draw = seeded_batches(lambda seed: copy_batch(rows, length, 900, seed), self._steps)
        task = ClaimTask(self.model, draw, [], self._setting.device)
        batch = draw(0).to(self._setting.device)
        step = EagerStep(task, self._learner, 1, CLIP)
        self._steps += 1
        self._setting.synchronize()
        start = self._setting.seconds()
        step(self._steps, [batch], RATE)
        self._setting.synchronize()
        return self._setting.seconds() - start


def _trial_sizes(setting: BenchmarkSetting) -> tuple[ModelConfig, int, Sequence[int]]:
    """Return the model, the tokens per side and step, and the sentence lengths."""
    if setting.quick:
        return _tiny_config(SMALL), 64, (8, 16)
    if setting.on_gpu:
        return LARGE, 16384, (16, 32, 64, 128, 256, 512, 1024)
    return SMALL, 1024, (8, 16, 32, 64, 128, 256)


def _tiny_config(config: ModelConfig) -> ModelConfig:
    """Return a narrow configuration of the same depth, which has the same chain of operations."""
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


def longest_dependency_chain(model: nn.Module, length: int, vocab: int) -> int:
    """Return the length of the longest path in the autograd graph, for one pair of that length.

    In fp64, for which oneDNN has no LSTM that would hide its steps in one operation.
    """
    tokens = torch.arange(length)[None] % vocab
    return _graph_depth(model.double()(tokens, tokens).sum())


def _graph_depth(loss: Tensor) -> int:
    """Return the depth of the graph: a node is one deeper than the deepest node it needs."""
    depth: dict[object, int] = {}
    open_nodes = [loss.grad_fn]
    while open_nodes:
        node = open_nodes[-1]
        inputs = [parent for parent, _ in node.next_functions if parent is not None] if node else []
        missing = [parent for parent in inputs if parent not in depth]
        if missing:
            open_nodes += missing
        else:
            depth[node] = 1 + max((depth[parent] for parent in inputs), default=0)
            open_nodes.pop()
    return depth[loss.grad_fn]

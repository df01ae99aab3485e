"""Automatic settings of a translation run: model size, length and learning rate for a corpus and device.

Small corpora get small models, many epochs and strong regularization; large ones the paper's base model. On a
CPU the work is limited to one or two hours. docs/small-corpora.md has the measurements behind the numbers.
"""

import math
from dataclasses import dataclass, replace

import torch
from rich.console import Console

from regard.data.config import DataConfig
from regard.model.config import BASE, SMALL, TINY, ModelConfig
from regard.training.device import choose_device
from regard.training.loop import TrainConfig
from regard.training.loss import LossConfig
from regard.training.optimizer import OptimizerConfig
from regard.training.schedule import LONG_EMA_DECAY, LONG_EMA_MIN_STEPS, SHORT_EMA_DECAY, VALIDATIONS
from regard.translation.corpus import measure_training_files
from regard.translation.run import TranslationRun

BYTES_PER_TARGET_TOKEN = 5
"""Of text; an estimate, since there is no tokenizer yet."""


@dataclass(frozen=True)
class TranslationPreset:
    """Settings for corpora of up to `max_target_tokens`."""

    name: str
    max_target_tokens: float
    model: ModelConfig
    peak: float
    batch_tokens: int
    epochs: int
    rdrop: float = 0.0
    """On a GPU only, as it doubles the work."""


PRE_NORM_BASE = replace(BASE, norm="pre")
"""The paper's base model with pre-norm: with post-norm it learned nothing after a short warm-up."""
TRANSLATION_PRESETS = (
    TranslationPreset(
        "tiny", 1e6, replace(TINY, dropout=0.2), peak=0.005, batch_tokens=8192, epochs=100, rdrop=5.0
    ),
    TranslationPreset(
        "small",
        3e6,
        replace(SMALL, encoder_layers=4, decoder_layers=4, dropout=0.2),
        peak=0.002,
        batch_tokens=8192,
        epochs=20,
        rdrop=3.0,
    ),
    TranslationPreset(
        "base", 3e7, replace(PRE_NORM_BASE, dropout=0.3), peak=0.001, batch_tokens=16_384, epochs=12
    ),
    TranslationPreset("base", math.inf, PRE_NORM_BASE, peak=0.001, batch_tokens=25_000, epochs=10),
)
LARGEST_CPU_PRESET = 1
"""Index in `TRANSLATION_PRESETS`: a larger model would train for days on a CPU."""
CPU_TRAINING_BATCH_TOKENS, CPU_TRAINING_TOKENS = 4096, 25e6
"""On two cores about half an hour of training for the tiny model, one and a half for the small one."""
CPU_TOKENS_PER_MINUTE = {"tiny": 400_000, "small": 130_000}
"""Of one core, by preset; an estimate that only decides the batches of a training with a limit of time."""
MIN_BATCH_TOKENS, MIN_BATCHES_PER_EPOCH = 512, 40
SHORT_EPOCHS = 5
"""A training limited to fewer passes over the corpus has no dropout: it underfits."""
LIMITED_STEPS = 2000
"""A training limited to little text gets so many steps, of smaller batches: few large ones learn less."""
VOCABULARY_SIZES = (1000, 2000, 4000, 8000, 10_000, 16_000, 32_000)
TOKENS_PER_VOCABULARY_ENTRY = 40
"""Average occurrences of a vocabulary entry, so that each is seen often enough to be learned."""
MIN_TRANSLATION_STEPS, MAX_TRANSLATION_STEPS = 1000, 100_000


@dataclass(frozen=True)
class TranslationAutoconfig:
    """Automatic settings, and what they are based on."""

    run: TranslationRun
    preset: TranslationPreset
    pairs: int
    tokens: int
    """Estimated target tokens."""
    uses_gpu: bool

    def explain(self, run: TranslationRun) -> str:
        """Return the reason in one line; `run` has the automatic settings and those of the user."""
        epochs = run.train.steps * run.train.accumulate * run.data.batch_tokens / max(self.tokens, 1)
        corpus = f"{self.pairs:,} pairs, about {_format_count(self.tokens)} target tokens"
        device = "GPU" if self.uses_gpu else "CPU"
        length = f"{epochs:.{int(epochs < 10)}f} epochs"
        if run.train.minutes is not None:  # the steps are not known yet
            length = f"{run.train.minutes:g} minute{'' if run.train.minutes == 1 else 's'} at most"
        return f"{corpus}, on a {device}: a {self.preset.name} model, {length}"


def autoconfigure_translation(
    run: TranslationRun, steps: int | None, console: Console
) -> TranslationAutoconfig:
    """Choose settings for the training files of `run`; `steps` are those the user asks for, if any."""
    pairs, tokens = _count_pairs_and_tokens(run, console)
    uses_gpu, minutes = _uses_gpu(run), run.train.minutes
    core_minutes = None if minutes is None or uses_gpu else minutes * torch.get_num_threads()
    auto = choose_translation_settings(pairs, tokens, uses_gpu, steps, run.train.epochs, core_minutes)
    if run.model.has_dropout:
        return auto
    return replace(auto, run=replace(auto.run, loss=LossConfig()))  # R-Drop needs dropout


def with_device_batch_tokens(run: TranslationRun, console: Console) -> TranslationRun:
    """Return a run whose model the user has chosen with the token budget that suits its device.

    On a GPU the budget of the largest preset that is not wider than the model, less for a small corpus; on a
    CPU the default. A step that does not fit into memory is split later.
    """
    if not _uses_gpu(run):
        return run
    _, tokens = _count_pairs_and_tokens(run, console)
    narrower = [preset for preset in TRANSLATION_PRESETS if preset.model.d_model <= run.model.d_model]
    budget = max((preset.batch_tokens for preset in narrower), default=0)
    limit = max(run.data.batch_tokens, tokens // MIN_BATCHES_PER_EPOCH)
    batch_tokens = max(run.data.batch_tokens, min(budget, limit))
    return replace(run, data=replace(run.data, batch_tokens=batch_tokens))


def choose_translation_settings(
    pairs: int,
    tokens: int,
    uses_gpu: bool,
    steps: int | None = None,
    epochs: float | None = None,
    core_minutes: float | None = None,
) -> TranslationAutoconfig:
    """Choose settings for a corpus of `pairs` sentence pairs with `tokens` target tokens in all.

    `steps`, `epochs` and `core_minutes`, on a CPU minutes times threads, are the limits that the user sets.
    """
    index = next(
        index for index, preset in enumerate(TRANSLATION_PRESETS) if tokens <= preset.max_target_tokens
    )
    preset = TRANSLATION_PRESETS[index if uses_gpu else min(index, LARGEST_CPU_PRESET)]
    budget = preset.batch_tokens if uses_gpu else CPU_TRAINING_BATCH_TOKENS
    batch_tokens = min(budget, max(MIN_BATCH_TOKENS, tokens // MIN_BATCHES_PER_EPOCH))
    training_tokens = tokens * preset.epochs
    if not uses_gpu:
        training_tokens = min(training_tokens, CPU_TRAINING_TOKENS)
    full_steps = round(training_tokens / batch_tokens / 500) * 500
    full_steps = min(max(full_steps, MIN_TRANSLATION_STEPS), MAX_TRANSLATION_STEPS)
    limits = [] if epochs is None else [tokens * epochs]
    if core_minutes is not None:
        limits.append(core_minutes * CPU_TOKENS_PER_MINUTE[preset.name])
    if steps is not None:
        limits.append(steps * batch_tokens)
    elif limits:
        batch_tokens = min(batch_tokens, max(MIN_BATCH_TOKENS, int(min(limits) / LIMITED_STEPS)))
    if steps is None:
        steps = full_steps if epochs is None else max(1, round(tokens * epochs / batch_tokens))
    is_short = bool(limits) and min(limits) < min(SHORT_EPOCHS * tokens, training_tokens)
    return TranslationAutoconfig(
        TranslationRun(
            model=replace(
                preset.model,
                vocab_size=_vocabulary_size(tokens),
                dropout=0.0 if is_short else preset.model.dropout,
            ),
            data=DataConfig(batch_tokens=batch_tokens, bleu_pairs=200),
            optimizer=_fit_optimizer(preset.peak, full_steps, steps),
            loss=LossConfig(rdrop=preset.rdrop if uses_gpu and not is_short else 0.0),
            train=TrainConfig(
                steps=steps,
                save_every=-(-steps // VALIDATIONS),
                ema=LONG_EMA_DECAY if steps >= LONG_EMA_MIN_STEPS else SHORT_EMA_DECAY,
            ),
        ),
        preset,
        pairs,
        tokens,
        uses_gpu,
    )


def _fit_optimizer(peak: float, full_steps: int, steps: int) -> OptimizerConfig:
    """Return the learning rates of `steps`; the peak is for the warm-up of `full_steps`, lower for less."""
    full_warmup, warmup = (max(1, min(1000, number // 5)) for number in (full_steps, steps))
    if warmup < full_warmup:
        peak *= (warmup / full_warmup) ** 0.5
    return OptimizerConfig(peak=peak, warmup=warmup, cooldown=max(1, steps // 2))


def _uses_gpu(run: TranslationRun) -> bool:
    return choose_device(run.compute.device).type == "cuda"


def _count_pairs_and_tokens(run: TranslationRun, console: Console) -> tuple[int, int]:
    """Count the pairs of the training files and estimate their target tokens."""
    size = measure_training_files(run.data, console)
    return size.pairs, size.target_bytes // BYTES_PER_TARGET_TOKEN


def _vocabulary_size(tokens: int) -> int:
    fitting = [size for size in VOCABULARY_SIZES if size * TOKENS_PER_VOCABULARY_ENTRY <= tokens]
    return max(fitting, default=VOCABULARY_SIZES[0])


def _format_count(number: int) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,}"

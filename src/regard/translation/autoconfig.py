"""A plan for a corpus: which model, how long, how fast, when nobody says.

Small corpora want small models, seen often and kept from learning by heart; large ones want the
paper's. What a CPU gets is cut to what it can do in an hour or two. docs/small-corpora.md has the
measurements behind the numbers.
"""

import math
from dataclasses import dataclass, replace

from rich.console import Console

from regard.config import Settings
from regard.corpus.prepare import count_files, open_cache
from regard.data.config import DataConfig
from regard.model.config import BASE, SMALL, TINY, ModelConfig
from regard.train.device import choose_device
from regard.train.loop import TrainConfig
from regard.train.loss import LossConfig
from regard.train.optimizer import OptimizerConfig
from regard.translation.corpus import list_training_pair_files
from regard.translation.run import TranslationRun

BYTES_PER_TARGET_TOKEN = 5
"""Of target text; near enough, before there are pieces to count."""


@dataclass(frozen=True)
class TranslationPreset:
    """What suits corpora of up to so many target tokens."""

    name: str
    max_target_tokens: float
    model: ModelConfig
    peak: float
    batch_tokens: int
    epochs: int
    rdrop: float = 0.0
    """On a CPU none, as it doubles the work."""


PRE_NORM_BASE = replace(BASE, norm="pre")
"""The paper's base model, but for the norm: with its own it learnt nothing after a short warm-up."""
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
"""Of SIZES: a larger one would take days there."""
CPU_TRAINING_BATCH_TOKENS, CPU_TRAINING_TOKENS = 4096, 25e6
"""In all about half an hour's work for the tiny model on two cores, an hour and a half's for the small."""
VOCABULARY_SIZES = (1000, 2000, 4000, 8000, 10_000, 16_000, 32_000)
MIN_TRANSLATION_STEPS, MAX_TRANSLATION_STEPS = 1000, 100_000
LONG_EMA_MIN_STEPS = 3000
"""Steps from which on a mean over about a thousand of them is worth having."""


TRANSLATION_AUTO_SETTINGS = {
    "data": ("batch_tokens", "bleu_pairs"),
    "optimizer": ("peak", "warmup", "cooldown"),
    "loss": ("rdrop",),
    "train": ("steps", "save_every", "ema"),
}
"""The settings that a plan decides, beside those of the model."""


@dataclass(frozen=True)
class TranslationAutoconfig:
    """Settings to begin with, and why."""

    run: TranslationRun
    preset: TranslationPreset
    pairs: int
    tokens: int
    """Of the target, about."""
    uses_gpu: bool

    def explain(self, run: TranslationRun) -> str:
        """What was found and what is done about it; `run` is the plan with what else was asked for."""
        epochs = run.train.steps * run.train.accumulate * run.data.batch_tokens / max(self.tokens, 1)
        return (
            f"{self.pairs:,} pairs, about {_format_count(self.tokens)} target tokens, on a "
            f"{'GPU' if self.uses_gpu else 'CPU'}: a {self.preset.name} model, {epochs:.{int(epochs < 10)}f} epochs"
        )


def autoconfigure_translation(
    run: TranslationRun, steps: int | None, console: Console
) -> TranslationAutoconfig:
    """For the training files as they are; `steps` are as many as somebody asked for."""
    files = list_training_pair_files(run.data)
    facts = count_files(files, open_cache(run.data.cache, console), console)
    pairs = sum(facts[corpus.files[0]].lines for corpus in files)
    text = sum(facts[corpus.files[-1]].bytes // (1 if len(corpus.files) > 1 else 2) for corpus in files)
    gpu = choose_device(run.compute.device).type == "cuda"
    found = choose_translation_settings(pairs, text // BYTES_PER_TARGET_TOKEN, gpu, steps)
    if run.model.has_dropout:
        return found
    return replace(found, run=replace(found.run, loss=LossConfig()))  # R-Drop would have nothing to do


def choose_translation_settings(
    pairs: int, tokens: int, uses_gpu: bool, steps: int | None = None
) -> TranslationAutoconfig:
    """The plan for so many pairs with so many target tokens in all."""
    number = next(
        number for number, size in enumerate(TRANSLATION_PRESETS) if tokens <= size.max_target_tokens
    )
    size = TRANSLATION_PRESETS[number if uses_gpu else min(number, LARGEST_CPU_PRESET)]
    batch = min(size.batch_tokens if uses_gpu else CPU_TRAINING_BATCH_TOKENS, max(512, tokens // 40))
    seen = tokens * size.epochs if uses_gpu else min(tokens * size.epochs, CPU_TRAINING_TOKENS)
    if steps is None:
        steps = min(max(round(seen / batch / 500) * 500, MIN_TRANSLATION_STEPS), MAX_TRANSLATION_STEPS)
    run = TranslationRun(
        model=replace(size.model, vocab_size=_vocabulary_size(tokens)),
        data=DataConfig(batch_tokens=batch, bleu_pairs=200),
        optimizer=OptimizerConfig(
            peak=size.peak, warmup=max(1, min(1000, steps // 5)), cooldown=max(1, steps // 2)
        ),
        loss=LossConfig(rdrop=size.rdrop if uses_gpu else 0.0),
        train=TrainConfig(
            steps=steps, save_every=max(1, steps // 10), ema=0.999 if steps >= LONG_EMA_MIN_STEPS else 0.99
        ),
    )
    return TranslationAutoconfig(run, size, pairs, tokens, uses_gpu)


def select_translation_auto_settings(settings: Settings) -> Settings:
    """Those of a run's settings that a plan decides: it is made once, however the files or regard change."""
    found = {
        section: {name: value for name, value in settings.get(section, {}).items() if name in names}
        for section, names in TRANSLATION_AUTO_SETTINGS.items()
    }
    return {"model": settings.get("model", {}), **found}


def _vocabulary_size(tokens: int) -> int:
    """Pieces that each come often enough to be learnt, about forty times."""
    return max((size for size in VOCABULARY_SIZES if size * 40 <= tokens), default=VOCABULARY_SIZES[0])


def _format_count(number: int) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,}"

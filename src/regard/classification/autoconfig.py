"""A plan for labelled texts: which classifier, how long, how fast, when nobody says.

docs/classification.md has the measurements behind the numbers.
"""

import math
from dataclasses import dataclass, replace

from rich.console import Console

from regard.classification.corpus import list_training_labelled_files
from regard.classification.run import SMALL_RUN, ClassificationRun
from regard.config import Settings
from regard.corpus.prepare import count_files, open_cache
from regard.train.device import choose_device

BYTES_PER_TOKEN = 5
"""Near enough, before there are pieces to count."""
SMALL_BATCH_TEXTS = 50
"""Of a small corpus; a larger one has larger batches, and fewer steps."""
MAX_BATCH_TEXTS = 500
MAX_CLASSIFICATION_STEPS = 20_000
MIN_CLASSIFICATION_STEPS = 300
CLASSIFICATION_AUTO_SETTINGS = {
    "data": ("batch_texts",),
    "optimizer": ("peak", "warmup", "cooldown", "weight_decay"),
    "loss": ("label_smoothing",),
    "train": ("steps", "save_every", "ema", "judge"),
}
"""The settings that a plan decides, beside those of the model."""


@dataclass(frozen=True)
class ClassifierPreset:
    """What suits corpora of up to so many texts."""

    name: str
    max_texts: float
    encoder_layers: int
    d_model: int
    epochs: int
    dropout: float


CLASSIFIER_PRESETS = (
    ClassifierPreset("small", 3e4, encoder_layers=2, d_model=128, epochs=10, dropout=0.4),
    ClassifierPreset("medium", 3e5, encoder_layers=2, d_model=256, epochs=5, dropout=0.2),
    ClassifierPreset("large", math.inf, encoder_layers=4, d_model=256, epochs=2, dropout=0.1),
)


@dataclass(frozen=True)
class ClassificationAutoconfig:
    """Settings to begin with, and why."""

    run: ClassificationRun
    preset: ClassifierPreset
    texts: int
    tokens: int
    uses_gpu: bool

    def explain(self, run: ClassificationRun) -> str:
        """What was found and what is done about it; `run` is the plan with what else was asked for."""
        epochs = (
            run.train.steps * run.train.accumulate * (run.data.batch_texts or SMALL_BATCH_TEXTS) / self.texts
        )
        return (
            f"{self.texts:,} texts, about {self.tokens:,} words, on a {'GPU' if self.uses_gpu else 'CPU'}: "
            f"a {self.preset.name} model, {epochs:.{int(epochs < 10)}f} epochs"
        )


def autoconfigure_classification(
    run: ClassificationRun, steps: int | None, console: Console
) -> ClassificationAutoconfig:
    """For the training files as they are; `steps` are as many as somebody asked for."""
    files = list_training_labelled_files(run.data)
    facts = count_files(files, open_cache(run.data.cache, console), console)
    texts = sum(facts[corpus.texts].lines for corpus in files)
    tokens = sum(facts[corpus.texts].bytes for corpus in files) // BYTES_PER_TOKEN
    gpu = choose_device(run.compute.device).type == "cuda"
    return choose_classification_settings(texts, tokens, gpu, steps)


def choose_classification_settings(
    texts: int, tokens: int, uses_gpu: bool, steps: int | None = None
) -> ClassificationAutoconfig:
    """The plan for so many texts with so many tokens in all, class tokens not counted."""
    size = next(size for size in CLASSIFIER_PRESETS if texts <= size.max_texts)
    texts = max(texts, 1)
    batch = min(
        MAX_BATCH_TEXTS,
        SMALL_BATCH_TEXTS * -(-texts * size.epochs // (SMALL_BATCH_TEXTS * MAX_CLASSIFICATION_STEPS)),
    )
    if steps is None:
        steps = min(
            MAX_CLASSIFICATION_STEPS,
            max(MIN_CLASSIFICATION_STEPS, round(texts * size.epochs / batch / 100) * 100),
        )
    model = replace(
        SMALL_RUN.model,
        encoder_layers=size.encoder_layers,
        d_model=size.d_model,
        d_ff=2 * size.d_model,
        dropout=size.dropout,
    )
    run = replace(
        SMALL_RUN,
        model=model,
        data=replace(SMALL_RUN.data, batch_texts=batch),
        optimizer=replace(SMALL_RUN.optimizer, warmup=max(1, min(100, steps // 5)), cooldown=steps),
        train=replace(SMALL_RUN.train, steps=steps, save_every=max(1, steps // 10)),
    )
    return ClassificationAutoconfig(run, size, texts, tokens, uses_gpu)


def select_classification_auto_settings(settings: Settings) -> Settings:
    """Those of a run's settings that a plan decides: it is made once, however the files or regard change."""
    found = {
        section: {name: value for name, value in settings.get(section, {}).items() if name in names}
        for section, names in CLASSIFICATION_AUTO_SETTINGS.items()
    }
    return {"model": settings.get("model", {}), **found}

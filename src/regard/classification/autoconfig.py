"""A plan for labelled texts: which classifier, how long, how fast, when nobody says.

docs/classification.md has the measurements behind the numbers.
"""

import math
from dataclasses import dataclass, replace

from rich.console import Console

from regard.classification.corpus import training_files
from regard.classification.run import SMALL, ClassificationRun
from regard.config import Settings
from regard.corpus.prepare import count, open_cache
from regard.train.device import choose_device

BYTES_OF_A_TOKEN = 5
"""Near enough, before there are pieces to count."""
BATCH_TEXTS = 50
"""Of a small corpus; a larger one has larger batches, and fewer steps."""
LARGEST_BATCH = 500
MOST_STEPS = 20_000
FEWEST_STEPS = 300
CHOSEN = {
    "data": ("batch_texts",),
    "optimizer": ("peak", "warmup", "cooldown", "weight_decay"),
    "loss": ("label_smoothing",),
    "train": ("steps", "save_every", "ema", "judge"),
}
"""The settings that a plan decides, beside those of the model."""


@dataclass(frozen=True)
class Size:
    """What suits corpora of up to so many texts."""

    name: str
    upto: float
    layers: int
    width: int
    epochs: int
    dropout: float


SIZES = (
    Size("small", 3e4, layers=2, width=128, epochs=10, dropout=0.4),
    Size("medium", 3e5, layers=2, width=256, epochs=5, dropout=0.2),
    Size("large", math.inf, layers=4, width=256, epochs=2, dropout=0.1),
)


@dataclass(frozen=True)
class ClassificationPlan:
    """Settings to begin with, and why."""

    run: ClassificationRun
    size: Size
    texts: int
    tokens: int
    gpu: bool

    def why(self, run: ClassificationRun) -> str:
        """What was found and what is done about it; `run` is the plan with what else was asked for."""
        epochs = run.train.steps * run.train.accumulate * (run.data.batch_texts or BATCH_TEXTS) / self.texts
        return (
            f"{self.texts:,} texts, about {self.tokens:,} words, on a {'GPU' if self.gpu else 'CPU'}: "
            f"a {self.size.name} model, {epochs:.{int(epochs < 10)}f} epochs"
        )


def plan(asked: ClassificationRun, steps: int | None, console: Console) -> ClassificationPlan:
    """For the training files as they are; `steps` are as many as somebody asked for."""
    files = training_files(asked.data)
    facts = count(files, open_cache(asked.data.cache, console), console)
    texts = sum(facts[corpus.texts].lines for corpus in files)
    tokens = sum(facts[corpus.texts].bytes for corpus in files) // BYTES_OF_A_TOKEN
    gpu = choose_device(asked.compute.device).type == "cuda"
    return plan_for(texts, tokens, gpu, steps)


def plan_for(texts: int, tokens: int, gpu: bool, steps: int | None = None) -> ClassificationPlan:
    """The plan for so many texts with so many tokens in all, class tokens not counted."""
    size = next(size for size in SIZES if texts <= size.upto)
    texts = max(texts, 1)
    batch = min(LARGEST_BATCH, BATCH_TEXTS * -(-texts * size.epochs // (BATCH_TEXTS * MOST_STEPS)))
    if steps is None:
        steps = min(MOST_STEPS, max(FEWEST_STEPS, round(texts * size.epochs / batch / 100) * 100))
    model = replace(
        SMALL.model,
        encoder_layers=size.layers,
        d_model=size.width,
        d_ff=2 * size.width,
        dropout=size.dropout,
    )
    run = replace(
        SMALL,
        model=model,
        data=replace(SMALL.data, batch_texts=batch),
        optimizer=replace(SMALL.optimizer, warmup=max(1, min(100, steps // 5)), cooldown=steps),
        train=replace(SMALL.train, steps=steps, save_every=max(1, steps // 10)),
    )
    return ClassificationPlan(run, size, texts, tokens, gpu)


def chosen(settings: Settings) -> Settings:
    """Those of a run's settings that a plan decides: it is made once, however the files or regard change."""
    found = {
        section: {name: value for name, value in settings.get(section, {}).items() if name in names}
        for section, names in CHOSEN.items()
    }
    return {"model": settings.get("model", {}), **found}

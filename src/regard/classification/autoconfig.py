"""Automatic settings of a classifier: model size, batch size and number of steps from the corpus size.

docs/classification.md has the measurements behind the numbers.
"""

import math
from dataclasses import dataclass, replace

from rich.console import Console

from regard.classification.corpus import list_training_labelled_files
from regard.classification.run import SMALL_RUN, ClassificationRun
from regard.corpus.prepare import count_files, open_cache
from regard.training.device import choose_device
from regard.training.schedule import VALIDATIONS

BYTES_PER_TOKEN = 5
"""An estimate, used before there is a tokenizer."""
SMALL_BATCH_TEXTS = 50
"""Texts per batch for a small corpus; a larger corpus gets larger batches instead of more steps."""
MAX_BATCH_TEXTS = 500
MAX_CLASSIFICATION_STEPS = 20_000
MIN_CLASSIFICATION_STEPS = 300


@dataclass(frozen=True)
class ClassifierPreset:
    """Model size and epochs for corpora of up to `max_texts` texts."""

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
    """The settings chosen for a corpus, and the facts they were chosen by."""

    run: ClassificationRun
    preset: ClassifierPreset
    texts: int
    tokens: int
    uses_gpu: bool

    def explain(self, run: ClassificationRun) -> str:
        """Describe the choice; `run` is the final run, with the user's own settings applied."""
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
    """Choose settings for the training files of `run`; `steps` is what the user has set, if anything."""
    files = list_training_labelled_files(run.data)
    facts = count_files(files, open_cache(run.data.cache, console), console)
    texts = sum(facts[corpus.texts].lines for corpus in files)
    tokens = sum(facts[corpus.texts].bytes for corpus in files) // BYTES_PER_TOKEN
    uses_gpu = choose_device(run.compute.device).type == "cuda"
    return choose_classification_settings(texts, tokens, uses_gpu, steps, run.train.epochs)


def choose_classification_settings(
    texts: int, tokens: int, uses_gpu: bool, steps: int | None = None, epochs: float | None = None
) -> ClassificationAutoconfig:
    """Choose settings for a corpus of `texts` texts with `tokens` tokens, class tokens not counted.

    `steps` and `epochs` are those that the user asks for.
    """
    preset = next(preset for preset in CLASSIFIER_PRESETS if texts <= preset.max_texts)
    texts = max(texts, 1)
    largest_run = SMALL_BATCH_TEXTS * MAX_CLASSIFICATION_STEPS
    training_texts = texts * (preset.epochs if epochs is None else epochs)
    batch = min(MAX_BATCH_TEXTS, SMALL_BATCH_TEXTS * max(1, math.ceil(training_texts / largest_run)))
    if steps is None and epochs is not None:
        steps = max(1, round(training_texts / batch))
    elif steps is None:
        steps = round(training_texts / batch / 100) * 100
        steps = min(MAX_CLASSIFICATION_STEPS, max(MIN_CLASSIFICATION_STEPS, steps))
    model = replace(
        SMALL_RUN.model,
        encoder_layers=preset.encoder_layers,
        d_model=preset.d_model,
        d_ff=2 * preset.d_model,
        dropout=preset.dropout,
    )
    run = replace(
        SMALL_RUN,
        model=model,
        data=replace(SMALL_RUN.data, batch_texts=batch),
        optimizer=replace(SMALL_RUN.optimizer, warmup=max(1, min(100, steps // 5)), cooldown=steps),
        train=replace(SMALL_RUN.train, steps=steps, save_every=-(-steps // VALIDATIONS)),
    )
    return ClassificationAutoconfig(run, preset, texts, tokens, uses_gpu)

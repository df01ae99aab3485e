"""A synthetic labelled corpus that a tiny classifier learns in seconds: the kind of the named thing."""

from dataclasses import replace
from itertools import product
from pathlib import Path

from regard.classification.run import ClassificationRun, LabelledDataConfig
from regard.model.transformer_classifier import ClassifierConfig
from regard.training.loop import TrainConfig
from regard.training.optimizer import OptimizerConfig

THINGS = {
    "animal": ["cat", "dog", "horse", "cow", "bird"],
    "colour": ["red", "green", "blue", "white", "black"],
    "number": ["one", "two", "three", "four", "five"],
}
FRAMES = ["the {} is here", "I saw a {} today", "is it {} ?", "we like {} most", "{} it was"]


def labelled_sentences() -> list[tuple[str, str]]:
    """Return texts with their labels, in mixed order."""
    rows = [
        (frame.format(thing), label)
        for (frame, place), label in product(product(FRAMES, range(5)), THINGS)
        for thing in [THINGS[label][place]]
    ]
    return [rows[(7 * i) % len(rows)] for i in range(len(rows))]


def write_labelled_file(path: Path, rows: list[tuple[str, str]] | None = None) -> Path:
    path.write_text("".join(f"{label}\t{text}\n" for text, label in rows or labelled_sentences()), "utf-8")
    return path


def tiny_classification_run(path: Path, **train: object) -> ClassificationRun:
    """Return a run of a few steps on the corpus at `path`; `train` overrides train settings."""
    model = ClassifierConfig(
        d_model=16, heads=2, d_ff=16, encoder_layers=1, dropout=0.1, max_length=16, vocab_size=400
    )
    default = TrainConfig(steps=4, save_every=2, seed=5)
    return ClassificationRun(
        model=model,
        data=LabelledDataConfig(labelled=(str(path),), batch_tokens=120),
        optimizer=OptimizerConfig(peak=0.02, warmup=5),
        train=replace(default, **train),  # pyright: ignore[reportArgumentType]
    )

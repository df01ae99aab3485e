"""Types of the keyword arguments of `regard.train`: those of every task, and those of each task."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from regard.training.callbacks import Callback

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class TrainOptions(TypedDict, total=False):
    """Options of every training."""

    minutes: float | None
    steps: int | None
    epochs: float | None
    seed: int | None
    memory: float | str | None
    config: str | Path | None
    settings: Mapping[str, Any] | None
    callbacks: Iterable[Callback]
    build_model: "Callable[..., Module] | None"
    loss: "Callable[[Tensor, Tensor], Tensor] | None"
    progress: bool


class TranslationTrainOptions(TrainOptions, total=False):
    """Options of a training of a translation model."""

    valid_source: Any
    valid_target: Any
    valid_pairs: Any
    source_column: str | None
    target_column: str | None
    source_language: str | None
    target_language: str | None
    preset: Literal["tiny", "small", "base", "big"] | None
    recipe: Literal["paper"] | None
    start: str | Path | None
    extend_vocabulary: int | None
    strict: bool | None


class ClassificationTrainOptions(TrainOptions, total=False):
    """Options of a training of a classifier."""

    text_column: str | None
    label_column: str | None
    valid_labelled: Any
    valid_texts: Any
    valid_labels: Any
    strict: bool | None


class ForecastingTrainOptions(TrainOptions, total=False):
    """Options of a training of a forecaster."""

    time: str | None
    columns: Sequence[str] | None
    horizon: int | None

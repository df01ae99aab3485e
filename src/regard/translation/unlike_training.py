"""Texts unlike the training text, detected by the log-probability per token of their translations.

A model translates text of another domain into less probable tokens than held-out text of its own corpus. At
the end of training its translations of the validation texts are measured; a text whose translation is less
probable than 99 % of those is flagged. It costs no extra decoding.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.checkpoint import MANIFEST_FILE, find_model_folder, publish_model
from regard.errors import CheckpointError, DataError
from regard.search.config import SearchConfig
from regard.translation.options import TranslateOptions

if TYPE_CHECKING:
    from regard.translation.translator import Translator

CALIBRATION_ENTRY = "likelihood_calibration"
"""The manifest entry with the calibration."""
FLAGGED_SHARE = 0.01
"""Share of the validation texts that the threshold flags."""
MIN_CALIBRATION_TEXTS, MAX_CALIBRATION_TEXTS = 100, 1000
"""Of fewer texts, 1 % is less than one; of more, this many are translated, evenly chosen."""


@dataclass(frozen=True)
class LikelihoodCalibration:
    """The log-probability per token of translations of validation texts, in nats, and how low is unusual.

    One threshold serves texts of all lengths; benchmarks/results/unlike-training.md has what it separates.
    """

    texts: int
    """The number of validation texts."""
    mean: float
    threshold: float
    """A translation with a lower log-probability per token is flagged."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ValueError(f"{field.name} = {value!r} is not a finite number")

    def to_manifest(self) -> dict[str, Any]:
        """Return the manifest entry."""
        return {CALIBRATION_ENTRY: asdict(self)}

    def is_unlike_training(self, log_probability: float, tokens: int) -> bool:
        """Return whether a translation is less probable than 99 % of those of the validation texts.

        `tokens` counts end tokens too, one for each part of a text that was split.
        """
        return bool(log_probability / tokens < self.threshold)


def fit_calibration(
    log_probabilities: Sequence[float], tokens: Sequence[int]
) -> LikelihoodCalibration | None:
    """Fit the calibration to translations of validation texts; None if there are too few.

    The threshold is a quantile, so no shape of the distribution is assumed.
    """
    if len(tokens) < MIN_CALIBRATION_TEXTS:
        return None
    per_token = np.array(log_probabilities, np.float64) / np.array(tokens, np.float64)
    threshold = float(np.quantile(per_token, FLAGGED_SHARE))
    return LikelihoodCalibration(len(tokens), float(per_token.mean()), threshold)


def calibrate_translator(translator: "Translator", texts: Sequence[str]) -> LikelihoodCalibration | None:
    """Translate texts as `regard translate` does, and fit the calibration; blank texts do not count."""
    chosen = np.linspace(0, len(texts), min(len(texts), MAX_CALIBRATION_TEXTS), endpoint=False, dtype=int)
    results = translator.translate_detailed([texts[int(index)] for index in chosen])
    translations = [each for each in results if each.status == "whole"]
    counted = [(each.log_probability, len(each.tokens) + 1) for each in translations if each.tokens]
    return fit_calibration([value for value, _ in counted], [tokens for _, tokens in counted])


def calibrate_model_folder(path: str | Path, texts: Sequence[str]) -> LikelihoodCalibration:
    """Calibrate a finished model with source texts like its training text, and store that in its folder."""
    from regard.translation.translator import Translator

    folder = find_model_folder(Path(path))
    calibration = calibrate_translator(Translator.load(folder), texts)
    if calibration is None:
        raise DataError(f"there are {len(texts)} texts; a calibration needs at least {MIN_CALIBRATION_TEXTS}")
    publish_model(folder, folder, metadata=calibration.to_manifest())
    return calibration


def read_calibration(folder: Path, manifest: Mapping[str, Any]) -> LikelihoodCalibration | None:
    """Return the calibration in a manifest; older models and unfinished runs have none."""
    entry = manifest.get(CALIBRATION_ENTRY)
    try:
        return None if entry is None else LikelihoodCalibration(**entry)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / MANIFEST_FILE}: {CALIBRATION_ENTRY} is invalid: {error}") from None


def is_free_search(search: SearchConfig, options: TranslateOptions) -> bool:
    """Return whether translations are the most probable ones, so that their probabilities can be judged.

    Required phrases and length limits, for example, force improbable tokens.
    """
    is_constrained = options.has_constraints or search.max_length is not None
    return search.is_plain and not is_constrained and not options.ensemble

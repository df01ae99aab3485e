"""Data in memory and settings of models that train in a second, for `regard.train`."""

from typing import Any

import numpy as np

from labelled_corpus import labelled_sentences
from synthetic_series import START, timedelta

LAYERS = {"model.d_model": 16, "model.heads": 2, "model.d_ff": 16, "model.encoder_layers": 1}
SCHEDULE = {"train.save_every": 2, "train.log_every": 1, "optimizer.warmup": 2, "optimizer.peak": 0.01}
SETTINGS = {**LAYERS, **SCHEDULE, "compute.device": "cpu", "compute.precision": "fp32"}
TRANSLATION_SETTINGS = {
    **SETTINGS,
    "model.decoder_layers": 1,
    "model.vocab_size": 300,
    "model.max_length": 40,
    "data.batch_tokens": 200,
    "data.bleu_pairs": 1,
}
CLASSIFICATION_SETTINGS = {**SETTINGS, "model.vocab_size": 300, "data.batch_tokens": 200}
FORECASTING_SETTINGS = {
    **SETTINGS,
    "model.history": 48,
    "model.patch": 12,
    "model.stride": 12,
    "data.batch_windows": 32,
}
SOURCE = [f"the cat {number} sleeps" for number in range(60)]
TARGET = [f"le chat {number} dort" for number in range(60)]
TRANSLATION: dict[str, Any] = {"source": SOURCE, "target": TARGET, "settings": TRANSLATION_SETTINGS}
TEXTS, LABELS = (list(column) for column in zip(*labelled_sentences(), strict=True))
CLASSIFICATION: dict[str, Any] = {"texts": TEXTS, "labels": LABELS, "settings": CLASSIFICATION_SETTINGS}
WAVE = {
    "date": [START + timedelta(hours=hour) for hour in range(300)],
    "load": (100 + 10 * np.sin(2 * np.pi * np.arange(300) / 24)).tolist(),
}
FORECASTING: dict[str, Any] = {"series": WAVE, "horizon": 12, "settings": FORECASTING_SETTINGS}

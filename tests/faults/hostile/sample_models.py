"""Valid model folders of all tasks, which tests then damage on purpose."""

from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from regard.checkpoint import write_folder_atomically
from regard.classification.model_folder import write_classifier_files
from regard.classification.run import ClassificationRun
from regard.config import to_toml
from regard.forecasting.task import train_forecasting
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.model.transformer_classifier import ClassifierConfig, TransformerClassifier
from regard.text.tokenizer import PAD, learn_tokenizer, learn_word_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun
from regard.translation.unlike_training import LikelihoodCalibration
from synthetic_series import small_forecast_run, write_wave_series

SENTENCES = ["the cat sees the dog.", "a bird sings."] * 5
LABELS = ("animal", "colour", "number")
SIZES = {"d_model": 16, "heads": 2, "d_ff": 32, "max_length": 24}


def write_sample_models(folder: Path) -> dict[str, Path]:
    """Write one model of each task, untrained; return the folders by task."""
    torch.manual_seed(0)
    series = write_wave_series(folder / "waves.csv", rows=120)
    train_forecasting(small_forecast_run(series, steps=1), folder / "forecaster", Console(quiet=True))
    return {
        "translation": _write_translation_sample(folder / "translator"),
        "classification": _write_classification_sample(folder / "classifier"),
        "forecasting": folder / "forecaster" / "model",
    }


def _write_translation_sample(folder: Path) -> Path:
    tokenizer = learn_tokenizer(SENTENCES, 280)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, encoder_layers=2, decoder_layers=1, dropout=0.0, **SIZES
    )
    facts = {"step": 7, **LikelihoodCalibration(200, -1.0, -3.0).to_manifest()}
    save_translation_model(folder, Transformer(config), tokenizer, to_toml(TranslationRun(config)), facts)
    return folder


def _write_classification_sample(folder: Path) -> Path:
    tokenizer = learn_word_tokenizer(SENTENCES, 400)
    config = replace(ClassifierConfig(**SIZES), vocab_size=tokenizer.vocab_size)
    network, settings = TransformerClassifier(config, len(LABELS), PAD), to_toml(ClassificationRun(config))
    facts = {"step": 7, "metrics": {"temperature": 1.5}}
    write_folder_atomically(
        folder, lambda place: write_classifier_files(place, network, tokenizer, LABELS, settings, facts)
    )
    return folder

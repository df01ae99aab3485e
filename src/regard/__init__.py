"""The Transformer of "Attention Is All You Need": training, translation, classification, forecasting."""

import importlib
from typing import TYPE_CHECKING, Any

from regard.version import __version__

if TYPE_CHECKING:
    from regard.api.classifier import Classifier
    from regard.api.train import train
    from regard.classification.label_predictor import Classification
    from regard.errors import RegardError
    from regard.forecasting.forecast import Forecast
    from regard.forecasting.forecaster import Forecaster
    from regard.model.config import BASE, BIG, SMALL, TINY, ModelConfig
    from regard.model.transformer import Transformer
    from regard.model.transformer_classifier import TransformerClassifier
    from regard.model.transformer_forecaster import TransformerForecaster
    from regard.search.config import Sampling, SearchConfig
    from regard.text.glossary import Glossary
    from regard.trace.trace import Trace
    from regard.training.callbacks import Callback
    from regard.translation.options import TranslateOptions
    from regard.translation.result import Translation
    from regard.translation.translator import Translator

__all__ = [
    "BASE",
    "BIG",
    "SMALL",
    "TINY",
    "Callback",
    "Classification",
    "Classifier",
    "Forecast",
    "Forecaster",
    "Glossary",
    "ModelConfig",
    "RegardError",
    "Sampling",
    "SearchConfig",
    "Trace",
    "Transformer",
    "TransformerClassifier",
    "TransformerForecaster",
    "TranslateOptions",
    "Translation",
    "Translator",
    "__version__",
    "train",
]

_MODULE_OF_NAME = {
    "BASE": "regard.model.config",
    "BIG": "regard.model.config",
    "SMALL": "regard.model.config",
    "TINY": "regard.model.config",
    "TranslateOptions": "regard.translation.options",
    "Callback": "regard.training.callbacks",
    "Classification": "regard.classification.label_predictor",
    "Classifier": "regard.api.classifier",
    "Forecast": "regard.forecasting.forecast",
    "Forecaster": "regard.forecasting.forecaster",
    "Glossary": "regard.text.glossary",
    "ModelConfig": "regard.model.config",
    "RegardError": "regard.errors",
    "Sampling": "regard.search.config",
    "SearchConfig": "regard.search.config",
    "Trace": "regard.trace.trace",
    "Transformer": "regard.model.transformer",
    "TransformerClassifier": "regard.model.transformer_classifier",
    "TransformerForecaster": "regard.model.transformer_forecaster",
    "Translation": "regard.translation.result",
    "Translator": "regard.translation.translator",
    "train": "regard.api.train",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `import regard` itself does not import torch."""
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return [*__all__]

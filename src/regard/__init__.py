"""The Transformer of "Attention Is All You Need", whole, as software people rely on."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.errors import RegardError
    from regard.model.config import BASE, BIG, SMALL, TINY, ModelConfig
    from regard.model.transformer import Transformer
    from regard.search.config import Sampling, SearchConfig
    from regard.tasks.answer import Translation
    from regard.tasks.asked import Asked
    from regard.tasks.forecast import Forecast
    from regard.tasks.forecaster import Forecaster
    from regard.tasks.labeller import Classified, Classifier
    from regard.tasks.translator import Translator
    from regard.text.glossary import Glossary
    from regard.trace.trace import Trace

__version__ = "0.1.0"
__all__ = [
    "BASE",
    "BIG",
    "SMALL",
    "TINY",
    "Asked",
    "Classified",
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
    "Translation",
    "Translator",
]

_HOMES = {
    "BASE": "regard.model.config",
    "BIG": "regard.model.config",
    "SMALL": "regard.model.config",
    "TINY": "regard.model.config",
    "Asked": "regard.tasks.asked",
    "Classified": "regard.tasks.labeller",
    "Classifier": "regard.tasks.labeller",
    "Forecast": "regard.tasks.forecast",
    "Forecaster": "regard.tasks.forecaster",
    "Glossary": "regard.text.glossary",
    "ModelConfig": "regard.model.config",
    "RegardError": "regard.errors",
    "Sampling": "regard.search.config",
    "SearchConfig": "regard.search.config",
    "Trace": "regard.trace.trace",
    "Transformer": "regard.model.transformer",
    "Translation": "regard.tasks.answer",
    "Translator": "regard.tasks.translator",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for: `import regard` itself loads no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

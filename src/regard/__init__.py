"""The Transformer of "Attention Is All You Need", whole, as software people rely on."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.errors import RegardError
    from regard.model.config import BASE, BIG, SMALL, TINY, ModelConfig
    from regard.model.transformer import Transformer
    from regard.tasks.translator import Translator

__version__ = "0.1.0"
__all__ = ["BASE", "BIG", "SMALL", "TINY", "ModelConfig", "RegardError", "Transformer", "Translator"]

_HOMES = {
    "BASE": "regard.model.config",
    "BIG": "regard.model.config",
    "SMALL": "regard.model.config",
    "TINY": "regard.model.config",
    "ModelConfig": "regard.model.config",
    "RegardError": "regard.errors",
    "Transformer": "regard.model.transformer",
    "Translator": "regard.tasks.translator",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for: `import regard` itself loads no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

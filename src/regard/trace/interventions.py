"""What is changed before a translation is looked at again; layers and heads are counted from 1."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from regard.errors import ConfigError, require
from regard.model.config import ModelConfig

Kind = Literal["encoder", "decoder", "cross"]
"""Of attention: among source words, among target words so far, from target to source."""
Stack = Literal["encoder", "decoder"]
Which = Literal["self", "cross", "ffn"]
Mode = Literal["zero", "uniform"]

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Head:
    """A head that says nothing (zero), or that looks at everything alike (uniform)."""

    type: ClassVar = "head"
    kind: Kind
    layer: int
    head: int
    mode: Mode = "zero"

    def check(self, config: ModelConfig, source: int) -> None:
        del source
        _one_of("kind", self.kind, KINDS)
        _one_of("mode", self.mode, get_args(Mode))
        _counted("layer", self.layer, layers_of(config, self.kind))
        _counted("head", self.head, config.heads)


@dataclass(frozen=True)
class Sublayer:
    """An attention or a feed-forward that is skipped: it adds nothing to what passes by."""

    type: ClassVar = "sublayer"
    stack: Stack
    layer: int
    which: Which

    def check(self, config: ModelConfig, source: int) -> None:
        del source
        _one_of("stack", self.stack, get_args(Stack))
        _one_of("which", self.which, ("self", "ffn") if self.stack == "encoder" else get_args(Which))
        _counted("layer", self.layer, layers_of(config, self.stack))


@dataclass(frozen=True)
class Positions:
    """No position is added to any word, on either side."""

    type: ClassVar = "positions"

    def check(self, config: ModelConfig, source: int) -> None:
        """It can always be done."""


@dataclass(frozen=True)
class HideSource:
    """Source tokens that nobody may look at, neither the encoder nor the decoder."""

    type: ClassVar = "hide_source"
    positions: tuple[int, ...]
    """Their indexes among the source's tokens, counted from 0."""

    def check(self, config: ModelConfig, source: int) -> None:
        del config
        for position in self.positions:
            if not 0 <= position < source:
                raise ConfigError(f"source token {position + 1} cannot be hidden; there are {source}")
        if len(set(self.positions)) >= source:
            raise ConfigError("not all of the source can be hidden; leave one token visible")


Intervention = Head | Sublayer | Positions | HideSource
_TYPES: dict[str, type[Intervention]] = {each.type: each for each in (Head, Sublayer, Positions, HideSource)}


def layers_of(config: ModelConfig, kind: Kind) -> int:
    """How many layers have attention of that kind."""
    return config.encoder_layers if kind == "encoder" else config.decoder_layers


def intervention_to_json(intervention: Intervention) -> dict[str, Any]:
    said = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(intervention).items()}
    return {"type": intervention.type, **said}


def intervention_from_json(said: Mapping[str, Any]) -> Intervention:
    """Refuses what is none, in one line; `check` says later whether the model has such a place."""
    type_ = said.get("type") if isinstance(said, Mapping) else None
    if type_ not in _TYPES:
        raise ConfigError(f"{said} is no intervention; its type must be one of {', '.join(_TYPES)}")
    known = {field.name: said[field.name] for field in fields(_TYPES[type_]) if field.name in said}
    if "positions" in known:
        known["positions"] = _positions(known["positions"])
    for name in ("layer", "head"):
        if name in known and (not isinstance(known[name], int) or isinstance(known[name], bool)):
            raise ConfigError(f"{name} = {known[name]} cannot work; it must be a whole number")
    try:
        return _TYPES[type_](**known)
    except TypeError:
        missing = [field.name for field in fields(_TYPES[type_]) if field.name not in known]
        raise ConfigError(f"an intervention of type {type_} needs {', '.join(missing)}, too") from None


def _positions(given: object) -> tuple[int, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, int) for each in given):
        raise ConfigError(f"positions = {given} cannot work; it must be a list of whole numbers")
    return tuple(given)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    require(value in allowed, name, value, f"it must be one of {', '.join(allowed)}")


def _counted(name: str, value: int, last: int) -> None:
    require(1 <= value <= last, name, value, f"this model has {name}s 1 to {last}")

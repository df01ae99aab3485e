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
_WORDS = {"kind": KINDS, "stack": get_args(Stack), "which": get_args(Which), "mode": get_args(Mode)}


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
        _refuse_unknown(vars(self))
        refuse_uncounted("layer", self.layer, layers_of(config, self.kind))
        refuse_uncounted("head", self.head, config.heads)


@dataclass(frozen=True)
class Sublayer:
    """An attention or a feed-forward that is skipped: it adds nothing to what passes by."""

    type: ClassVar = "sublayer"
    stack: Stack
    layer: int
    which: Which

    def check(self, config: ModelConfig, source: int) -> None:
        del source
        _refuse_unknown(vars(self))
        there = self.stack == "decoder" or self.which != "cross"
        require(there, "which", self.which, "the encoder has self and ffn")
        refuse_uncounted("layer", self.layer, layers_of(config, self.stack))


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


def refuse_uncounted(name: str, value: int, last: int) -> None:
    """A layer or a head that the model does not have."""
    require(1 <= value <= last, name, value, f"this model has {name}s 1 to {last}")


def intervention_to_json(intervention: Intervention) -> dict[str, Any]:
    said = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(intervention).items()}
    return {"type": intervention.type, **said}


def intervention_from_json(said: object) -> Intervention:
    """Refuses what is none, in one line; `check` says later whether the model has such a place."""
    type_ = said.get("type") if isinstance(said, Mapping) else None
    if not isinstance(said, Mapping) or not isinstance(type_, str) or type_ not in _TYPES:
        raise ConfigError(f"{said} is no intervention; its type must be one of {', '.join(_TYPES)}")
    known = {field.name: said[field.name] for field in fields(_TYPES[type_]) if field.name in said}
    _refuse_unknown(known)
    if "positions" in known:
        known["positions"] = _positions(known["positions"])
    for name in ("layer", "head"):
        if name in known and not _whole(known[name]):
            raise ConfigError(f"{name} = {known[name]} cannot work; it must be a whole number")
    try:
        return _TYPES[type_](**known)
    except TypeError:
        missing = [field.name for field in fields(_TYPES[type_]) if field.name not in known]
        raise ConfigError(f"an intervention of type {type_} needs {', '.join(missing)}, too") from None


def _positions(given: object) -> tuple[int, ...]:
    if not isinstance(given, (list, tuple)) or not all(map(_whole, given)):
        raise ConfigError(f"positions = {given} cannot work; it must be a list of whole numbers")
    return tuple(given)


def _whole(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _refuse_unknown(said: Mapping[str, Any]) -> None:
    """Words that are none of those there are."""
    for name, words in _WORDS.items():
        if name in said:
            require(said[name] in words, name, said[name], f"it must be one of {', '.join(words)}")

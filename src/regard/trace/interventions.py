"""What is changed before a translation is looked at again; layers and heads are counted from 1."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from regard.errors import ConfigError, require_setting
from regard.model.config import ModelConfig

AttentionKind = Literal["encoder", "decoder", "cross"]
"""Of attention: among source words, among target words so far, from target to source."""
StackName = Literal["encoder", "decoder"]
SublayerKind = Literal["self", "cross", "ffn"]
HeadMode = Literal["zero", "uniform"]

ATTENTION_KINDS: tuple[AttentionKind, ...] = get_args(AttentionKind)
_CHOICES = {
    "kind": ATTENTION_KINDS,
    "stack": get_args(StackName),
    "which": get_args(SublayerKind),
    "mode": get_args(HeadMode),
}


@dataclass(frozen=True)
class DisableHead:
    """A head that says nothing (zero), or that looks at everything alike (uniform)."""

    type: ClassVar = "head"
    kind: AttentionKind
    layer: int
    head: int
    mode: HeadMode = "zero"

    def check(self, config: ModelConfig, source_length: int) -> None:
        del source_length
        _require_known_choices(vars(self))
        require_index("layer", self.layer, count_attention_layers(config, self.kind))
        require_index("head", self.head, config.heads)


@dataclass(frozen=True)
class SkipSublayer:
    """An attention or a feed-forward that is skipped: it adds nothing to what passes by."""

    type: ClassVar = "sublayer"
    stack: StackName
    layer: int
    which: SublayerKind

    def check(self, config: ModelConfig, source_length: int) -> None:
        del source_length
        _require_known_choices(vars(self))
        there = self.stack == "decoder" or self.which != "cross"
        require_setting(there, "which", self.which, "the encoder has self and ffn")
        require_index("layer", self.layer, count_attention_layers(config, self.stack))


@dataclass(frozen=True)
class RemovePositions:
    """No position is added to any word, on either side."""

    type: ClassVar = "positions"

    def check(self, config: ModelConfig, source_length: int) -> None:
        """It can always be done."""


@dataclass(frozen=True)
class HideSource:
    """Source tokens that nobody may look at, neither the encoder nor the decoder."""

    type: ClassVar = "hide_source"
    positions: tuple[int, ...]
    """Their indexes among the source's tokens, counted from 0."""

    def check(self, config: ModelConfig, source_length: int) -> None:
        del config
        for position in self.positions:
            if not 0 <= position < source_length:
                raise ConfigError(f"source token {position + 1} cannot be hidden; there are {source_length}")
        if len(set(self.positions)) >= source_length:
            raise ConfigError("not all of the source can be hidden; leave one token visible")


Intervention = DisableHead | SkipSublayer | RemovePositions | HideSource
_TYPES: dict[str, type[Intervention]] = {
    each.type: each for each in (DisableHead, SkipSublayer, RemovePositions, HideSource)
}


def count_attention_layers(config: ModelConfig, kind: AttentionKind) -> int:
    """How many layers have attention of that kind."""
    return config.encoder_layers if kind == "encoder" else config.decoder_layers


def require_index(name: str, value: int, count: int) -> None:
    """A layer or a head that the model does not have."""
    require_setting(1 <= value <= count, name, value, f"this model has {name}s 1 to {count}")


def intervention_to_json(intervention: Intervention) -> dict[str, Any]:
    said = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(intervention).items()}
    return {"type": intervention.type, **said}


def intervention_from_json(said: object) -> Intervention:
    """Refuses what is none, in one line; `check` says later whether the model has such a place."""
    type_ = said.get("type") if isinstance(said, Mapping) else None
    if not isinstance(said, Mapping) or not isinstance(type_, str) or type_ not in _TYPES:
        raise ConfigError(f"{said} is no intervention; its type must be one of {', '.join(_TYPES)}")
    known = {field.name: said[field.name] for field in fields(_TYPES[type_]) if field.name in said}
    _require_known_choices(known)
    if "positions" in known:
        known["positions"] = _parse_positions(known["positions"])
    for name in ("layer", "head"):
        if name in known and not _is_integer(known[name]):
            raise ConfigError(f"{name} = {known[name]} cannot work; it must be a whole number")
    try:
        return _TYPES[type_](**known)
    except TypeError:
        missing = [field.name for field in fields(_TYPES[type_]) if field.name not in known]
        raise ConfigError(f"an intervention of type {type_} needs {', '.join(missing)}, too") from None


def _parse_positions(given: object) -> tuple[int, ...]:
    if not isinstance(given, (list, tuple)) or not all(map(_is_integer, given)):
        raise ConfigError(f"positions = {given} cannot work; it must be a list of whole numbers")
    return tuple(given)


def _is_integer(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _require_known_choices(said: Mapping[str, Any]) -> None:
    """Words that are none of those there are."""
    for name, words in _CHOICES.items():
        if name in said:
            require_setting(said[name] in words, name, said[name], f"it must be one of {', '.join(words)}")

"""Interventions on a traced model (disable heads, skip sublayers, hide tokens) and their JSON.

Layers and heads are counted from 1.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from regard.errors import ConfigError, require_setting
from regard.model.config import ModelConfig

AttentionKind = Literal["encoder", "decoder", "cross"]
"""Encoder self-attention, decoder self-attention, or cross-attention."""
StackName = Literal["encoder", "decoder"]
SublayerKind = Literal["self", "cross", "ffn"]
HeadMode = Literal["zero", "uniform"]

ATTENTION_KINDS: tuple[AttentionKind, ...] = get_args(AttentionKind)
_CHOICES = {
    "kind": ATTENTION_KINDS,
    "stack": get_args(StackName),
    "sublayer": get_args(SublayerKind),
    "mode": get_args(HeadMode),
}


@dataclass(frozen=True)
class AblateHead:
    """A head without output (zero), or with equal weight on every visible key (uniform)."""

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
    """A skipped attention or feed-forward: it adds nothing to the residual stream."""

    type: ClassVar = "sublayer"
    stack: StackName
    layer: int
    sublayer: SublayerKind

    def check(self, config: ModelConfig, source_length: int) -> None:
        del source_length
        _require_known_choices(vars(self))
        is_present = self.stack == "decoder" or self.sublayer != "cross"
        require_setting(is_present, "sublayer", self.sublayer, "the encoder has self and ffn")
        require_index("layer", self.layer, count_attention_layers(config, self.stack))


@dataclass(frozen=True)
class RemovePositions:
    """No positional encoding, in encoder and decoder."""

    type: ClassVar = "positions"

    def check(self, config: ModelConfig, source_length: int) -> None:
        """Accept every model."""


@dataclass(frozen=True)
class MaskSource:
    """Source tokens masked in the encoder and in cross-attention."""

    type: ClassVar = "mask_source"
    positions: tuple[int, ...]
    """Indexes of source tokens, counted from 0."""

    def check(self, config: ModelConfig, source_length: int) -> None:
        del config
        for position in self.positions:
            if not 0 <= position < source_length:
                raise ConfigError(f"source token {position + 1} cannot be masked; there are {source_length}")
        if len(set(self.positions)) >= source_length:
            raise ConfigError("not all source tokens can be masked; leave one visible")


Intervention = AblateHead | SkipSublayer | RemovePositions | MaskSource
_TYPES: dict[str, type[Intervention]] = {
    each.type: each for each in (AblateHead, SkipSublayer, RemovePositions, MaskSource)
}


def count_attention_layers(config: ModelConfig, kind: AttentionKind) -> int:
    """Return how many layers have attention of this kind."""
    return config.encoder_layers if kind == "encoder" else config.decoder_layers


def require_index(name: str, value: int, count: int) -> None:
    """Reject a layer or a head that the model does not have."""
    require_setting(1 <= value <= count, name, value, f"this model has {name}s 1 to {count}")


def intervention_to_json(intervention: Intervention) -> dict[str, Any]:
    values = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(intervention).items()}
    return {"type": intervention.type, **values}


def intervention_from_json(value: object) -> Intervention:
    """Parse an intervention; `check` tests later whether the model has that layer or head."""
    type_ = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(type_, str) or type_ not in _TYPES:
        raise ConfigError(f"{value} is not an intervention; its type must be one of {', '.join(_TYPES)}")
    known = {field.name: value[field.name] for field in fields(_TYPES[type_]) if field.name in value}
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
        raise ConfigError(f"an intervention of type {type_} also needs {', '.join(missing)}") from None


def _parse_positions(value: object) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)) or not all(map(_is_integer, value)):
        raise ConfigError(f"positions = {value} cannot work; it must be a list of whole numbers")
    return tuple(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _require_known_choices(values: Mapping[str, Any]) -> None:
    """Reject a kind, stack, sublayer or mode that does not exist."""
    for name, allowed in _CHOICES.items():
        if name in values:
            require_setting(
                values[name] in allowed, name, values[name], f"it must be one of {', '.join(allowed)}"
            )

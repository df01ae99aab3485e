"""Trace: one translation as plain arrays and values, to JSON and back; no torch."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from jaxtyping import Float

from regard.checkpoint import write_file
from regard.errors import DataError, RegardError
from regard.text.unicode import printable
from regard.trace.interventions import Kind
from regard.trace.packing import Dtype, pack, unpack
from regard.trace.request import Request
from regard.trace.schema import (
    Beam,
    Candidate,
    Finished,
    Greedy,
    Guess,
    HeadFacts,
    ModelFacts,
    Node,
    Side,
    Step,
    Target,
    Timing,
    Token,
    Vocab,
)

if TYPE_CHECKING:
    from regard.trace.page import Frame

FORMAT, VERSION = "regard.trace", 1
FINE = 128
"""Tokens up to which weights are packed in 16 bits; above, in 8."""
NAMED = 40
"""Characters of each text that a trace is named by."""

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Residual:
    """How long the vectors are that pass through a stack: embedding, then each sublayer."""

    points: tuple[str, ...]
    """embed, 1.self, 1.ffn, and so on: layers are counted from 1."""
    stream: Float[np.ndarray, "points length"]
    """Norm of what leaves the point."""
    update: Float[np.ndarray, "points length"]
    """Norm of what the point added."""


@dataclass(frozen=True, eq=False)
class Projections:
    """Queries, keys and values of some layers."""

    layers: tuple[int, ...]
    """Which, counted from 1."""
    q: Float[np.ndarray, "layers heads query d_k"]
    k: Float[np.ndarray, "layers heads key d_k"]
    v: Float[np.ndarray, "layers heads key d_k"]


@dataclass(frozen=True, eq=False)
class Trace:
    """One translation and all that produced it; or one text that was classified, or one series foretold.

    S source tokens and T target tokens, both with their end mark. Row 0 of decoder and cross
    attention reads <s> and predicts target token 0.
    """

    id: str
    regard: str
    """The version that wrote it."""
    model: ModelFacts
    request: Request
    source: Side
    target: Target
    attention: Mapping[str, Float[np.ndarray, "layers heads query key"]]
    """Of the kinds encoder, decoder and cross, those there are; rows sum to 1, masked is exactly 0."""
    value_norm: Mapping[str, Float[np.ndarray, "layers heads key"]]
    """Norm of what each key would add if all weight lay on it."""
    residual: Mapping[str, Residual]
    """Of the stacks encoder and decoder, as far as there are both."""
    steps: tuple[Step, ...]
    """One for each target token."""
    lens: tuple[tuple[Guess, ...], ...]
    """By decoder layer and target token."""
    heads: Mapping[str, tuple[tuple[HeadFacts, ...], ...]]
    """By kind, layer and head."""
    beam: Beam | None
    """None: the translation was given."""
    timing: Timing
    pieces: Mapping[int, str]
    """By id, with ▁ for a space, every token that target, steps, lens and beam name."""
    qkv: Mapping[str, Projections] | None = None
    """Only where asked for: they are large."""
    omitted: tuple[str, ...] = field(default=())
    """What was left out because of its size."""

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        source, target = (printable(side.text, NAMED) for side in (self.source, self.target))
        model, size = self.model, f"{len(self.source.tokens)}×{len(self.target.tokens)}"
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers, {model.heads} heads"
        return f'Trace("{source}" → "{target}", {layers}, {size} tokens)'

    def to_json(self) -> dict[str, Any]:
        """As trace.v1.schema.json says."""
        longest = max(len(self.source.tokens), len(self.target.tokens))
        shares: Dtype = "u16" if longest <= FINE else "u8"
        said: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "regard": self.regard,
            "id": self.id,
            "model": asdict(self.model),
            "request": self.request.to_json(),
            "source": {"text": self.source.text, "tokens": [_token(t, False) for t in self.source.tokens]},
            "target": {
                **_plain(self.target, without="tokens"),
                "tokens": [_token(token, True) for token in self.target.tokens],
            },
            "attention": {kind: pack(array, shares) for kind, array in self.attention.items()},
            "value_norm": {kind: pack(array, "f32") for kind, array in self.value_norm.items()},
            "residual": {stack: _residual(each) for stack, each in self.residual.items()},
            "steps": [asdict(step) for step in self.steps],
            "lens": [[asdict(guess) for guess in layer] for layer in self.lens],
            "heads": {
                kind: [[asdict(head) for head in layer] for layer in layers]
                for kind, layers in self.heads.items()
            },
            "beam": None if self.beam is None else asdict(self.beam),
            "timing": asdict(self.timing),
            "pieces": {str(id): piece for id, piece in self.pieces.items()},
            "omitted": list(self.omitted),
        }
        if self.qkv is not None:
            said["qkv"] = {kind: _projections(each) for kind, each in self.qkv.items()}
        return said

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> "Trace":
        """The trace that `to_json` wrote, here or in a later version 1; what is unknown in it is ignored."""
        if not isinstance(said, Mapping) or said.get("format") != FORMAT:
            raise DataError(f'this is no trace: it does not say "format": "{FORMAT}"')
        if said.get("version") != VERSION:
            raise DataError(
                f"the trace has version {said.get('version')}, this regard reads {VERSION}; upgrade regard"
            )
        try:
            return _trace(said)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"the trace is incomplete or damaged: {error}") from None

    def save(self, path: str | Path) -> None:
        """Writes the file whole: NAME.json, or NAME.html, a page that shows it and needs nothing else."""
        path = Path(path)
        match path.suffix:
            case ".json":
                write_file(path, self.dumps())
            case ".html":
                from regard.trace.page import document

                write_file(path, document(self))
            case _:
                raise RegardError(f"{path} is no name for a trace; end it in .json or .html")

    def show(
        self,
        page: str = "attention",
        *,
        kind: Kind | None = None,
        layer: int | None = None,
        head: int | None = None,
        height: int = 640,
    ) -> "Frame":
        """The page inside a notebook, opened at that place; layers and heads are counted from 1."""
        from regard.trace.page import frame, opening

        return frame(self, opening(self, page, kind, layer, head), height)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.show()._repr_html_()

    def dumps(self) -> str:
        """The JSON as text; no number in it is infinite."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"

    @staticmethod
    def load(path: str | Path) -> "Trace":
        """The trace that `save` wrote."""
        try:
            said = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"{path} cannot be read as a trace: {error}") from None
        return Trace.from_json(said)


def _trace(said: Mapping[str, Any]) -> Trace:
    beam, qkv = said["beam"], said.get("qkv")
    model = _known(ModelFacts, {**said["model"], "vocab": _known(Vocab, said["model"]["vocab"])})
    return Trace(
        id=said["id"],
        regard=said["regard"],
        model=model,
        request=Request.from_json(said["request"]),
        source=Side(said["source"]["text"], _all(Token, said["source"]["tokens"])),
        target=_known(Target, {**said["target"], "tokens": _all(Token, said["target"]["tokens"])}),
        attention={kind: unpack(packed) for kind, packed in said["attention"].items()},
        value_norm={kind: unpack(packed) for kind, packed in said["value_norm"].items()},
        residual={stack: _read_residual(each) for stack, each in said["residual"].items()},
        steps=tuple(_known(Step, {**step, "top": _all(Candidate, step["top"])}) for step in said["steps"]),
        lens=tuple(_all(Guess, layer) for layer in said["lens"]),
        heads={kind: tuple(_all(HeadFacts, layer) for layer in each) for kind, each in said["heads"].items()},
        beam=None if beam is None else _read_beam(beam),
        timing=_known(Timing, said["timing"]),
        pieces={int(id): piece for id, piece in said["pieces"].items()},
        qkv=None if qkv is None else {kind: _read_projections(qkv[kind]) for kind in qkv},
        omitted=tuple(said["omitted"]),
    )


def _plain(value: Any, without: str) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.name != without}


def _token(token: Token, is_target: bool) -> dict[str, Any]:
    """Without what says nothing about it."""
    said = asdict(token)
    if token.special is None:
        del said["special"]
    if not is_target or token.logprob is None:
        del said["logprob"]
    return said


def _residual(residual: Residual) -> dict[str, Any]:
    return {
        "points": list(residual.points),
        "stream": pack(residual.stream, "f32"),
        "update": pack(residual.update, "f32"),
    }


def _read_residual(said: Mapping[str, Any]) -> Residual:
    return Residual(tuple(said["points"]), unpack(said["stream"]), unpack(said["update"]))


def _projections(each: Projections) -> dict[str, Any]:
    packed = {name: pack(getattr(each, name), "f16") for name in ("q", "k", "v")}
    return {"layers": list(each.layers), **packed}


def _read_projections(said: Mapping[str, Any]) -> Projections:
    return Projections(tuple(said["layers"]), *(unpack(said[name]) for name in ("q", "k", "v")))


def _read_beam(said: Mapping[str, Any]) -> Beam:
    greedy = {**said["greedy"], "tokens": tuple(said["greedy"]["tokens"])}
    return Beam(
        said["size"],
        said["alpha"],
        _all(Node, said["nodes"]),
        _all(Finished, said["finished"]),
        _known(Greedy, greedy),
    )


def _all(cls: type[Value], items: Iterable[Mapping[str, Any]]) -> tuple[Value, ...]:
    return tuple(_known(cls, item) for item in items)


def _known(cls: type[Value], said: Mapping[str, Any]) -> Value:
    """The value, from what is known of it."""
    names = [each.name for each in fields(cast(Any, cls))]
    return cls(**{name: said[name] for name in names if name in said})

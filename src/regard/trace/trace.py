"""Trace: one translation as plain arrays and values, to JSON and back; no torch."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from jaxtyping import Float

from regard.checkpoint import write_file_atomically
from regard.errors import DataError, RegardError
from regard.text.unicode import sanitize_for_display
from regard.trace.interventions import AttentionKind
from regard.trace.packing import PackedDtype, pack_array, unpack_array
from regard.trace.request import TraceRequest
from regard.trace.schema import (
    BeamNode,
    BeamRecord,
    FinishedHypothesis,
    GreedyResult,
    HeadSummary,
    LensPrediction,
    ModelFacts,
    PredictionStep,
    TokenCandidate,
    TraceSource,
    TraceTarget,
    TraceTiming,
    TraceToken,
    VocabSizes,
)

if TYPE_CHECKING:
    from regard.trace.page import NotebookFrame

TRACE_FORMAT, TRACE_VERSION = "regard.trace", 1
MAX_TOKENS_IN_16_BITS = 128
"""Tokens up to which weights are packed in 16 bits; above, in 8."""
REPR_CHARACTERS = 40
"""Characters of each text that a trace is named by."""

SchemaT = TypeVar("SchemaT")


@dataclass(frozen=True, eq=False)
class ResidualNorms:
    """How long the vectors are that pass through a stack: embedding, then each sublayer."""

    points: tuple[str, ...]
    """embed, 1.self, 1.ffn, and so on: layers are counted from 1."""
    stream: Float[np.ndarray, "points length"]
    """Norm of what leaves the point."""
    update: Float[np.ndarray, "points length"]
    """Norm of what the point added."""


@dataclass(frozen=True, eq=False)
class QkvProjections:
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
    request: TraceRequest
    source: TraceSource
    target: TraceTarget
    attention: Mapping[str, Float[np.ndarray, "layers heads query key"]]
    """Of the kinds encoder, decoder and cross, those there are; rows sum to 1, masked is exactly 0."""
    value_norm: Mapping[str, Float[np.ndarray, "layers heads key"]]
    """Norm of what each key would add if all weight lay on it."""
    residual: Mapping[str, ResidualNorms]
    """Of the stacks encoder and decoder, as far as there are both."""
    steps: tuple[PredictionStep, ...]
    """One for each target token."""
    lens: tuple[tuple[LensPrediction, ...], ...]
    """By decoder layer and target token."""
    heads: Mapping[str, tuple[tuple[HeadSummary, ...], ...]]
    """By kind, layer and head."""
    beam: BeamRecord | None
    """None: the translation was given."""
    timing: TraceTiming
    pieces: Mapping[int, str]
    """By id, with ▁ for a space, every token that target, steps, lens and beam name."""
    qkv: Mapping[str, QkvProjections] | None = None
    """Only where asked for: they are large."""
    omitted: tuple[str, ...] = field(default=())
    """What was left out because of its size."""

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        source, target = (
            sanitize_for_display(side.text, REPR_CHARACTERS) for side in (self.source, self.target)
        )
        model, size = self.model, f"{len(self.source.tokens)}×{len(self.target.tokens)}"
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers, {model.heads} heads"
        return f'Trace("{source}" → "{target}", {layers}, {size} tokens)'

    def to_json(self) -> dict[str, Any]:
        """As trace.v1.schema.json says."""
        longest = max(len(self.source.tokens), len(self.target.tokens))
        shares: PackedDtype = "u16" if longest <= MAX_TOKENS_IN_16_BITS else "u8"
        said: dict[str, Any] = {
            "format": TRACE_FORMAT,
            "version": TRACE_VERSION,
            "regard": self.regard,
            "id": self.id,
            "model": asdict(self.model),
            "request": self.request.to_json(),
            "source": {
                "text": self.source.text,
                "tokens": [_token_to_json(t, False) for t in self.source.tokens],
            },
            "target": {
                **_fields_without(self.target, without="tokens"),
                "tokens": [_token_to_json(token, True) for token in self.target.tokens],
            },
            "attention": {kind: pack_array(array, shares) for kind, array in self.attention.items()},
            "value_norm": {kind: pack_array(array, "f32") for kind, array in self.value_norm.items()},
            "residual": {stack: _residual_to_json(each) for stack, each in self.residual.items()},
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
            said["qkv"] = {kind: _projections_to_json(each) for kind, each in self.qkv.items()}
        return said

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> "Trace":
        """The trace that `to_json` wrote, here or in a later version 1; what is unknown in it is ignored."""
        if not isinstance(said, Mapping) or said.get("format") != TRACE_FORMAT:
            raise DataError(f'this is no trace: it does not say "format": "{TRACE_FORMAT}"')
        if said.get("version") != TRACE_VERSION:
            raise DataError(
                f"the trace has version {said.get('version')}, this regard reads {TRACE_VERSION}; upgrade regard"
            )
        try:
            return _parse_trace(said)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"the trace is incomplete or damaged: {error}") from None

    def save(self, path: str | Path) -> None:
        """Writes the file whole: NAME.json, or NAME.html, a page that shows it and needs nothing else."""
        path = Path(path)
        match path.suffix:
            case ".json":
                write_file_atomically(path, self.dumps())
            case ".html":
                from regard.trace.page import render_trace_html

                write_file_atomically(path, render_trace_html(self))
            case _:
                raise RegardError(f"{path} is no name for a trace; end it in .json or .html")

    def show(
        self,
        page: str = "attention",
        *,
        kind: AttentionKind | None = None,
        layer: int | None = None,
        head: int | None = None,
        height: int = 640,
    ) -> "NotebookFrame":
        """The page inside a notebook, opened at that place; layers and heads are counted from 1."""
        from regard.trace.page import build_view_fragment, render_notebook_frame

        return render_notebook_frame(self, build_view_fragment(self, page, kind, layer, head), height)

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


def _parse_trace(said: Mapping[str, Any]) -> Trace:
    beam, qkv = said["beam"], said.get("qkv")
    model = _parse_known_fields(
        ModelFacts, {**said["model"], "vocab": _parse_known_fields(VocabSizes, said["model"]["vocab"])}
    )
    return Trace(
        id=said["id"],
        regard=said["regard"],
        model=model,
        request=TraceRequest.from_json(said["request"]),
        source=TraceSource(said["source"]["text"], _parse_all(TraceToken, said["source"]["tokens"])),
        target=_parse_known_fields(
            TraceTarget, {**said["target"], "tokens": _parse_all(TraceToken, said["target"]["tokens"])}
        ),
        attention={kind: unpack_array(packed) for kind, packed in said["attention"].items()},
        value_norm={kind: unpack_array(packed) for kind, packed in said["value_norm"].items()},
        residual={stack: _residual_from_json(each) for stack, each in said["residual"].items()},
        steps=tuple(
            _parse_known_fields(PredictionStep, {**step, "top": _parse_all(TokenCandidate, step["top"])})
            for step in said["steps"]
        ),
        lens=tuple(_parse_all(LensPrediction, layer) for layer in said["lens"]),
        heads={
            kind: tuple(_parse_all(HeadSummary, layer) for layer in each)
            for kind, each in said["heads"].items()
        },
        beam=None if beam is None else _beam_from_json(beam),
        timing=_parse_known_fields(TraceTiming, said["timing"]),
        pieces={int(id): piece for id, piece in said["pieces"].items()},
        qkv=None if qkv is None else {kind: _projections_from_json(qkv[kind]) for kind in qkv},
        omitted=tuple(said["omitted"]),
    )


def _fields_without(value: Any, without: str) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.name != without}


def _token_to_json(token: TraceToken, is_target: bool) -> dict[str, Any]:
    """Without what says nothing about it."""
    said = asdict(token)
    if token.special is None:
        del said["special"]
    if not is_target or token.logprob is None:
        del said["logprob"]
    return said


def _residual_to_json(residual: ResidualNorms) -> dict[str, Any]:
    return {
        "points": list(residual.points),
        "stream": pack_array(residual.stream, "f32"),
        "update": pack_array(residual.update, "f32"),
    }


def _residual_from_json(said: Mapping[str, Any]) -> ResidualNorms:
    return ResidualNorms(tuple(said["points"]), unpack_array(said["stream"]), unpack_array(said["update"]))


def _projections_to_json(each: QkvProjections) -> dict[str, Any]:
    packed = {name: pack_array(getattr(each, name), "f16") for name in ("q", "k", "v")}
    return {"layers": list(each.layers), **packed}


def _projections_from_json(said: Mapping[str, Any]) -> QkvProjections:
    return QkvProjections(tuple(said["layers"]), *(unpack_array(said[name]) for name in ("q", "k", "v")))


def _beam_from_json(said: Mapping[str, Any]) -> BeamRecord:
    greedy = {**said["greedy"], "tokens": tuple(said["greedy"]["tokens"])}
    return BeamRecord(
        said["size"],
        said["alpha"],
        _parse_all(BeamNode, said["nodes"]),
        _parse_all(FinishedHypothesis, said["finished"]),
        _parse_known_fields(GreedyResult, greedy),
    )


def _parse_all(cls: type[SchemaT], items: Iterable[Mapping[str, Any]]) -> tuple[SchemaT, ...]:
    return tuple(_parse_known_fields(cls, item) for item in items)


def _parse_known_fields(cls: type[SchemaT], said: Mapping[str, Any]) -> SchemaT:
    """The value, from what is known of it."""
    names = [each.name for each in fields(cast(Any, cls))]
    return cls(**{name: said[name] for name in names if name in said})

"""Trace: one recorded prediction as NumPy arrays and plain values, with its JSON format; no torch."""

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
"""Up to this length attention weights are packed in 16 bits; above it in 8."""
REPR_CHARACTERS = 40
"""Characters of each text in `repr`."""

SchemaT = TypeVar("SchemaT")


@dataclass(frozen=True, eq=False)
class ResidualNorms:
    """Vector norms in the residual stream of a stack: after the embedding and after each sublayer."""

    points: tuple[str, ...]
    """embed, 1.self, 1.ffn, ...; layers are counted from 1."""
    stream: Float[np.ndarray, "points length"]
    """Norm of the residual stream after the point."""
    update: Float[np.ndarray, "points length"]
    """Norm of the point's update."""


@dataclass(frozen=True, eq=False)
class QkvProjections:
    """Queries, keys and values of some layers."""

    layers: tuple[int, ...]
    """Layer numbers, from 1."""
    q: Float[np.ndarray, "layers heads query d_k"]
    k: Float[np.ndarray, "layers heads key d_k"]
    v: Float[np.ndarray, "layers heads key d_k"]


@dataclass(frozen=True, eq=False)
class Trace:
    """One translation with everything that produced it; or a classified text, or a forecast series.

    Source and target tokens include the end-of-sentence token. Row 0 of decoder and cross-attention
    reads <s> and predicts target token 0.
    """

    id: str
    regard: str
    """Version of regard that wrote the trace."""
    model: ModelFacts
    request: TraceRequest
    source: TraceSource
    target: TraceTarget
    attention: Mapping[str, Float[np.ndarray, "layers heads query key"]]
    """By kind (encoder, decoder, cross); rows sum to 1, masked weights are exactly 0."""
    value_norm: Mapping[str, Float[np.ndarray, "layers heads key"]]
    """Norm of what each key would add at weight 1."""
    residual: Mapping[str, ResidualNorms]
    """By stack (encoder, decoder), as far as the model has both."""
    steps: tuple[PredictionStep, ...]
    """One for each target token."""
    logit_lens: tuple[tuple[LensPrediction, ...], ...]
    """By decoder layer and target token."""
    heads: Mapping[str, tuple[tuple[HeadSummary, ...], ...]]
    """By kind, layer and head."""
    beam: BeamRecord | None
    """None for a given translation."""
    timing: TraceTiming
    vocabulary: Mapping[int, str]
    """Vocabulary entries by id, with ▁ for a space, of every token in target, steps, logit lens and beam."""
    qkv: Mapping[str, QkvProjections] | None = None
    """Only on request: they are large."""
    omitted: tuple[str, ...] = field(default=())
    """Fields left out because of their size."""

    def __repr__(self) -> str:
        """Return one line: the arrays would fill pages."""
        source, target = (
            sanitize_for_display(side.text, REPR_CHARACTERS) for side in (self.source, self.target)
        )
        model, size = self.model, f"{len(self.source.tokens)}×{len(self.target.tokens)}"
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers, {model.heads} heads"
        return f'Trace("{source}" → "{target}", {layers}, {size} tokens)'

    def to_json(self) -> dict[str, Any]:
        """Return JSON as described in trace.v1.schema.json."""
        longest = max(len(self.source.tokens), len(self.target.tokens))
        dtype: PackedDtype = "u16" if longest <= MAX_TOKENS_IN_16_BITS else "u8"
        data: dict[str, Any] = {
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
            "attention": {kind: pack_array(array, dtype) for kind, array in self.attention.items()},
            "value_norm": {kind: pack_array(array, "f32") for kind, array in self.value_norm.items()},
            "residual": {stack: _residual_to_json(each) for stack, each in self.residual.items()},
            "steps": [asdict(step) for step in self.steps],
            "logit_lens": [[asdict(prediction) for prediction in layer] for layer in self.logit_lens],
            "heads": {
                kind: [[asdict(head) for head in layer] for layer in layers]
                for kind, layers in self.heads.items()
            },
            "beam": None if self.beam is None else asdict(self.beam),
            "timing": asdict(self.timing),
            "vocabulary": {str(id): piece for id, piece in self.vocabulary.items()},
            "omitted": list(self.omitted),
        }
        if self.qkv is not None:
            data["qkv"] = {kind: _projections_to_json(each) for kind, each in self.qkv.items()}
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Trace":
        """Parse the output of `to_json`; unknown keys, of a later version, are ignored."""
        if not isinstance(data, Mapping) or data.get("format") != TRACE_FORMAT:
            raise DataError(f'this is not a trace: it has no "format": "{TRACE_FORMAT}"')
        if data.get("version") != TRACE_VERSION:
            raise DataError(
                f"the trace has version {data.get('version')}, this regard reads "
                f"{TRACE_VERSION}; upgrade regard"
            )
        try:
            return _parse_trace(data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"the trace is incomplete or damaged: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write NAME.json, or NAME.html, a self-contained page; the file appears complete or not at all."""
        path = Path(path)
        match path.suffix:
            case ".json":
                write_file_atomically(path, self.dumps())
            case ".html":
                from regard.trace.page import render_trace_html

                write_file_atomically(path, render_trace_html(self))
            case _:
                raise RegardError(f"{path} is not a trace file name; end it in .json or .html")

    def show(
        self,
        page: str = "attention",
        *,
        kind: AttentionKind | None = None,
        layer: int | None = None,
        head: int | None = None,
        height: int = 640,
    ) -> "NotebookFrame":
        """Return the page for a notebook, opened at that view; layers and heads are counted from 1."""
        from regard.trace.page import build_view_fragment, render_notebook_frame

        return render_notebook_frame(self, build_view_fragment(self, page, kind, layer, head), height)

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.show()._repr_html_()

    def dumps(self) -> str:
        """Return the JSON as text; it has no NaN and no infinity."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"

    @staticmethod
    def load(path: str | Path) -> "Trace":
        """Read a JSON file that `save` wrote."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"{path} cannot be read as a trace: {error}") from None
        return Trace.from_json(data)


def _parse_trace(data: Mapping[str, Any]) -> Trace:
    beam, qkv = data["beam"], data.get("qkv")
    model = _parse_known_fields(
        ModelFacts, {**data["model"], "vocab": _parse_known_fields(VocabSizes, data["model"]["vocab"])}
    )
    return Trace(
        id=data["id"],
        regard=data["regard"],
        model=model,
        request=TraceRequest.from_json(data["request"]),
        source=TraceSource(data["source"]["text"], _parse_all(TraceToken, data["source"]["tokens"])),
        target=_parse_known_fields(
            TraceTarget, {**data["target"], "tokens": _parse_all(TraceToken, data["target"]["tokens"])}
        ),
        attention={kind: unpack_array(packed) for kind, packed in data["attention"].items()},
        value_norm={kind: unpack_array(packed) for kind, packed in data["value_norm"].items()},
        residual={stack: _residual_from_json(each) for stack, each in data["residual"].items()},
        steps=tuple(
            _parse_known_fields(PredictionStep, {**step, "top": _parse_all(TokenCandidate, step["top"])})
            for step in data["steps"]
        ),
        logit_lens=tuple(_parse_all(LensPrediction, layer) for layer in data["logit_lens"]),
        heads={
            kind: tuple(_parse_all(HeadSummary, layer) for layer in each)
            for kind, each in data["heads"].items()
        },
        beam=None if beam is None else _beam_from_json(beam),
        timing=_parse_known_fields(TraceTiming, data["timing"]),
        vocabulary={int(id): piece for id, piece in data["vocabulary"].items()},
        qkv=None if qkv is None else {kind: _projections_from_json(qkv[kind]) for kind in qkv},
        omitted=tuple(data["omitted"]),
    )


def _fields_without(value: Any, without: str) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.name != without}


def _token_to_json(token: TraceToken, is_target: bool) -> dict[str, Any]:
    """Leave out `special` and `logprob` where they do not apply."""
    values = asdict(token)
    if token.special is None:
        del values["special"]
    if not is_target or token.logprob is None:
        del values["logprob"]
    return values


def _residual_to_json(residual: ResidualNorms) -> dict[str, Any]:
    return {
        "points": list(residual.points),
        "stream": pack_array(residual.stream, "f32"),
        "update": pack_array(residual.update, "f32"),
    }


def _residual_from_json(data: Mapping[str, Any]) -> ResidualNorms:
    return ResidualNorms(tuple(data["points"]), unpack_array(data["stream"]), unpack_array(data["update"]))


def _projections_to_json(projections: QkvProjections) -> dict[str, Any]:
    packed = {name: pack_array(getattr(projections, name), "f16") for name in ("q", "k", "v")}
    return {"layers": list(projections.layers), **packed}


def _projections_from_json(data: Mapping[str, Any]) -> QkvProjections:
    return QkvProjections(tuple(data["layers"]), *(unpack_array(data[name]) for name in ("q", "k", "v")))


def _beam_from_json(data: Mapping[str, Any]) -> BeamRecord:
    greedy = {**data["greedy"], "tokens": tuple(data["greedy"]["tokens"])}
    return BeamRecord(
        data["size"],
        data["alpha"],
        _parse_all(BeamNode, data["nodes"]),
        _parse_all(FinishedHypothesis, data["finished"]),
        _parse_known_fields(GreedyResult, greedy),
    )


def _parse_all(cls: type[SchemaT], items: Iterable[Mapping[str, Any]]) -> tuple[SchemaT, ...]:
    return tuple(_parse_known_fields(cls, item) for item in items)


def _parse_known_fields(cls: type[SchemaT], values: Mapping[str, Any]) -> SchemaT:
    """Build a value from the known fields; unknown ones are ignored."""
    names = [each.name for each in fields(cast(Any, cls))]
    return cls(**{name: values[name] for name in names if name in values})

"""Tracer: owns a model and its tokenizer, and looks into the translations it makes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import DEFAULT_TASK
from regard.errors import ConfigError, DataError
from regard.model.embedding import Embedding
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.hypothesis import length_penalty
from regard.text.tokenizer import BOS, EOS, SPECIAL_TOKENS, Tokenizer
from regard.text.unicode import reject_lone_surrogates
from regard.trace.attention_steps import compute_attention_steps as one_head
from regard.trace.beam_record import search_with_record
from regard.trace.capture import ForwardCapture, capture_forward
from regard.trace.head_importance import HeadImportance, measure_head_importance
from regard.trace.intervene import apply_interventions, build_source_keep
from regard.trace.interventions import AttentionKind, Intervention, RemovePositions, intervention_from_json
from regard.trace.model_facts import ModelIdentity, build_model_facts
from regard.trace.probes import (
    ContextComparison,
    EmbeddingNeighbour,
    PositionSurvival,
    compare_contexts,
    compare_word_order,
    measure_position_survival,
    nearest_neighbours,
    reverse_word_order,
)
from regard.trace.request import MAX_TRACE_TOKENS, TraceLengthError, TraceRequest, trace_id
from regard.trace.schema import (
    BeamRecord,
    LensPrediction,
    ModelFacts,
    PredictionStep,
    TraceSource,
    TraceTarget,
    TraceTiming,
    TraceToken,
    VocabSizes,
)
from regard.trace.summary import (
    logit_lens,
    prediction_steps,
    qkv_projections,
    residual_norms,
    stack_attention_weights,
    summarize_heads,
    value_norms,
)
from regard.trace.tokens import TokenRenderer, describe_tokens
from regard.trace.trace import Trace
from regard.version import __version__

EmbeddingSide = Literal["source", "target"]


class Tracer:
    """Looks into translations of one model, in fp32, wherever its weights are."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, identity: ModelIdentity) -> None:
        self._model, self._tokenizer, self._identity = model, tokenizer, identity
        self._names = TokenRenderer(tokenizer)

    @property
    def model(self) -> Transformer:
        return self._model

    def build_request(
        self,
        text: str,
        *,
        prefix: str | Sequence[int] = (),
        target: str | Sequence[int] | None = None,
        interventions: Sequence[Intervention | Mapping[str, Any]] = (),
        **options: Any,
    ) -> TraceRequest:
        """What is asked for, with texts as token ids; interventions may be as in a trace's JSON.

        `how` is the rest of `Request`.
        """
        return TraceRequest(
            text,
            prefix=self._to_ids(prefix, "prefix"),
            target=None if target is None else self._to_ids(target, "target"),
            interventions=tuple(
                each if isinstance(each, Intervention) else intervention_from_json(each)
                for each in interventions
            ),
            **options,
        )

    def trace(self, request: TraceRequest, max_tokens: int = MAX_TRACE_TOKENS, qkv: bool = False) -> Trace:
        """One translation, searched for or given, and all that produced it.

        `qkv` adds queries, keys and values, which are large.
        """
        source = self._source_ids(request, max_tokens)
        for intervention in request.interventions:
            intervention.check(self._model.config, len(source))
        model = apply_interventions(self._model, request.interventions)
        began = perf_counter()
        target, beam = self._target_ids(model, request, source, max_tokens)
        decoded = perf_counter()
        captured = self._run_captured(model, request.interventions, source, target)
        choices, logprobs = prediction_steps(captured.logits, target, request.top_k, self._names)
        guesses = logit_lens(model, captured, target, self._names)
        weights = stack_attention_weights(captured)
        hidden = int((~build_source_keep(request.interventions, len(source))).sum())
        ended = perf_counter()
        logprob = sum(logprobs)
        return Trace(
            id=trace_id(self._identity.id, request),
            regard=__version__,
            model=self.model_facts(),
            request=request,
            source=TraceSource(self._names.line(source), tuple(describe_tokens(self._tokenizer, source))),
            target=TraceTarget(
                text=self._names.line(target),
                score=logprob / length_penalty(len(target), request.alpha),
                logprob=logprob,
                forced=beam is None,
                tokens=tuple(describe_tokens(self._tokenizer, target, logprobs)),
            ),
            attention=weights,
            value_norm=value_norms(captured),
            residual=residual_norms(captured),
            steps=tuple(choices),
            lens=guesses,
            heads=summarize_heads(weights, hidden),
            beam=beam,
            timing=TraceTiming(1000 * (decoded - began), 1000 * (ended - decoded)),
            pieces={id: self._names.piece(id) for id in _ids_to_name(target, choices, guesses, beam)},
            qkv=qkv_projections(captured) if qkv else None,
        )

    def with_qkv(self, trace: Trace) -> Trace:
        """The same trace with queries, keys and values: one pass reads it again, nothing is searched for."""
        return replace(trace, qkv=qkv_projections(self._recapture(trace)))

    def attention_steps(
        self, trace: Trace, kind: AttentionKind, layer: int, head: int, position: int
    ) -> dict[str, Any]:
        """How one head makes one word's new vector, as JSON; layer and head count from 1, the row from 0."""
        captured = self._recapture(trace)
        config = self._model.config
        scale = config.attention_scale or config.head_width**-0.5
        keep = build_source_keep(trace.request.interventions, len(trace.source.tokens)).to(self._model.device)
        found = one_head(captured, config.norm, scale, keep, kind, layer, head, position)
        source_texts, target_texts = _token_texts(trace.source.tokens), _token_texts(trace.target.tokens)
        read = source_texts if kind == "encoder" else [SPECIAL_TOKENS[BOS], *target_texts[:-1]]
        keys = read if kind == "decoder" else source_texts
        return found.to_json(read[position], keys, None if kind == "encoder" else target_texts[position])

    def measure_heads(self, trace: Trace) -> Iterator[HeadImportance]:
        """One head after another, as measured; `with_matters` writes them into the trace."""
        source, target = _token_ids(trace.source.tokens), _token_ids(trace.target.tokens)
        changes = trace.request.interventions
        keep = build_source_keep(changes, len(source)).to(self._model.device)
        model = apply_interventions(self._model, changes)
        yield from measure_head_importance(
            model, self._row(source), keep, self._row(_decoder_input(target)), self._row(target)
        )

    def nearest_tokens(
        self, word: str, count: int = 10, side: EmbeddingSide = "source"
    ) -> list[EmbeddingNeighbour]:
        """The pieces that lie nearest to a word in the embedding of that side."""
        return nearest_neighbours(self._embedding_weights(side), self._tokenizer, word, count)

    def compare_contexts(
        self, word: str, first: str, second: str, max_tokens: int = MAX_TRACE_TOKENS
    ) -> ContextComparison:
        """One word in two sentences: the same row of the embedding, and what the encoder makes of it."""
        texts = (first, second)
        rows = [self._source_ids(TraceRequest(text), max_tokens) for text in texts]
        model = apply_interventions(self._model, ())
        passes = [self._run_captured(model, (), row, [EOS]) for row in rows]
        return compare_contexts(
            self._embedding_weights("source"),
            self._tokenizer,
            word,
            (rows[0], rows[1]),
            (passes[0], passes[1]),
        )

    def measure_position_survival(self, trace: Trace) -> dict[str, PositionSurvival]:
        """How much of the positions is left, point by point, in each stack."""
        captured = self._recapture(trace)
        encoder, decoder = (embedding.positions.table for embedding in self._embeddings())
        return {
            "encoder": measure_position_survival(encoder, captured.source_embedded, captured.encoder),
            "decoder": measure_position_survival(decoder, captured.target_embedded, captured.decoder),
        }

    def compare_word_orders(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> dict[str, Any]:
        """The words as given and in reverse, with positions and without, as JSON."""
        source = self._source_ids(TraceRequest(text), max_tokens)
        row = describe_tokens(self._tokenizer, source)
        order = reverse_word_order([token.word for token in row])
        models = {
            "with": apply_interventions(self._model, ()),
            "without": apply_interventions(self._model, (RemovePositions(),)),
        }
        found = {
            name: compare_word_order(model, self._row(source), order, BOS) for name, model in models.items()
        }
        words = len(row) - 1  # the end mark is none
        ways = (list(range(len(row))), order)
        return {
            "texts": self._tokenizer.detokenize([[source[place] for place in way] for way in ways]),
            "orders": [[row[place].text for place in way[:words]] for way in ways],
            **{
                name: {
                    "words": list(each.token_differences[:words]),
                    "mean": each.mean_difference,
                    "probability": each.probability_difference,
                    "first": [
                        {"text": self._names.text(id), "prob": sure}
                        for id, sure in zip(each.first_tokens, each.first_probabilities, strict=True)
                    ],
                }
                for name, each in found.items()
            },
        }

    def position_table(self, length: int) -> Float[np.ndarray, "length d_model"]:
        """The model's own table, fixed or learnt, of the source side."""
        return self._embeddings()[0].positions.table[:length].detach().float().cpu().numpy()

    def model_facts(self) -> ModelFacts:
        """What a trace says of its model."""
        model, config = self._model, self._model.config
        layers = (config.encoder_layers, config.decoder_layers)
        vocab, shared = VocabSizes(config.vocab_size, config.vocab_size), config.tied == "all"
        return build_model_facts(self._identity, model, config, layers, vocab, DEFAULT_TASK, shared=shared)

    def _source_ids(self, request: TraceRequest, max_tokens: int) -> list[int]:
        """The ids that the encoder reads, the end mark among them."""
        reject_lone_surrogates("the text", request.text)
        (ids,) = self._tokenizer.tokenize([request.text.strip()])
        if not ids:
            raise DataError("the text is blank; there is nothing to trace")
        self._check_length("the text", len(ids) + 1, max_tokens)
        return [*ids, EOS]

    def _target_ids(
        self, model: Transformer, request: TraceRequest, source: Sequence[int], max_tokens: int
    ) -> tuple[list[int], BeamRecord | None]:
        """The ids that are written, the end mark among them, and how they were found unless given."""
        if request.target is not None:
            self._check_length("the translation", len(request.target) + 1, max_tokens)
            return [*request.target, EOS], None
        self._check_length("the beginning", len(request.prefix) + 1, max_tokens)
        wanted = min(max(len(source) - 1 + request.max_extra, len(request.prefix)), self._model.max_tokens)
        best, beam = search_with_record(
            model,
            self._row(source),
            build_source_keep(request.interventions, len(source)).to(model.device),
            min(wanted, max_tokens),  # one more than may be traced: longer ones are refused, not cut
            request.prefix,
            SearchConfig(request.beam, request.alpha),
            self._names,
        )
        self._check_length("the translation", len(best.tokens) + 1, max_tokens)
        return [*best.tokens, EOS], beam

    def _check_length(self, what: str, count: int, max_tokens: int) -> None:
        own = self._model.max_tokens + 1
        if count > min(max_tokens, own):
            raise TraceLengthError(
                what, count, min(max_tokens, own), "max_tokens" if max_tokens < own else None
            )

    def _recapture(self, trace: Trace) -> ForwardCapture:
        """Run the sentence and translation of a trace once more, with its interventions."""
        source, target = _token_ids(trace.source.tokens), _token_ids(trace.target.tokens)
        interventions = trace.request.interventions
        model = apply_interventions(self._model, interventions)
        return self._run_captured(model, interventions, source, target)

    def _run_captured(
        self,
        model: Transformer,
        interventions: Sequence[Intervention],
        source: Sequence[int],
        target: Sequence[int],
    ) -> ForwardCapture:
        keep = build_source_keep(interventions, len(source)).to(model.device)
        return capture_forward(model, self._row(source), keep, self._row(_decoder_input(target)))

    def _embeddings(self) -> tuple[Embedding, Embedding]:
        return self._model.source_embedding, self._model.target_embedding

    def _embedding_weights(self, side: EmbeddingSide) -> Tensor:
        return self._embeddings()[side == "target"].tokens.weight

    def _row(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=self._model.device)

    def _to_ids(self, given: str | Sequence[int], name: str) -> tuple[int, ...]:
        if isinstance(given, str):
            reject_lone_surrogates(f"the {name}", given)
            return tuple(self._tokenizer.tokenize([given.strip()])[0])
        for id in given:
            if not (isinstance(id, int) and len(SPECIAL_TOKENS) <= id < self._tokenizer.vocab_size):
                raise ConfigError(
                    f"{name} has a token {id}; ids run from {len(SPECIAL_TOKENS)} to {self._tokenizer.vocab_size - 1}"
                )
        return tuple(given)


def _decoder_input(target: Sequence[int]) -> list[int]:
    """What the decoder reads to write these tokens: each sees those before it."""
    return [BOS, *target[:-1]]


def _token_ids(row: Sequence[TraceToken]) -> list[int]:
    return [token.id for token in row]


def _token_texts(row: Sequence[TraceToken]) -> list[str]:
    return [token.text for token in row]


def _ids_to_name(
    target: Sequence[int],
    choices: Sequence[PredictionStep],
    guesses: Sequence[Sequence[LensPrediction]],
    beam: BeamRecord | None,
) -> list[int]:
    """The ids of all tokens that were written or could have been, in their order."""
    named = set(target) | {candidate.id for step in choices for candidate in step.top}
    named |= {guess.id for layer in guesses for guess in layer}
    if beam is not None:
        named |= {node.token for node in beam.nodes} | set(beam.greedy.tokens)
    return sorted(named)

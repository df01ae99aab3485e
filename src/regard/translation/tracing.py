"""Tracer: records translations of one model with attention, predictions, beam and probes."""

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
from regard.trace.attention_steps import compute_attention_steps
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
from regard.translation.unlike_training import LikelihoodCalibration
from regard.version import __version__

EmbeddingSide = Literal["source", "target"]


class Tracer:
    """Records translations of one model in fp32, on the device of its weights."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        identity: ModelIdentity,
        calibration: LikelihoodCalibration | None = None,
    ) -> None:
        self._model, self._tokenizer, self._identity = model, tokenizer, identity
        self._calibration = calibration
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
        """Return a request with texts tokenized; interventions may have the form of a trace's JSON.

        `options` are the further fields of `TraceRequest`.
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
        """Record one translation, found by search or given as `target`.

        `qkv` adds queries, keys and values, which are large.
        """
        source = self._source_ids(request, max_tokens)
        for intervention in request.interventions:
            intervention.check(self._model.config, len(source))
        model = apply_interventions(self._model, request.interventions)
        start = perf_counter()
        target, beam = self._target_ids(model, request, source, max_tokens)
        searched = perf_counter()
        captured = self._run_captured(model, request.interventions, source, target)
        predictions, logprobs = prediction_steps(captured.logits, target, request.top_k, self._names)
        lens = logit_lens(model, captured, target, self._names)
        weights = stack_attention_weights(captured)
        hidden_tokens = int((~build_source_keep(request.interventions, len(source))).sum())
        end = perf_counter()
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
                unlike_training=self._is_unlike_training(request, logprob, len(target)),
            ),
            attention=weights,
            value_norm=value_norms(captured),
            residual=residual_norms(captured),
            steps=tuple(predictions),
            logit_lens=lens,
            heads=summarize_heads(weights, hidden_tokens),
            beam=beam,
            timing=TraceTiming(1000 * (searched - start), 1000 * (end - searched)),
            vocabulary={id: self._names.piece(id) for id in _ids_to_name(target, predictions, lens, beam)},
            qkv=qkv_projections(captured) if qkv else None,
        )

    def with_qkv(self, trace: Trace) -> Trace:
        """Return the trace with queries, keys and values, from one forward pass without a search."""
        return replace(trace, qkv=qkv_projections(self._recapture(trace)))

    def attention_steps(
        self, trace: Trace, kind: AttentionKind, layer: int, head: int, position: int
    ) -> dict[str, Any]:
        """Return the steps of one attention head for one token, as JSON; layer and head count from 1."""
        captured = self._recapture(trace)
        config = self._model.config
        scale = config.attention_scale or config.head_width**-0.5
        keep = build_source_keep(trace.request.interventions, len(trace.source.tokens)).to(self._model.device)
        steps = compute_attention_steps(captured, config.norm, scale, keep, kind, layer, head, position)
        source_texts, target_texts = _token_texts(trace.source.tokens), _token_texts(trace.target.tokens)
        queries = source_texts if kind == "encoder" else [SPECIAL_TOKENS[BOS], *target_texts[:-1]]
        keys = queries if kind == "decoder" else source_texts
        predicted = None if kind == "encoder" else target_texts[position]
        return steps.to_json(queries[position], keys, predicted)

    def measure_heads(self, trace: Trace) -> Iterator[HeadImportance]:
        """Yield the importance of one head after another; `with_head_importance` adds them to a trace."""
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
        """Return the tokens nearest to a word in the embedding of one side."""
        return nearest_neighbours(self._embedding_weights(side), self._tokenizer, word, count)

    def compare_contexts(
        self, word: str, first: str, second: str, max_tokens: int = MAX_TRACE_TOKENS
    ) -> ContextComparison:
        """Compare the encoder states of one word in two sentences, layer by layer."""
        texts = (first, second)
        rows = [self._source_ids(TraceRequest(text), max_tokens) for text in texts]
        model = apply_interventions(self._model, ())
        captures = [self._run_captured(model, (), row, [EOS]) for row in rows]
        return compare_contexts(
            self._embedding_weights("source"),
            self._tokenizer,
            word,
            (rows[0], rows[1]),
            (captures[0], captures[1]),
        )

    def measure_position_survival(self, trace: Trace) -> dict[str, PositionSurvival]:
        """Measure how much of the positional encoding is left after each sublayer of both stacks."""
        captured = self._recapture(trace)
        encoder, decoder = (embedding.positions.table for embedding in self._embeddings())
        return {
            "encoder": measure_position_survival(encoder, captured.source_embedded, captured.encoder),
            "decoder": measure_position_survival(decoder, captured.target_embedded, captured.decoder),
        }

    def compare_word_orders(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> dict[str, Any]:
        """Compare a sentence with its words reversed, with and without positional encoding, as JSON."""
        source = self._source_ids(TraceRequest(text), max_tokens)
        row = describe_tokens(self._tokenizer, source)
        order = reverse_word_order([token.word for token in row])
        models = {
            "with": apply_interventions(self._model, ()),
            "without": apply_interventions(self._model, (RemovePositions(),)),
        }
        comparisons = {
            name: compare_word_order(model, self._row(source), order, BOS) for name, model in models.items()
        }
        length = len(row) - 1  # without the end mark
        orders = (list(range(len(row))), order)
        return {
            "texts": self._tokenizer.detokenize([[source[index] for index in each] for each in orders]),
            "orders": [[row[index].text for index in each[:length]] for each in orders],
            **{
                name: {
                    "words": list(each.token_differences[:length]),
                    "mean": each.mean_difference,
                    "probability": each.probability_difference,
                    "first": [
                        {"text": self._names.text(id), "prob": probability}
                        for id, probability in zip(each.first_tokens, each.first_probabilities, strict=True)
                    ],
                }
                for name, each in comparisons.items()
            },
        }

    def position_table(self, length: int) -> Float[np.ndarray, "length d_model"]:
        """Return the positional encoding of the source side, fixed or learned."""
        return self._embeddings()[0].positions.table[:length].detach().float().cpu().numpy()

    def model_facts(self) -> ModelFacts:
        """Return the description of the model that every trace contains."""
        model, config = self._model, self._model.config
        layers = (config.encoder_layers, config.decoder_layers)
        vocab, shared = VocabSizes(config.vocab_size, config.vocab_size), config.tied == "all"
        return build_model_facts(self._identity, model, config, layers, vocab, DEFAULT_TASK, shared=shared)

    def _is_unlike_training(self, request: TraceRequest, logprob: float, tokens: int) -> bool | None:
        """Return whether the text is unlike the training text; None if the search was not free."""
        is_free = not request.prefix and request.target is None and not request.interventions
        if self._calibration is None or not is_free:
            return None
        return self._calibration.is_unlike_training(logprob, tokens)

    def _source_ids(self, request: TraceRequest, max_tokens: int) -> list[int]:
        """Return the encoder input: the token ids of the text and the end mark."""
        reject_lone_surrogates("the text", request.text)
        (ids,) = self._tokenizer.tokenize([request.text.strip()])
        if not ids:
            raise DataError("the text is blank; there is nothing to trace")
        self._check_length("the text", len(ids) + 1, max_tokens)
        return [*ids, EOS]

    def _target_ids(
        self, model: Transformer, request: TraceRequest, source: Sequence[int], max_tokens: int
    ) -> tuple[list[int], BeamRecord | None]:
        """Return the target ids with the end mark, and the beam record unless the target is given."""
        if request.target is not None:
            self._check_length("the translation", len(request.target) + 1, max_tokens)
            return [*request.target, EOS], None
        self._check_length("the beginning", len(request.prefix) + 1, max_tokens)
        limit = min(max(len(source) - 1 + request.max_extra, len(request.prefix)), self._model.max_tokens)
        best, beam = search_with_record(
            model,
            self._row(source),
            build_source_keep(request.interventions, len(source)).to(model.device),
            min(limit, max_tokens),  # one more than allowed: a longer translation is refused, not cut
            request.prefix,
            SearchConfig(request.beam, request.alpha),
            self._names,
        )
        self._check_length("the translation", len(best.tokens) + 1, max_tokens)
        return [*best.tokens, EOS], beam

    def _check_length(self, what: str, count: int, max_tokens: int) -> None:
        model_limit = self._model.max_tokens + 1
        if count > min(max_tokens, model_limit):
            setting = "max_tokens" if max_tokens < model_limit else None
            raise TraceLengthError(what, count, min(max_tokens, model_limit), setting)

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

    def _to_ids(self, text_or_ids: str | Sequence[int], name: str) -> tuple[int, ...]:
        if isinstance(text_or_ids, str):
            reject_lone_surrogates(f"the {name}", text_or_ids)
            return tuple(self._tokenizer.tokenize([text_or_ids.strip()])[0])
        first, last = len(SPECIAL_TOKENS), self._tokenizer.vocab_size - 1
        for id in text_or_ids:
            if not (isinstance(id, int) and first <= id <= last):
                raise ConfigError(f"{name} has a token {id}; ids run from {first} to {last}")
        return tuple(text_or_ids)


def _decoder_input(target: Sequence[int]) -> list[int]:
    """Return the decoder input that predicts these tokens: the target shifted right."""
    return [BOS, *target[:-1]]


def _token_ids(row: Sequence[TraceToken]) -> list[int]:
    return [token.id for token in row]


def _token_texts(row: Sequence[TraceToken]) -> list[str]:
    return [token.text for token in row]


def _ids_to_name(
    target: Sequence[int],
    predictions: Sequence[PredictionStep],
    lens: Sequence[Sequence[LensPrediction]],
    beam: BeamRecord | None,
) -> list[int]:
    """Return the ids of all tokens that occur in the trace, sorted."""
    ids = set(target) | {candidate.id for step in predictions for candidate in step.top}
    ids |= {prediction.id for layer in lens for prediction in layer}
    if beam is not None:
        ids |= {node.token for node in beam.nodes} | set(beam.greedy.tokens)
    return sorted(ids)

"""Tracer: owns a model and its tokenizer, and looks into the translations it makes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import FIRST_TASK
from regard.errors import ConfigError, DataError
from regard.model.embedding import Embedding
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.hypothesis import length_penalty
from regard.text.tokenizer import BOS, EOS, MARKS, Tokenizer
from regard.text.unicode import refuse_halves
from regard.trace.attention_steps import steps as one_head
from regard.trace.beam_record import search
from regard.trace.capture import Captured, capture
from regard.trace.head_importance import Measured, measured_heads
from regard.trace.intervene import changed, visible_source
from regard.trace.interventions import Intervention, Kind, Positions, intervention_from_json
from regard.trace.model_facts import Identity, model_facts
from regard.trace.probes import (
    InTwoContexts,
    Neighbour,
    Survival,
    in_two_contexts,
    neighbours,
    permuted,
    reversed_words,
    survival,
)
from regard.trace.request import MAX_TRACE_TOKENS, LengthError, Request, trace_id
from regard.trace.schema import Beam, Guess, ModelFacts, Side, Step, Target, Timing, Token, Vocab
from regard.trace.summary import attention, head_facts, lens, projections, residual, steps, value_norms
from regard.trace.tokens import Names, tokens
from regard.trace.trace import Trace
from regard.version import __version__

Which = Literal["source", "target"]


class Tracer:
    """Looks into translations of one model, in fp32, wherever its weights are."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, identity: Identity) -> None:
        self._model, self._tokenizer, self._identity = model, tokenizer, identity
        self._names = Names(tokenizer)

    @property
    def model(self) -> Transformer:
        return self._model

    def request(
        self,
        text: str,
        *,
        prefix: str | Sequence[int] = (),
        target: str | Sequence[int] | None = None,
        interventions: Sequence[Intervention | Mapping[str, Any]] = (),
        **how: Any,
    ) -> Request:
        """What is asked for, with texts as token ids; interventions may be as in a trace's JSON.

        `how` is the rest of `Request`.
        """
        return Request(
            text,
            prefix=self._ids(prefix, "prefix"),
            target=None if target is None else self._ids(target, "target"),
            interventions=tuple(
                each if isinstance(each, Intervention) else intervention_from_json(each)
                for each in interventions
            ),
            **how,
        )

    def trace(self, request: Request, max_tokens: int = MAX_TRACE_TOKENS, qkv: bool = False) -> Trace:
        """One translation, searched for or given, and all that produced it.

        `qkv` adds queries, keys and values, which are large.
        """
        source = self._source(request, max_tokens)
        for intervention in request.interventions:
            intervention.check(self._model.config, len(source))
        model = changed(self._model, request.interventions)
        began = perf_counter()
        target, beam = self._target(model, request, source, max_tokens)
        decoded = perf_counter()
        captured = self._captured(model, request.interventions, source, target)
        choices, logprobs = steps(captured.logits, target, request.top_k, self._names)
        guesses = lens(model, captured, target, self._names)
        weights = attention(captured)
        hidden = int((~visible_source(request.interventions, len(source))).sum())
        ended = perf_counter()
        logprob = sum(logprobs)
        return Trace(
            id=trace_id(self._identity.id, request),
            regard=__version__,
            model=self.facts(),
            request=request,
            source=Side(self._names.whole(source), tuple(tokens(self._tokenizer, source))),
            target=Target(
                text=self._names.whole(target),
                score=logprob / length_penalty(len(target), request.alpha),
                logprob=logprob,
                forced=beam is None,
                tokens=tuple(tokens(self._tokenizer, target, logprobs)),
            ),
            attention=weights,
            value_norm=value_norms(captured),
            residual=residual(captured),
            steps=tuple(choices),
            lens=guesses,
            heads=head_facts(weights, hidden),
            beam=beam,
            timing=Timing(1000 * (decoded - began), 1000 * (ended - decoded)),
            pieces={id: self._names.piece(id) for id in _named(target, choices, guesses, beam)},
            qkv=projections(captured) if qkv else None,
        )

    def with_qkv(self, trace: Trace) -> Trace:
        """The same trace with queries, keys and values: one pass reads it again, nothing is searched for."""
        source, target = _ids_of(trace.source.tokens), _ids_of(trace.target.tokens)
        changes = trace.request.interventions
        captured = self._captured(changed(self._model, changes), changes, source, target)
        return replace(trace, qkv=projections(captured))

    def steps(self, trace: Trace, kind: Kind, layer: int, head: int, position: int) -> dict[str, Any]:
        """How one head makes one word's new vector, as JSON; layer and head count from 1, the row from 0."""
        source, target = _ids_of(trace.source.tokens), _ids_of(trace.target.tokens)
        changes = trace.request.interventions
        captured = self._captured(changed(self._model, changes), changes, source, target)
        config = self._model.config
        scale = config.attention_scale or config.head_width**-0.5
        keep = visible_source(changes, len(source)).to(self._model.device)
        found = one_head(captured, config.norm, scale, keep, kind, layer, head, position)
        source_texts, target_texts = _texts_of(trace.source.tokens), _texts_of(trace.target.tokens)
        read = source_texts if kind == "encoder" else [MARKS[BOS], *target_texts[:-1]]
        keys = read if kind == "decoder" else source_texts
        return found.to_json(read[position], keys, None if kind == "encoder" else target_texts[position])

    def matters(self, trace: Trace) -> Iterator[Measured]:
        """One head after another, as measured; `with_matters` writes them into the trace."""
        source, target = _ids_of(trace.source.tokens), _ids_of(trace.target.tokens)
        changes = trace.request.interventions
        keep = visible_source(changes, len(source)).to(self._model.device)
        model = changed(self._model, changes)
        yield from measured_heads(model, self._row(source), keep, self._row(_read(target)), self._row(target))

    def neighbours(self, word: str, count: int = 10, side: Which = "source") -> list[Neighbour]:
        """The pieces that lie nearest to a word in the embedding of that side."""
        return neighbours(self._table(side), self._tokenizer, word, count)

    def in_two_contexts(
        self, word: str, first: str, second: str, max_tokens: int = MAX_TRACE_TOKENS
    ) -> InTwoContexts:
        """One word in two sentences: the same row of the embedding, and what the encoder makes of it."""
        texts = (first, second)
        rows = [self._source(Request(text), max_tokens) for text in texts]
        model = changed(self._model, ())
        passes = [self._captured(model, (), row, [EOS]) for row in rows]
        return in_two_contexts(
            self._table("source"), self._tokenizer, word, (rows[0], rows[1]), (passes[0], passes[1])
        )

    def survival(self, trace: Trace) -> dict[str, Survival]:
        """How much of the positions is left, point by point, in each stack."""
        source, target = _ids_of(trace.source.tokens), _ids_of(trace.target.tokens)
        changes = trace.request.interventions
        captured = self._captured(changed(self._model, changes), changes, source, target)
        tables = (embedding.positions.table for embedding in self._embeddings())
        encoder, decoder = tables
        return {
            "encoder": survival(encoder, captured.source_embedded, captured.encoder),
            "decoder": survival(decoder, captured.target_embedded, captured.decoder),
        }

    def permuted(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> dict[str, Any]:
        """The words as given and in reverse, with positions and without, as JSON."""
        source = self._source(Request(text), max_tokens)
        row = tokens(self._tokenizer, source)
        order = reversed_words([token.word for token in row])
        models = {"with": changed(self._model, ()), "without": changed(self._model, (Positions(),))}
        found = {name: permuted(model, self._row(source), order, BOS) for name, model in models.items()}
        words = len(row) - 1  # the end mark is none
        ways = (list(range(len(row))), order)
        return {
            "texts": self._tokenizer.detokenize([[source[place] for place in way] for way in ways]),
            "orders": [[row[place].text for place in way[:words]] for way in ways],
            **{
                name: {
                    "words": list(each.tokens[:words]),
                    "mean": each.mean,
                    "probability": each.probability,
                    "first": [
                        {"text": self._names.text(id), "prob": sure}
                        for id, sure in zip(each.first, each.sure, strict=True)
                    ],
                }
                for name, each in found.items()
            },
        }

    def positions(self, length: int) -> Float[np.ndarray, "length d_model"]:
        """The model's own table, fixed or learnt, of the source side."""
        return self._embeddings()[0].positions.table[:length].detach().float().cpu().numpy()

    def facts(self) -> ModelFacts:
        """What a trace says of its model."""
        model, config = self._model, self._model.config
        layers = (config.encoder_layers, config.decoder_layers)
        vocab, shared = Vocab(config.vocab_size, config.vocab_size), config.tied == "all"
        return model_facts(self._identity, model, config, layers, vocab, FIRST_TASK, shared=shared)

    def _source(self, request: Request, max_tokens: int) -> list[int]:
        """The ids that the encoder reads, the end mark among them."""
        refuse_halves("the text", request.text)
        (ids,) = self._tokenizer.tokenize([request.text.strip()])
        if not ids:
            raise DataError("the text is blank; there is nothing to trace")
        self._refuse_long("the text", len(ids) + 1, max_tokens)
        return [*ids, EOS]

    def _target(
        self, model: Transformer, request: Request, source: Sequence[int], max_tokens: int
    ) -> tuple[list[int], Beam | None]:
        """The ids that are written, the end mark among them, and how they were found unless given."""
        if request.target is not None:
            self._refuse_long("the translation", len(request.target) + 1, max_tokens)
            return [*request.target, EOS], None
        self._refuse_long("the beginning", len(request.prefix) + 1, max_tokens)
        wanted = min(max(len(source) - 1 + request.max_extra, len(request.prefix)), self._model.longest)
        best, beam = search(
            model,
            self._row(source),
            visible_source(request.interventions, len(source)).to(model.device),
            min(wanted, max_tokens),  # one more than may be traced: longer ones are refused, not cut
            request.prefix,
            SearchConfig(request.beam, request.alpha),
            self._names,
        )
        self._refuse_long("the translation", len(best.tokens) + 1, max_tokens)
        return [*best.tokens, EOS], beam

    def _refuse_long(self, what: str, count: int, max_tokens: int) -> None:
        own = self._model.longest + 1
        if count > min(max_tokens, own):
            raise LengthError(what, count, min(max_tokens, own), "max_tokens" if max_tokens < own else None)

    def _captured(
        self,
        model: Transformer,
        interventions: Sequence[Intervention],
        source: Sequence[int],
        target: Sequence[int],
    ) -> Captured:
        keep = visible_source(interventions, len(source)).to(model.device)
        return capture(model, self._row(source), keep, self._row(_read(target)))

    def _embeddings(self) -> tuple[Embedding, Embedding]:
        return self._model.source_embedding, self._model.target_embedding

    def _table(self, side: Which) -> Tensor:
        return self._embeddings()[side == "target"].tokens.weight

    def _row(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=self._model.device)

    def _ids(self, given: str | Sequence[int], name: str) -> tuple[int, ...]:
        if isinstance(given, str):
            refuse_halves(f"the {name}", given)
            return tuple(self._tokenizer.tokenize([given.strip()])[0])
        for id in given:
            if not (isinstance(id, int) and len(MARKS) <= id < self._tokenizer.vocab_size):
                raise ConfigError(
                    f"{name} has a token {id}; ids run from {len(MARKS)} to {self._tokenizer.vocab_size - 1}"
                )
        return tuple(given)


def _read(target: Sequence[int]) -> list[int]:
    """What the decoder reads to write these tokens: each sees those before it."""
    return [BOS, *target[:-1]]


def _ids_of(row: Sequence[Token]) -> list[int]:
    return [token.id for token in row]


def _texts_of(row: Sequence[Token]) -> list[str]:
    return [token.text for token in row]


def _named(
    target: Sequence[int], choices: Sequence[Step], guesses: Sequence[Sequence[Guess]], beam: Beam | None
) -> list[int]:
    """The ids of all tokens that were written or could have been, in their order."""
    named = set(target) | {candidate.id for step in choices for candidate in step.top}
    named |= {guess.id for layer in guesses for guess in layer}
    if beam is not None:
        named |= {node.token for node in beam.nodes} | set(beam.greedy.tokens)
    return sorted(named)

"""Tracer: owns a model and its tokenizer, and looks into the translations it makes."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import torch
from torch import Tensor

from regard import __version__
from regard.checkpoint import WEIGHTS
from regard.config import read_settings
from regard.errors import ConfigError, DataError
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.hypothesis import length_penalty
from regard.tasks.folder import CONFIG
from regard.text.tokenizer import BOS, EOS, MARKS, Tokenizer
from regard.trace.beam import search
from regard.trace.capture import Captured, capture
from regard.trace.interventions import Intervention
from regard.trace.parts import Beam, ModelFacts, Side, Target, Timing, Vocab
from regard.trace.reading import (
    attention,
    head_facts,
    lens,
    projections,
    residual,
    steps,
    value_norms,
)
from regard.trace.request import MAX_TRACE_TOKENS, LengthError, Request, trace_id
from regard.trace.tokens import text_shown, tokens
from regard.trace.trace import Trace
from regard.trace.what_if import changed, visible_source

LANGUAGE = re.compile(r"\.([a-z]{2,3}(?:[-_][A-Za-z]{2,4})?)(?:\.(?:gz|xz|zst))?$")
"""At the end of a file's name: train.en, train.de.gz."""
NO_LANGUAGE = {"txt", "tsv", "gz", "xz", "zst", "tok", "bpe", "raw"}


@dataclass(frozen=True)
class Identity:
    """Which model it is."""

    name: str
    id: str
    source_lang: str | None = None
    target_lang: str | None = None
    step: int | None = None


class Tracer:
    """Looks into translations of one model, in fp32, wherever its weights are."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, identity: Identity) -> None:
        self._model, self._tokenizer, self._identity = model, tokenizer, identity

    def request(
        self,
        text: str,
        *,
        prefix: str | Sequence[int] = (),
        target: str | Sequence[int] | None = None,
        interventions: Sequence[Intervention] = (),
        **how: Any,
    ) -> Request:
        """What is asked for, with texts as token ids; `how` is the rest of `Request`."""
        return Request(
            text,
            prefix=self._ids(prefix, "prefix"),
            target=None if target is None else self._ids(target, "target"),
            interventions=tuple(interventions),
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
        shown = self._shown
        choices, logprobs = steps(captured.logits, target, request.top_k, shown)
        guesses = lens(model, captured, target, shown)
        weights = attention(captured)
        ended = perf_counter()
        logprob = sum(logprobs)
        return Trace(
            id=trace_id(self._identity.id, request),
            regard=__version__,
            model=self.facts(),
            request=request,
            source=Side(self._text(source), tuple(tokens(self._tokenizer, source))),
            target=Target(
                text=self._text(target),
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
            heads=head_facts(weights),
            beam=beam,
            timing=Timing(1000 * (decoded - began), 1000 * (ended - decoded)),
            qkv=projections(captured) if qkv else None,
        )

    def facts(self) -> ModelFacts:
        """What a trace says of its model."""
        config, identity = self._model.config, self._identity
        return ModelFacts(
            name=identity.name,
            id=identity.id,
            source_lang=identity.source_lang,
            target_lang=identity.target_lang,
            step=identity.step,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            heads=config.heads,
            d_model=config.d_model,
            d_k=config.head_width,
            d_ff=config.d_ff,
            norm=config.norm,
            positions=config.position,
            vocab=Vocab(config.vocab_size, config.vocab_size),
            shared=config.tied == "all",
            parameters=sum(parameter.numel() for parameter in self._model.parameters()),
        )

    def _source(self, request: Request, max_tokens: int) -> list[int]:
        """The ids that the encoder reads, the end mark among them."""
        (ids,) = self._tokenizer.tokenize([request.text.strip()])
        if not ids:
            raise DataError("the text is blank; there is nothing to trace")
        _refuse_long("the text", len(ids) + 1, min(max_tokens, self._model.longest + 1))
        return [*ids, EOS]

    def _target(
        self, model: Transformer, request: Request, source: Sequence[int], max_tokens: int
    ) -> tuple[list[int], Beam | None]:
        """The ids that are written, the end mark among them, and how they were found unless given."""
        longest = min(max_tokens, self._model.longest + 1)
        if request.target is not None:
            _refuse_long("the translation", len(request.target) + 1, longest)
            return [*request.target, EOS], None
        _refuse_long("the beginning", len(request.prefix) + 1, longest)
        limit = min(max(len(source) - 1 + request.max_extra, len(request.prefix)), self._model.longest)
        best, beam = search(
            model,
            self._row(source),
            visible_source(request.interventions, len(source)).to(model.device),
            limit,
            request.prefix,
            SearchConfig(request.beam, request.alpha),
            self._shown,
            self._text,
        )
        return [*best.tokens, EOS], beam

    def _captured(
        self,
        model: Transformer,
        interventions: Sequence[Intervention],
        source: Sequence[int],
        target: Sequence[int],
    ) -> Captured:
        keep = visible_source(interventions, len(source)).to(model.device)
        return capture(model, self._row(source), keep, self._row([BOS, *target[:-1]]))

    def _row(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=self._model.device)

    def _ids(self, given: str | Sequence[int], name: str) -> tuple[int, ...]:
        if isinstance(given, str):
            return tuple(self._tokenizer.tokenize([given.strip()])[0])
        for id in given:
            if not (isinstance(id, int) and len(MARKS) <= id < self._tokenizer.vocab_size):
                raise ConfigError(
                    f"{name} has a token {id}; ids run from {len(MARKS)} to {self._tokenizer.vocab_size - 1}"
                )
        return tuple(given)

    def _shown(self, id: int) -> str:
        return MARKS[id] if id < len(MARKS) else text_shown(self._tokenizer, id)

    def _text(self, ids: Sequence[int]) -> str:
        """On one line, as a translation is."""
        return self._tokenizer.detokenize([ids])[0].replace("\r", " ").replace("\n", " ")


def identity_of_folder(path: Path, manifest: Mapping[str, Any]) -> Identity:
    """A model folder is known by its weights, and named like the run it is in."""
    within = path.name == "model" or path.name.startswith("step-")
    name = path.resolve().parent.name if within else path.resolve().name
    data = cast(Mapping[str, Any], read_settings(path / CONFIG).get("data", {}))
    return Identity(
        name,
        f"sha256:{manifest['files'][WEIGHTS]['sha256']}",
        language(data.get("source")),
        language(data.get("target")),
        manifest.get("step"),
    )


def identity_in_memory(model: Transformer) -> Identity:
    """A model that may go on learning is known by its weights as they are now."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return Identity("in memory", f"sha256:{digest.hexdigest()}")


def language(files: Any) -> str | None:
    """What the names of the files it was trained on say: train.en, train.de.gz."""
    name = files[0] if isinstance(files, (list, tuple)) and files else files
    found = LANGUAGE.search(name) if isinstance(name, str) else None
    return found[1] if found and found[1] not in NO_LANGUAGE else None


def _refuse_long(what: str, count: int, limit: int) -> None:
    if count > limit:
        raise LengthError(what, count, limit)

"""CTranslate2 engine: int8 on a CPU, one worker per core, without torch."""

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import ctranslate2

from regard.errors import ConfigError
from regard.inference.ctranslate2_convert import WeightFormat, load_conversion
from regard.inference.engine import output_length_limit
from regard.inference.engine_selection import RequestedPrecision, unsupported_by_ctranslate2
from regard.model.config import ModelConfig
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS, Constraints
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.text.tokenizer import BOS, EOS, PAD

GREEDY_BATCH_TOKENS, BEAM_BATCH_TOKENS = 2048, 1024
"""Source tokens of a worker's batch; larger batches are not faster on a CPU (benchmarks/translate.py)."""
MAX_PADDING_RATIO = 2
"""The maximum number of padded positions of a batch, as a multiple of its tokens."""
SUPPRESSED_SEQUENCES = [[str(PAD)], [str(BOS)]]
"""Special tokens that no text contains; a model may prefer them while the end mark is not allowed yet."""
COMPUTE_TYPES: dict[WeightFormat, str] = {"int8": "int8_float32", "fp32": "float32"}

TokenStrings = list[str]
RawHypotheses = list[tuple[list[int], float]]
"""Token ids, including the end mark if there is one, and log-probability of each hypothesis of a sentence."""


class CTranslate2Engine:
    """Translates token ids with CTranslate2; implements `Engine`.

    Its beam search differs from ours (docs/decisions/0012). Its length penalty is length^alpha, not the
    paper's: so it returns all hypotheses of the beam with plain log-probabilities, and they are ranked here.
    It stops when that many have ended, where ours stops when no open hypothesis can win: the best hypothesis
    differs in one line of a thousand. It has one length limit per batch, at which it stops without an end
    mark: a sentence that exceeds its own limit is searched again.
    """

    def __init__(
        self,
        folder: Path,
        model: ModelConfig,
        precision: RequestedPrecision = "auto",
        threads: int | None = None,
        manifest: Mapping[str, Any] | None = None,
        concurrent_calls: int = 1,
    ) -> None:
        """Load the model of `folder`, whose config is `model`, and convert its weights the first time.

        Each call of `translate` uses its share of the workers, if `concurrent_calls` are made at once.
        """
        self._model = model
        self._requested_precision: RequestedPrecision = precision
        self._reject_unsupported(PAPER_SEARCH, None)
        self._weight_format: WeightFormat = _resolve_weight_format(precision)
        self._workers = available_cores() if threads is None else threads
        self._workers_per_call = max(1, self._workers // concurrent_calls)
        self._translator = load_conversion(folder, model, self._weight_format, self._load, manifest)

    def _load(self, converted: Path) -> ctranslate2.Translator:
        return ctranslate2.Translator(
            str(converted),
            compute_type=COMPUTE_TYPES[self._weight_format],
            inter_threads=self._workers,
            intra_threads=1,
        )

    @property
    def precision(self) -> WeightFormat:
        """The precision in use, also if "auto" was requested."""
        return self._weight_format

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER_SEARCH,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the best translations of each source; pass many sources to keep all workers busy."""
        self._reject_unsupported(config, constraints)
        non_empty = [source for source in sources if source]
        results = iter(self._search_within_limits(non_empty, config) if non_empty else ())
        return [next(results) if source else [Hypothesis((), 0.0, 0.0)] for source in sources]

    def _search_within_limits(
        self, sources: Sequence[Sequence[int]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        texts = [[str(id) for id in source] for source in sources]
        limits = [
            output_length_limit(len(source), self.max_tokens, config, NO_CONSTRAINTS) for source in sources
        ]
        results = self._search(texts, config, max(limits) + 1)
        too_long = [index for index, raw in enumerate(results) if not _all_ended_within(raw, limits[index])]
        for limit, group in groupby(sorted(too_long, key=limits.__getitem__), limits.__getitem__):
            indexes = list(group)
            retried = self._search([texts[index] for index in indexes], config, limit)
            for index, raw in zip(indexes, retried, strict=True):
                results[index] = raw
        inexact = range(len(results)) if config.min_length else too_long
        self._rescore([texts[index] for index in inexact], [results[index] for index in inexact])
        return [_rank_hypotheses(raw, config) for raw in results]

    def _search(self, texts: list[TokenStrings], config: SearchConfig, longest: int) -> list[RawHypotheses]:
        """Return CTranslate2's hypotheses, unranked and of at most `longest` tokens, end mark included."""
        tokens = GREEDY_BATCH_TOKENS if config.beam == 1 else BEAM_BATCH_TOKENS
        pending = {
            index: result
            for batch in balanced_batches([len(text) for text in texts], tokens, self._workers_per_call)
            for index, result in zip(
                batch,
                self._translator.translate_batch(
                    [texts[index] for index in batch],
                    beam_size=config.beam,
                    num_hypotheses=config.beam,
                    length_penalty=0,
                    min_decoding_length=min(config.min_length, longest),
                    suppress_sequences=SUPPRESSED_SEQUENCES if config.min_length else None,
                    max_decoding_length=longest,
                    max_input_length=0,
                    return_scores=True,
                    return_end_token=True,
                    asynchronous=True,
                ),
                strict=True,
            )
        }
        results = [pending[index].result() for index in range(len(texts))]
        return [
            [
                ([int(token) for token in tokens], score)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]

    def _rescore(self, texts: list[TokenStrings], results: list[RawHypotheses]) -> None:
        """Replace the log-probabilities by those of forced decoding, end mark included.

        They differ where a translation was cut off at its limit, and where the end mark was not allowed at
        first: CTranslate2 then renormalizes the probabilities of the other tokens.
        """
        sources = [text for text, raw in zip(texts, results, strict=True) for _ in raw]
        targets = [[str(id) for id in _strip_eos(tokens)] for raw in results for tokens, _ in raw]
        lengths = [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]
        pending = {
            index: result
            for batch in balanced_batches(lengths, GREEDY_BATCH_TOKENS, self._workers_per_call)
            for index, result in zip(
                batch,
                self._translator.score_batch(
                    [sources[index] for index in batch],
                    [targets[index] for index in batch],
                    max_input_length=0,
                    asynchronous=True,
                ),
                strict=True,
            )
        }
        scores = iter([sum(pending[index].result().log_probs) for index in range(len(sources))])
        for raw in results:
            raw[:] = [(tokens, next(scores)) for tokens, _ in raw]

    def _reject_unsupported(self, config: SearchConfig, constraints: Sequence[Constraints] | None) -> None:
        is_constrained = any(each != NO_CONSTRAINTS for each in constraints or ())
        unsupported = unsupported_by_ctranslate2(
            self._model, self._requested_precision, config, is_constrained
        )
        if unsupported:
            raise ConfigError(f"{unsupported}; choose the engine torch")


def balanced_batches(lengths: Sequence[int], tokens: int, workers: int) -> list[list[int]]:
    """Return batches of indexes, longest first: similar lengths, similar sizes, at least one per worker."""
    total = sum(lengths) + len(lengths)  # with the end marks
    rounds = -(-total // (tokens * workers))
    batch_tokens = total / max(rounds * workers, 1)
    batches: list[list[int]] = []
    assigned = widest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        is_full = assigned >= batch_tokens * len(batches)
        if is_full or (len(batches[-1]) + 1) * widest > MAX_PADDING_RATIO * max(batch_tokens, widest):
            batches.append([])
            widest = lengths[index] + 1
        batches[-1].append(index)
        assigned += lengths[index] + 1
    return batches


def _rank_hypotheses(raw: RawHypotheses, config: SearchConfig) -> list[Hypothesis]:
    """Return the n best by the paper's score; the shorter among ties."""
    hypotheses = [_score_hypothesis(_strip_eos(tokens), score, config.alpha) for tokens, score in raw]
    return sorted(hypotheses, key=lambda each: (-each.score, len(each.tokens)))[: config.n_best]


def _score_hypothesis(tokens: Sequence[int], log_probability: float, alpha: float) -> Hypothesis:
    score = log_probability / length_penalty(len(tokens) + 1, alpha)
    return Hypothesis(tuple(tokens), log_probability, score)


def _all_ended_within(raw: RawHypotheses, limit: int) -> bool:
    """Return whether every hypothesis has an end mark and at most `limit` tokens before it."""
    return all(tokens[-1] == EOS and len(tokens) - 1 <= limit for tokens, _ in raw)


def _strip_eos(tokens: Sequence[int]) -> Sequence[int]:
    return tokens[:-1] if tokens[-1] == EOS else tokens


def _resolve_weight_format(precision: RequestedPrecision) -> WeightFormat:
    if precision == "fp32":
        return "fp32"
    has_int8 = COMPUTE_TYPES["int8"] in ctranslate2.get_supported_compute_types("cpu")
    if precision == "int8" and not has_int8:
        raise ConfigError("this CPU does not support int8; choose the precision fp32 or auto")
    return "int8" if has_int8 else "fp32"


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

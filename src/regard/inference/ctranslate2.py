"""The road through CTranslate2: int8 on the CPU, a worker on every core, and no torch."""

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import ctranslate2

from regard.errors import ConfigError
from regard.inference.ctranslate2_convert import WeightFormat, cached_conversion
from regard.inference.engine import output_length_limit
from regard.inference.engine_selection import RequestedPrecision, unsupported_by_ctranslate2
from regard.model.config import ModelConfig
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraints import NO_CONSTRAINTS, Constraints
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.text.tokenizer import BOS, EOS, PAD

GREEDY_BATCH_TOKENS, BEAM_BATCH_TOKENS = 2048, 1024
"""Source tokens of a worker's batch: more gain nothing on a CPU (benchmarks/translate.py)."""
MAX_PADDING_RATIO = 2
"""How many times as many places as tokens a batch may have."""
SUPPRESSED_SEQUENCES = [[str(PAD)], [str(BOS)]]
"""What no text has, and a model does not write unless it would rather end and may not."""
COMPUTE_TYPES: dict[WeightFormat, str] = {"int8": "int8_float32", "fp32": "float32"}

TokenStrings = list[str]
RawHypotheses = list[tuple[list[int], float]]
"""What was written for a sentence, the end mark included where there is one, and its log-probability."""


class CTranslate2Engine:
    """Translates ids with CTranslate2; satisfies `Engine`.

    Its beam search is not quite ours (docs/decisions/0012). It divides by length^alpha, not by the paper's
    penalty: so it is asked for as many hypotheses as the beam is wide, with their plain log-probabilities,
    and they are ranked here. It stops at so many that have ended, where ours stops when nothing open can
    win: which is best differs in one line of a thousand. It has one limit for a whole batch, at which it
    stops without an end mark: what went past its own limit is searched for again.
    """

    def __init__(
        self,
        folder: Path,
        model: ModelConfig,
        precision: RequestedPrecision = "auto",
        threads: int | None = None,
    ) -> None:
        """The model of a folder, whose config this is; its weights are converted if they were not before."""
        self._model = model
        self._precision: RequestedPrecision = precision
        self._reject_unsupported(PAPER_SEARCH, None)
        self._stored: WeightFormat = _resolve_weight_format(precision)
        self._workers = _available_cores() if threads is None else threads
        self._translator = ctranslate2.Translator(
            str(cached_conversion(folder, model, self._stored)),
            compute_type=COMPUTE_TYPES[self._stored],
            inter_threads=self._workers,
            intra_threads=1,
        )

    @property
    def precision(self) -> WeightFormat:
        """In which it computes, whatever was asked."""
        return self._stored

    @property
    def max_tokens(self) -> int:
        return self._model.max_length - 1  # one place is the end mark's

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER_SEARCH,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """The best translations found of each row of ids; give it many, and all workers have work."""
        self._reject_unsupported(config, constraints)
        full = [row for row in sources if row]
        answers = iter(self._search_within_limits(full, config) if full else ())
        return [next(answers) if row else [Hypothesis((), 0.0, 0.0)] for row in sources]

    def _search_within_limits(
        self, sources: Sequence[Sequence[int]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        words = [[str(id) for id in row] for row in sources]
        limits = [output_length_limit(len(row), self.max_tokens, config, NO_CONSTRAINTS) for row in sources]
        found = self._search(words, config, max(limits) + 1)
        late = [index for index, each in enumerate(found) if not _all_ended_within(each, limits[index])]
        for most, group in groupby(sorted(late, key=limits.__getitem__), limits.__getitem__):
            indexes = list(group)
            again = self._search([words[index] for index in indexes], config, most)
            for index, each in zip(indexes, again, strict=True):
                found[index] = each
        unsure = range(len(found)) if config.min_length else late
        self._rescore([words[index] for index in unsure], [found[index] for index in unsure])
        return [_rank_hypotheses(each, config) for each in found]

    def _search(self, words: list[TokenStrings], config: SearchConfig, longest: int) -> list[RawHypotheses]:
        """What CTranslate2 finds, in no order of ours; nothing is longer than that, end mark included."""
        tokens = GREEDY_BATCH_TOKENS if config.beam == 1 else BEAM_BATCH_TOKENS
        asked = {
            index: answer
            for batch in balanced_batches([len(row) for row in words], tokens, self._workers)
            for index, answer in zip(
                batch,
                self._translator.translate_batch(
                    [words[index] for index in batch],
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
        answers = [asked[index].result() for index in range(len(words))]
        return [
            [
                ([int(word) for word in row], score)
                for row, score in zip(each.hypotheses, each.scores, strict=True)
            ]
            for each in answers
        ]

    def _rescore(self, words: list[TokenStrings], found: list[RawHypotheses]) -> None:
        """Puts in the true log-probabilities, end mark included.

        Search has others where a translation was cut, or where the end mark was forbidden at first: then
        CTranslate2 gives its share to the other tokens.
        """
        sources = [row for row, each in zip(words, found, strict=True) for _ in each]
        targets = [[str(id) for id in _strip_eos(row)] for each in found for row, _ in each]
        lengths = [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]
        asked = {
            index: answer
            for batch in balanced_batches(lengths, GREEDY_BATCH_TOKENS, self._workers)
            for index, answer in zip(
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
        values = iter([sum(asked[index].result().log_probs) for index in range(len(sources))])
        for each in found:
            each[:] = [(row, next(values)) for row, _ in each]

    def _reject_unsupported(self, config: SearchConfig, wishes: Sequence[Constraints] | None) -> None:
        wished = any(wish != NO_CONSTRAINTS for wish in wishes or ())
        if obstacle := unsupported_by_ctranslate2(self._model, self._precision, config, wished):
            raise ConfigError(f"{obstacle}; choose the engine torch")


def balanced_batches(lengths: Sequence[int], tokens: int, workers: int) -> list[list[int]]:
    """All indexes, the longest first: batches of like lengths and like sizes, one or more for each worker."""
    total = sum(lengths) + len(lengths)  # with the end marks
    rounds = -(-total // (tokens * workers))
    share = total / max(rounds * workers, 1)
    found: list[list[int]] = []
    dealt = widest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if dealt >= share * len(found) or (len(found[-1]) + 1) * widest > MAX_PADDING_RATIO * max(
            share, widest
        ):
            found.append([])
            widest = lengths[index] + 1
        found[-1].append(index)
        dealt += lengths[index] + 1
    return found


def _rank_hypotheses(found: RawHypotheses, config: SearchConfig) -> list[Hypothesis]:
    """The best by the paper's score; among equals the one that ended first."""
    hypotheses = [_score_hypothesis(_strip_eos(row), value, config.alpha) for row, value in found]
    return sorted(hypotheses, key=lambda each: (-each.score, len(each.tokens)))[: config.n_best]


def _score_hypothesis(tokens: Sequence[int], log_probability: float, alpha: float) -> Hypothesis:
    score = log_probability / length_penalty(len(tokens) + 1, alpha)
    return Hypothesis(tuple(tokens), log_probability, score)


def _all_ended_within(found: RawHypotheses, most: int) -> bool:
    """Whether every hypothesis ended, in time."""
    return all(row[-1] == EOS and len(row) - 1 <= most for row, _ in found)


def _strip_eos(row: Sequence[int]) -> Sequence[int]:
    return row[:-1] if row[-1] == EOS else row


def _resolve_weight_format(precision: RequestedPrecision) -> WeightFormat:
    if precision == "fp32":
        return "fp32"
    can = COMPUTE_TYPES["int8"] in ctranslate2.get_supported_compute_types("cpu")
    if precision == "int8" and not can:
        raise ConfigError("this CPU cannot compute in int8; choose the precision fp32 or auto")
    return "int8" if can else "fp32"


def _available_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""The road through CTranslate2: int8 on the CPU, a worker on every core, and no torch."""

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import ctranslate2

from regard.errors import ConfigError
from regard.inference.ctranslate2_convert import Stored, converted
from regard.inference.engine import limit
from regard.inference.engine_selection import Precision, inexpressible
from regard.model.config import ModelConfig
from regard.search.config import PAPER, SearchConfig
from regard.search.constraints import NO_WISH, Wish
from regard.search.hypothesis import Hypothesis, length_penalty
from regard.text.tokenizer import BOS, EOS, PAD

GREEDY_TOKENS, BEAM_TOKENS = 2048, 1024
"""Source tokens of a worker's batch: more gain nothing on a CPU (benchmarks/translate.py)."""
PADDED = 2
"""How many times as many places as tokens a batch may have."""
NO_MARKS = [[str(PAD)], [str(BOS)]]
"""What no text has, and a model does not write unless it would rather end and may not."""
COMPUTE: dict[Stored, str] = {"int8": "int8_float32", "fp32": "float32"}

Words = list[str]
Found = list[tuple[list[int], float]]
"""What was written for a sentence, the end mark included where there is one, and its log-probability."""


class CTranslateEngine:
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
        precision: Precision = "auto",
        threads: int | None = None,
    ) -> None:
        """The model of a folder, whose config this is; its weights are converted if they were not before."""
        self._model = model
        self._precision: Precision = precision
        self._refuse(PAPER, None)
        self._stored: Stored = _stored(precision)
        self._workers = _cores() if threads is None else threads
        self._translator = ctranslate2.Translator(
            str(converted(folder, model, self._stored)),
            compute_type=COMPUTE[self._stored],
            inter_threads=self._workers,
            intra_threads=1,
        )

    @property
    def precision(self) -> Stored:
        """In which it computes, whatever was asked."""
        return self._stored

    @property
    def longest(self) -> int:
        return self._model.max_length - 1  # one place is the end mark's

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER,
        wishes: Sequence[Wish] | None = None,
    ) -> list[list[Hypothesis]]:
        """The best translations found of each row of ids; give it many, and all workers have work."""
        self._refuse(config, wishes)
        full = [row for row in sources if row]
        answers = iter(self._found(full, config) if full else ())
        return [next(answers) if row else [Hypothesis((), 0.0, 0.0)] for row in sources]

    def _found(self, sources: Sequence[Sequence[int]], config: SearchConfig) -> list[list[Hypothesis]]:
        words = [[str(id) for id in row] for row in sources]
        limits = [limit(len(row), self.longest, config, NO_WISH) for row in sources]
        found = self._search(words, config, max(limits) + 1)
        late = [index for index, each in enumerate(found) if not _within(each, limits[index])]
        for most, group in groupby(sorted(late, key=limits.__getitem__), limits.__getitem__):
            indexes = list(group)
            again = self._search([words[index] for index in indexes], config, most)
            for index, each in zip(indexes, again, strict=True):
                found[index] = each
        unsure = range(len(found)) if config.min_length else late
        self._judge([words[index] for index in unsure], [found[index] for index in unsure])
        return [_ranked(each, config) for each in found]

    def _search(self, words: list[Words], config: SearchConfig, longest: int) -> list[Found]:
        """What CTranslate2 finds, in no order of ours; nothing is longer than that, end mark included."""
        tokens = GREEDY_TOKENS if config.beam == 1 else BEAM_TOKENS
        asked = {
            index: answer
            for batch in batches([len(row) for row in words], tokens, self._workers)
            for index, answer in zip(
                batch,
                self._translator.translate_batch(
                    [words[index] for index in batch],
                    beam_size=config.beam,
                    num_hypotheses=config.beam,
                    length_penalty=0,
                    min_decoding_length=min(config.min_length, longest),
                    suppress_sequences=NO_MARKS if config.min_length else None,
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

    def _judge(self, words: list[Words], found: list[Found]) -> None:
        """Puts in the true log-probabilities, end mark included.

        Search has others where a translation was cut, or where the end mark was forbidden at first: then
        CTranslate2 gives its share to the other tokens.
        """
        sources = [row for row, each in zip(words, found, strict=True) for _ in each]
        targets = [[str(id) for id in _without_mark(row)] for each in found for row, _ in each]
        lengths = [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]
        asked = {
            index: answer
            for batch in batches(lengths, GREEDY_TOKENS, self._workers)
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

    def _refuse(self, config: SearchConfig, wishes: Sequence[Wish] | None) -> None:
        wished = any(wish != NO_WISH for wish in wishes or ())
        if obstacle := inexpressible(self._model, self._precision, config, wished):
            raise ConfigError(f"{obstacle}; choose the engine torch")


def batches(lengths: Sequence[int], tokens: int, workers: int) -> list[list[int]]:
    """All indexes, the longest first: batches of like lengths and like sizes, one or more for each worker."""
    total = sum(lengths) + len(lengths)  # with the end marks
    rounds = -(-total // (tokens * workers))
    share = total / max(rounds * workers, 1)
    found: list[list[int]] = []
    dealt = widest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if dealt >= share * len(found) or (len(found[-1]) + 1) * widest > PADDED * max(share, widest):
            found.append([])
            widest = lengths[index] + 1
        found[-1].append(index)
        dealt += lengths[index] + 1
    return found


def _ranked(found: Found, config: SearchConfig) -> list[Hypothesis]:
    """The best by the paper's score; among equals the one that ended first."""
    hypotheses = [_hypothesis(_without_mark(row), value, config.alpha) for row, value in found]
    return sorted(hypotheses, key=lambda each: (-each.score, len(each.tokens)))[: config.n_best]


def _hypothesis(tokens: Sequence[int], log_probability: float, alpha: float) -> Hypothesis:
    score = log_probability / length_penalty(len(tokens) + 1, alpha)
    return Hypothesis(tuple(tokens), log_probability, score)


def _within(found: Found, most: int) -> bool:
    """Whether every hypothesis ended, in time."""
    return all(row[-1] == EOS and len(row) - 1 <= most for row, _ in found)


def _without_mark(row: Sequence[int]) -> Sequence[int]:
    return row[:-1] if row[-1] == EOS else row


def _stored(precision: Precision) -> Stored:
    if precision == "fp32":
        return "fp32"
    can = COMPUTE["int8"] in ctranslate2.get_supported_compute_types("cpu")
    if precision == "int8" and not can:
        raise ConfigError("this CPU cannot compute in int8; choose the precision fp32 or auto")
    return "int8" if can else "fp32"


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

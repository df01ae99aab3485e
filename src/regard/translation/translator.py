"""Translator: a model folder and text in, text out; no torch until an engine needs it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.bucketing import by_length
from regard.errors import ConfigError
from regard.inference.alignment import alignment, confidences
from regard.inference.engine import Engine
from regard.inference.engine_selection import Choice, EngineName, Precision
from regard.search.config import PAPER, SearchConfig
from regard.search.constraints import Wish
from regard.search.hypothesis import Hypothesis
from regard.text.token_spans import word_of_each
from regard.text.tokenizer import EOS, Tokenizer
from regard.text.unicode import refuse_halves
from regard.trace.request import MAX_TRACE_TOKENS
from regard.translation.constraint_compiler import Wishes
from regard.translation.engines import BATCH_TOKENS, EXACT, Device, How, Reader, Spare, plain, ready, say
from regard.translation.long_text import Portion, joined, portions
from regard.translation.options import NOTHING_ASKED, Asked, refuse_together
from regard.translation.result import IMPOSSIBLE, Continuation, Translation, Word

if TYPE_CHECKING:
    from regard.model.transformer import Transformer
    from regard.trace.interventions import Intervention
    from regard.trace.trace import Trace
    from regard.translation.tracing import Tracer

READ_AT_ONCE = 32
"""Translations that are read together; each takes the logits of all its pieces."""


class Translator:
    """Translates text with one model, the same way whatever else is translated beside it."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        batch_tokens: int = BATCH_TOKENS,
        reader: Reader | None = None,
        how: How = EXACT,
        spare: Spare | None = None,
        also: tuple[Path, ...] = (),
        tracer: "Callable[[], Tracer] | None" = None,
    ) -> None:
        """`reader` is what alignments and confidences are asked of; `how` says what computes.

        `spare` does what the engine cannot, and `also` are models that write together with this one.
        `tracer` makes what looks inside.
        """
        self.how = how
        self._engine = engine
        self._tokenizer = tokenizer
        self._batch_tokens = batch_tokens
        self._reader = reader
        self._spare, self._instead = spare, None
        self._also = also
        self._make_tracer = tracer
        self._piece = cache(tokenizer.piece)  # so that millions of tokens are few texts

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: Device = "auto",
        engine: EngineName = "auto",
        precision: Precision = "auto",
        *,
        threads: int | None = None,
        search: SearchConfig = PAPER,
        asked: Asked = NOTHING_ASKED,
    ) -> "Translator":
        """The model that `regard train` wrote to `folder`, in the engine that suits the device.

        Not every engine can do everything: `search` and `asked` say what will be wanted, so that one is
        chosen that can. On "auto" torch is loaded besides when something is wanted later that CTranslate2
        cannot do; an engine asked for by name refuses it.
        """
        return cls(*ready(Path(folder), device, engine, precision, threads, search, asked))

    @classmethod
    def of(cls, model: "Transformer", tokenizer: Tokenizer) -> "Translator":
        """A model in memory, as it is, wherever its weights are; it may go on learning meanwhile."""
        return cls(*plain(model, tokenizer))

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = PAPER.beam,
        alpha: float = PAPER.alpha,
        asked: Asked = NOTHING_ASKED,
        on_done: Callable[[int], None] | None = None,
    ) -> list[str]:
        """One translation for each text, in the same order, on one line; a blank text stays blank.

        `beam` and `alpha` are those of section 6.1; a beam of 1 is greedy search. A text that is too long
        for the model is translated sentence by sentence, unless something else is asked. `on_done` is
        called after each batch with the number of texts finished in it.
        """
        return [found.text for found in self.detailed(texts, SearchConfig(beam, alpha), asked, on_done)]

    def detailed(
        self,
        texts: Sequence[str],
        search: SearchConfig = PAPER,
        asked: Asked = NOTHING_ASKED,
        on_done: Callable[[int], None] | None = None,
    ) -> list[Translation]:
        """The same with all that is known: scores, pieces, the next best, alignments, confidences."""
        _refuse_no_texts(texts)
        refuse_together(search, asked)
        if asked.also not in ((), self._also):
            raise ConfigError("other models are loaded with the first: give them to Translator.load")
        if self._spare is not None and (why := self._spare.needed(search, asked)):
            return self._other(self._spare, why).detailed(texts, search, asked, on_done)
        if asked.reading and self._reader is None:
            raise ConfigError("this engine has no alignments and no confidences; choose the engine torch")
        work = portions(texts, self._tokenizer, self._engine.longest, asked.long)
        found = self._search(work, search, asked, on_done or (lambda _: None))
        return [
            joined(text.strip(), portion, parts, asked)
            for text, portion, parts in zip(texts, work, found, strict=True)
        ]

    def continuations(
        self, text: str, prefix: str = "", count: int = 5, search: SearchConfig = PAPER
    ) -> list[Continuation]:
        """How a translation that begins with `prefix` could go on, the likeliest first, and where each leads.

        Whatever the engine, the torch model is asked, in fp32.
        """
        from regard.inference.continuations import alternatives
        from regard.inference.eager import EagerEngine

        _refuse_no_texts([text, prefix])
        source, begun = self._tokenizer.tokenize([text.strip(), prefix.strip()])
        found = alternatives(EagerEngine(self.tracer.model), source, begun, count, search)
        best = self._translations([source] * len(found), [[each.best] for each in found], NOTHING_ASKED)
        return [
            Continuation(
                "" if each.token == EOS else self._piece(each.token),
                math.exp(each.log_probability),
                translation,
            )
            for each, translation in zip(found, best, strict=True)
        ]

    def _other(self, spare: Spare, why: str) -> "Translator":
        """The same model in another engine, loaded when it is first needed, which is said."""
        if self._instead is None:
            self._instead = Translator(*spare.load())
            say(Choice(self._instead.how.engine, why))
        return self._instead

    def trace(
        self,
        text: str,
        *,
        beam: int = PAPER.beam,
        alpha: float = PAPER.alpha,
        top_k: int = 10,
        prefix: str | Sequence[int] = (),
        target: str | Sequence[int] | None = None,
        interventions: "Sequence[Intervention | Mapping[str, Any]]" = (),
        max_tokens: int = MAX_TRACE_TOKENS,
        qkv: bool = True,
    ) -> "Trace":
        """One translation and all that produced it: attention, candidates, the beam; docs/trace.md.

        It may be told how to begin (`prefix`), or be given whole (`target`), as text or as token ids, and
        the model may be changed (`interventions`, also as a trace's JSON has them). Whatever the engine,
        the torch model is looked into, in fp32. Without `qkv`, the queries, keys and values, it is
        smaller, and a page of it cannot walk through the seven steps.
        """
        _refuse_no_texts([text])
        tracer = self.tracer
        request = tracer.request(
            text,
            beam=beam,
            alpha=alpha,
            top_k=top_k,
            prefix=prefix,
            target=target,
            interventions=interventions,
        )
        return tracer.trace(request, max_tokens, qkv)

    @property
    def tracer(self) -> "Tracer":
        """What looks into translations; the torch model is loaded for it if it is not there yet."""
        if self._make_tracer is None:
            raise ConfigError("several models that write together cannot be looked into; load one of them")
        return self._make_tracer()

    def _search(
        self, work: Sequence[Portion], search: SearchConfig, asked: Asked, on_done: Callable[[int], None]
    ) -> list[list[Translation]]:
        """For each part of each text its translation."""
        wishes = Wishes(self._tokenizer, asked)
        places = [(text, part) for text, portion in enumerate(work) for part in range(len(portion.ids))]
        found = [[Translation("")] * len(portion.ids) for portion in work]
        open_ = [len(portion.ids) for portion in work]
        on_done(open_.count(0))
        for batch in self._batches([len(work[text].ids[part]) for text, part in places], search, asked):
            chosen = [places[index] for index in batch]
            sources = [work[text].ids[part] for text, part in chosen]
            wanted = [wishes.of(work[text].parts[part], part == 0) for text, part in chosen]
            answers = self._found(sources, search, wanted, wishes)
            translations = self._translations(sources, answers, asked)
            for (text, part), translation in zip(chosen, translations, strict=True):
                found[text][part] = translation
                open_[text] -= 1
            on_done(sum(open_[text] == 0 for text in {text for text, _ in chosen}))
        return found

    def _found(
        self, sources: Sequence[Sequence[int]], search: SearchConfig, wanted: Sequence[Wish], wishes: Wishes
    ) -> list[list[Hypothesis]]:
        """What the engine finds, more than once where it has what is forbidden."""
        if not wishes.any:
            return self._engine.translate(sources, search)

        def translate(some: Sequence[int], wanted: Sequence[Wish]) -> list[list[Hypothesis]]:
            return self._engine.translate([sources[number] for number in some], search, wanted)

        return wishes.forbidden.kept_out(wanted, translate)

    def _batches(self, lengths: Sequence[int], search: SearchConfig, asked: Asked) -> Iterator[list[int]]:
        """Their indexes, like lengths together; or each by itself."""
        if asked.deterministic:
            yield from ([index] for index in range(len(lengths)))
            return
        rows = search.beam if search.sampling is None else search.n_best
        for batch in by_length(np.array(lengths, np.int64), self._batch_tokens // rows):
            yield batch.tolist()

    def _translations(
        self, sources: Sequence[Sequence[int]], answers: Sequence[Sequence[Hypothesis]], asked: Asked
    ) -> list[Translation]:
        """Of each source the best, and the others as its alternatives."""
        pairs = [(source, each) for source, answer in zip(sources, answers, strict=True) for each in answer]
        texts = self._tokenizer.detokenize([each.tokens for _, each in pairs])
        found = [
            Translation(_on_one_line(text), each.score, each.log_probability, self._pieces(each.tokens))
            for text, (_, each) in zip(texts, pairs, strict=True)
        ]
        if self._reader is not None and asked.reading:
            found = list(self._with_readings(self._reader, pairs, found, asked))
        rest = iter(found)
        grouped = [[next(rest) for _ in answer] for answer in answers]
        return [
            IMPOSSIBLE if best.log_probability == -math.inf else replace(best, alternatives=tuple(others))
            for best, *others in grouped
        ]

    def _with_readings(
        self,
        reader: Reader,
        pairs: Sequence[tuple[Sequence[int], Hypothesis]],
        found: Sequence[Translation],
        asked: Asked,
    ) -> Iterator[Translation]:
        """The same with what only a second look at the translations can tell."""
        for start in range(0, len(pairs), READ_AT_ONCE):
            some = pairs[start : start + READ_AT_ONCE]
            readings = reader.read([source for source, _ in some], [each.tokens for _, each in some])
            for (source, each), reading, translation in zip(some, readings, found[start:], strict=False):
                words = word_of_each(self._tokenizer, each.tokens)
                links = alignment(reading, word_of_each(self._tokenizer, source), words)
                sure = zip(translation.text.split(), confidences(reading, words), strict=True)
                yield replace(
                    translation,
                    alignment=links if asked.alignments else None,
                    words=tuple(Word(*each) for each in sure) if asked.confidences else None,
                )

    def _pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(self._piece, ids))


def _refuse_no_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("it takes a list of texts; for one text, give [text]")
    for number, text in enumerate(texts, start=1):
        refuse_halves(f"text {number}", text)


def _on_one_line(text: str) -> str:
    """A model can write any byte, but a translation must not move the lines after it."""
    return text.replace("\r", " ").replace("\n", " ")

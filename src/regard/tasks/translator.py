"""Translator: a model folder and text in, text out."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.data.bucketing import by_length
from regard.engine.eager import EagerEngine
from regard.errors import DataError
from regard.model.transformer import Transformer
from regard.search.config import PAPER, SearchConfig
from regard.tasks.folder import load_model
from regard.text.tokenizer import Tokenizer
from regard.train.device import Device, choose_device

BATCH_TOKENS = 4096
"""Source tokens searched at a time, each hypothesis counted; what a beam remembers grows with them."""
GPU_BATCH_TOKENS = 32_768
"""A GPU takes as long for few as for many."""


class Translator:
    """Translates text with one model, the same way whatever else is translated beside it."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer) -> None:
        self._model = model
        self._engine = EagerEngine(model)
        self._tokenizer = tokenizer
        self._longest = model.config.max_length - 1  # one place is the end mark's

    @classmethod
    def load(cls, folder: str | Path, device: Device = "auto") -> "Translator":
        """The model that `regard train` wrote to `folder`."""
        model = load_model(Path(folder))
        return cls(model.transformer.to(choose_device(device)), model.tokenizer)

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = PAPER.beam,
        alpha: float = PAPER.alpha,
        on_done: Callable[[int], None] | None = None,
    ) -> list[str]:
        """One translation for each text, in the same order, on one line; a blank text stays blank.

        A text longer than the model's limit is refused before anything is translated. `beam` and
        `alpha` are those of section 6.1; a beam of 1 is greedy search. `on_done` is called after
        each batch with the number of texts finished in it.
        """
        config = SearchConfig(beam, alpha)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("translate takes a list of texts; for one text, give [text]")
        on_done = on_done or (lambda _: None)
        ids = self._tokenizer.tokenize([text.strip() for text in texts])
        self._check_lengths(texts, ids)
        found: list[list[int]] = [[] for _ in texts]
        full = [index for index, row in enumerate(ids) if row]
        on_done(len(texts) - len(full))
        for batch in self._batches(ids, full, beam):
            rows = self._engine.translate([ids[i] for i in batch], config)
            for index, row in zip(batch, rows, strict=True):
                found[index] = list(row[0].tokens)
            on_done(len(batch))
        return [_on_one_line(text) for text in self._tokenizer.detokenize(found)]

    def _batches(self, ids: Sequence[Sequence[int]], full: Sequence[int], beam: int) -> Iterator[list[int]]:
        """The indexes in `full`, like lengths together."""
        lengths = np.array([len(ids[index]) for index in full], np.int64)
        budget = GPU_BATCH_TOKENS if next(self._model.parameters()).is_cuda else BATCH_TOKENS
        for batch in by_length(lengths, budget // beam):
            yield [full[i] for i in batch]

    def _check_lengths(self, texts: Sequence[str], ids: Sequence[Sequence[int]]) -> None:
        for number, (text, row) in enumerate(zip(texts, ids, strict=True), start=1):
            if len(row) > self._longest:
                raise DataError(
                    f'sentence {number} ("{text.strip()[:30]}...") has {len(row)} pieces and this model '
                    f"takes at most {self._longest}; split it into shorter ones"
                )


def _on_one_line(text: str) -> str:
    """A model can write any byte, but a translation must not move the lines after it."""
    return text.replace("\r", " ").replace("\n", " ")

"""A corpus as its distinct words: what is done once per word need not be done once per occurrence."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from tokenizers import Tokenizer as Backend
from tokenizers import models, trainers

from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Words:
    """Text i is the words `spelled[k]` for k in `at[starts[i]:starts[i + 1]]`, end to end."""

    spelled: list[str]
    """Each with the space before it, as the tokenizer cuts the text; pieces never cross their borders."""
    at: Int64[np.ndarray, " occurrences"]
    starts: Int64[np.ndarray, " texts_and_one"]


def split_words(tokenizer: Tokenizer, texts: Sequence[str]) -> Words:
    """The texts, in the tokenizer's own spelling, cut where it cuts them before it looks for pieces.

    The library has no call for that which is quick, but it has a model whose pieces are whole
    words; behind the tokenizer's normalizer and borders, its ids are the numbers of the words.
    """
    whole = json.loads(Backend(models.WordLevel({}, unk_token="")).to_str())["model"]
    backend = Backend.from_str(json.dumps({**json.loads(tokenizer.to_json()), "model": whole}))
    trainer = trainers.WordLevelTrainer(vocab_size=2**31, min_frequency=0, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    vocab = backend.get_vocab()
    rows = [encoding.ids for encoding in backend.encode_batch_fast(list(texts))]
    starts = np.zeros(len(rows) + 1, np.int64)
    starts[1:] = np.cumsum([len(row) for row in rows])
    at = np.fromiter((word for row in rows for word in row), np.int64, starts[-1])
    return Words(sorted(vocab, key=vocab.__getitem__), at, starts)

"""Whole words as pieces, and one piece for all that are too rare: what a small labelled corpus can teach.

A rare word cut into byte pairs is a row of pieces that mean other things elsewhere. To a translator that
must spell them they are all it has; to a classifier "a word I do not know" says more, and it learns what
to make of one from the rare words of the training texts.
"""

import json
from collections.abc import Iterable

from tokenizers import Regex, normalizers, trainers
from tokenizers import models as kinds

from regard.errors import ConfigError
from regard.text.tokenizer import BYTES, MARKS, SMALLEST, Tokenizer, backend, spelling

WHOLE_WORDS = r" ?['’]?[\p{L}\p{M}\p{N}](?:\S*[\p{L}\p{M}\p{N}])?| ?[^\s\p{L}\p{M}\p{N}]+|\s"
"""What stands between white space, and the signs around it by themselves; each with the space before it."""
UNKNOWN = SMALLEST
"""The piece of every word that has none of its own."""
UNKNOWN_PIECE = " <unk>"
FEWEST = 2
"""Times that a word must occur."""


def learn_words(texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> Tokenizer:
    """At most vocab_size pieces: the marks, the bytes' places, one for the unknown, and the commonest words.

    The bytes are never used; their places make ids mean the same as in any other tokenizer here.
    """
    room = vocab_size - SMALLEST - 1
    if room < 1:
        raise ConfigError(
            f"model.vocab_size = {vocab_size} cannot work; {SMALLEST + 1} are taken before the first word, "
            "and 4000 to 20000 is usual"
        )
    learner = backend(kinds.WordLevel(), _one_space(lowercase), WHOLE_WORDS)
    learner.train_from_iterator(
        iter(texts), trainers.WordLevelTrainer(vocab_size=room, min_frequency=FEWEST, show_progress=False)
    )
    found = json.loads(learner.to_str())["model"]["vocab"]
    words = sorted(found, key=found.__getitem__)
    vocab = {piece: id for id, piece in enumerate([*MARKS, *BYTES, UNKNOWN_PIECE, *words])}
    model = kinds.WordLevel(vocab=vocab, unk_token=UNKNOWN_PIECE)
    return Tokenizer(backend(model, _one_space(lowercase), WHOLE_WORDS))


def _one_space(lowercase: bool) -> list[normalizers.Normalizer]:
    """However much white space stands between two words, it is one space."""
    return [*spelling(lowercase), normalizers.Replace(Regex(r"\s+"), " ")]

"""Joint byte-pair encoding on the `tokenizers` library: any text to ids and back, nothing lost."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend
from tokenizers import models as kinds

from regard.errors import CheckpointError, ConfigError

PAD, BOS, EOS = 0, 1, 2
SPECIAL_TOKENS = ["<pad>", "<s>", "</s>"]
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
BASE_VOCAB_SIZE = len(SPECIAL_TOKENS) + len(BYTE_TOKENS)
"""The vocabulary that knows bytes only."""

PRETOKEN_PATTERN = r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s"
"""A word, a digit or a run of signs, each with the one space before it; then other white space.

Spaces stay spaces inside the pieces, so no character is set aside to stand for them and every
text comes back as it was. Pieces never cross these borders, so the marks above can never be
spelled by a text that contains them.
"""


class Tokenizer:
    """Text to piece ids and back; the same text (NFC, lower-cased if asked) comes back, whatever is in it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def vocab_size(self) -> int:
        return self._backend.get_vocab_size()

    @property
    def lowercase(self) -> bool:
        """Whether capitals are lost."""
        return self._backend.normalizer.normalize_str("A") != " A"

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without begin or end marks."""
        return [encoding.ids for encoding in self._backend.encode_batch_fast(list(texts))]

    def detokenize(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of ids; marks are left out."""
        kept = [[id for id in row if id >= len(SPECIAL_TOKENS)] for row in rows]
        return self._backend.decode_batch(kept, skip_special_tokens=False)

    def id_to_token(self, id: int) -> str:
        """The piece as a person reads it: a space where it begins a word, <0xE2> for a byte."""
        piece = self._backend.id_to_token(id)
        if piece is None:
            raise IndexError(f"there is no piece {id}; ids run from 0 to {self.vocab_size - 1}")
        return piece

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all that decides how text becomes ids."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()

    def to_json(self) -> str:
        """The whole tokenizer, in the library's format."""
        return self._backend.to_str(pretty=True)

    def save(self, path: Path) -> None:
        path.write_text(self.to_json(), encoding="utf-8")


def learn_tokenizer(texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> Tokenizer:
    """At most vocab_size pieces: three marks, 256 bytes, and what the texts repeat most.

    A character too rare for a piece of its own is written as its bytes, so nothing is unknown. The
    texts are gone through twice. With `lowercase` there are no capitals, neither in what is learnt nor
    in what comes back.
    """
    if vocab_size <= BASE_VOCAB_SIZE:
        raise ConfigError(
            f"model.vocab_size = {vocab_size} cannot work; bytes and marks alone take {BASE_VOCAB_SIZE}, "
            "and 4000 to 37000 is usual"
        )
    room = vocab_size - BASE_VOCAB_SIZE
    learner = build_backend(models.BPE(), text_normalizers(lowercase))
    alphabet = _most_frequent_characters(texts, max(room // 2, 1), lowercase)
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    learner.train_from_iterator(iter(texts), trainer)
    return Tokenizer(build_backend(_add_special_and_byte_tokens(learner), text_normalizers(lowercase)))


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer that `save` wrote."""
    try:
        found = Backend.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises nothing narrower
        raise CheckpointError(f"{path} is not a tokenizer: {error}") from None
    return Tokenizer(found)


def _most_frequent_characters(texts: Iterable[str], limit: int, lowercase: bool) -> list[str]:
    """The most frequent characters; the library, left to choose, breaks ties differently each time."""
    counts, normal = Counter(" "), normalizers.Sequence(text_normalizers(lowercase))
    for text in texts:
        counts.update(normal.normalize_str(text))
    return sorted(counts, key=lambda character: (-counts[character], character))[:limit]


def _add_special_and_byte_tokens(learnt: Backend) -> models.BPE:
    """The learnt model with ids for marks and bytes before its own.

    They are plain entries of the vocabulary and not `special tokens`, which the library would
    find in the text itself: a sentence about "</s>" must not end there.
    """
    model = json.loads(learnt.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    vocab = {piece: id for id, piece in enumerate([*SPECIAL_TOKENS, *BYTE_TOKENS, *pieces])}
    return models.BPE(vocab=vocab, merges=[tuple(pair) for pair in model["merges"]], byte_fallback=True)


def text_normalizers(lowercase: bool) -> list[normalizers.Normalizer]:
    """NFC comes last, because a small letter may be composed where its capital is not."""
    return [normalizers.Lowercase(), normalizers.NFC()] if lowercase else [normalizers.NFC()]


def build_backend(
    model: models.Model,
    text_normalizers: list[normalizers.Normalizer],
    pretoken_pattern: str = PRETOKEN_PATTERN,
) -> Backend:
    """The space before a word belongs to the word, so the first word is given one too."""
    made = Backend(model)
    made.normalizer = normalizers.Sequence([*text_normalizers, normalizers.Prepend(" ")])
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pretoken_pattern), behavior="isolated")
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return made


WORD_PATTERN = r" ?['’]?[\p{L}\p{M}\p{N}](?:\S*[\p{L}\p{M}\p{N}])?| ?[^\s\p{L}\p{M}\p{N}]+|\s"
"""What stands between white space, and the signs around it by themselves; each with the space before it."""
UNKNOWN_ID = BASE_VOCAB_SIZE
"""The piece of every word that has none of its own."""
UNKNOWN_TOKEN = " <unk>"
MIN_WORD_COUNT = 2
"""Times that a word must occur."""


def learn_word_tokenizer(texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> Tokenizer:
    """At most vocab_size pieces: the marks, the bytes' places, one for the unknown, and the commonest words.

    The bytes are never used; their places make ids mean the same as in any other tokenizer here.
    """
    room = vocab_size - BASE_VOCAB_SIZE - 1
    if room < 1:
        raise ConfigError(
            f"model.vocab_size = {vocab_size} cannot work; {BASE_VOCAB_SIZE + 1} are taken before the first word, "
            "and 4000 to 20000 is usual"
        )
    learner = build_backend(kinds.WordLevel(), _collapse_whitespace(lowercase), WORD_PATTERN)
    learner.train_from_iterator(
        iter(texts),
        trainers.WordLevelTrainer(vocab_size=room, min_frequency=MIN_WORD_COUNT, show_progress=False),
    )
    found = json.loads(learner.to_str())["model"]["vocab"]
    words = sorted(found, key=found.__getitem__)
    vocab = {piece: id for id, piece in enumerate([*SPECIAL_TOKENS, *BYTE_TOKENS, UNKNOWN_TOKEN, *words])}
    model = kinds.WordLevel(vocab=vocab, unk_token=UNKNOWN_TOKEN)
    return Tokenizer(build_backend(model, _collapse_whitespace(lowercase), WORD_PATTERN))


def _collapse_whitespace(lowercase: bool) -> list[normalizers.Normalizer]:
    """However much white space stands between two words, it is one space."""
    return [*text_normalizers(lowercase), normalizers.Replace(Regex(r"\s+"), " ")]

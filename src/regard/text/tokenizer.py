"""Byte-pair encoding and whole-word tokenizers: text to token ids and back, with byte fallback."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from regard.errors import ConfigError

PAD, BOS, EOS = 0, 1, 2
SPECIAL_TOKENS = ["<pad>", "<s>", "</s>"]
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
BASE_VOCAB_SIZE = len(SPECIAL_TOKENS) + len(BYTE_TOKENS)
"""Special tokens and bytes; the id of the first learned token."""

PRETOKEN_PATTERN = r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s"
"""A word, a digit or a run of punctuation, each with the one space before it; or other white space.

Spaces stay spaces inside tokens, so no character is reserved for them and every text comes back
unchanged. Tokens never cross these boundaries, so no text can spell a special token.
"""
WORD_PATTERN = r" ?['’]?[\p{L}\p{M}\p{N}](?:\S*[\p{L}\p{M}\p{N}])?| ?[^\s\p{L}\p{M}\p{N}]+|\s"
"""A word between white space, or the punctuation around it; each with the space before it."""
UNKNOWN_ID = BASE_VOCAB_SIZE
UNKNOWN_TOKEN = " <unk>"
MIN_WORD_COUNT = 2
"""Occurrences that a word needs for a token."""
LONG_WORD = re.compile(r"\S{5001}")
WORD_PARTS = re.compile(r" ?\S{1,5000}|\s+")
"""The parts of a text with a long word that merges are learned from: each merge reads a whole word."""
MAX_VOCAB_SIZE = 2**18
MAX_TOKEN_LENGTH = 4096
"""Characters of the longest token; a model folder may come from a stranger, and a text has many tokens."""


class Tokenizer:
    """Converts text to token ids and back; any text comes back, in NFC and lower-cased if the model is."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def vocab_size(self) -> int:
        return self._backend.get_vocab_size()

    @property
    def lowercase(self) -> bool:
        """Whether the tokenizer lower-cases its input."""
        return self._backend.normalizer.normalize_str("A") != " A"

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without <s> and </s>."""
        return [encoding.ids for encoding in self._backend.encode_batch_fast(list(texts))]

    def detokenize(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each row of ids; special tokens are skipped."""
        texts = [[id for id in row if id >= len(SPECIAL_TOKENS)] for row in rows]
        return self._backend.decode_batch(texts, skip_special_tokens=False)

    def id_to_token(self, id: int) -> str:
        """Return the token as readable text: with a space where it begins a word, or <0xE2> for a byte."""
        token = self._backend.id_to_token(id)
        if token is None:
            raise IndexError(f"there is no token {id}; ids run from 0 to {self.vocab_size - 1}")
        return token

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of everything that decides how text becomes ids."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the whole tokenizer in the format of the `tokenizers` library."""
        return self._backend.to_str(pretty=True)

    def save(self, path: Path) -> None:
        path.write_text(self.to_json(), encoding="utf-8")


def learn_tokenizer(texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> Tokenizer:
    """Learn byte-pair encoding with at most `vocab_size` tokens: three special ones, 256 bytes, and merges.

    A character too rare for a token is written as its bytes, so nothing is unknown. The texts are
    iterated over twice.
    """
    if vocab_size <= BASE_VOCAB_SIZE:
        raise ConfigError(
            f"model.vocab_size = {vocab_size} is too small; special tokens and bytes alone take "
            f"{BASE_VOCAB_SIZE}, and 4000 to 37000 is usual"
        )
    learned_tokens = vocab_size - BASE_VOCAB_SIZE
    learner = build_bpe_backend({}, [], lowercase)
    alphabet = _most_frequent_characters(texts, max(learned_tokens // 2, 1), lowercase)
    trainer = trainers.BpeTrainer(
        vocab_size=learned_tokens,
        min_frequency=2,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        max_token_length=MAX_TOKEN_LENGTH,
        show_progress=False,
    )
    learner.train_from_iterator(_cut_long_words(texts), trainer)
    return Tokenizer(build_bpe_backend(*_add_special_and_byte_tokens(learner), lowercase))


def learn_word_tokenizer(texts: Iterable[str], vocab_size: int, lowercase: bool = False) -> Tokenizer:
    """Learn whole words as tokens, and one unknown token for all rarer words.

    A rare word as byte pairs is a row of tokens that mean other things elsewhere. A translator needs them
    to spell the word; a classifier of few texts learns more from "unknown word". The byte tokens are never
    used, but keep ids of special tokens the same as in every other tokenizer here.
    """
    learned_tokens = vocab_size - BASE_VOCAB_SIZE - 1
    if learned_tokens < 1:
        raise ConfigError(
            f"model.vocab_size = {vocab_size} is too small; {BASE_VOCAB_SIZE + 1} are taken before the first "
            "word, and 4000 to 20000 is usual"
        )
    learner = build_word_backend({}, lowercase)
    learner.train_from_iterator(
        iter(texts),
        trainers.WordLevelTrainer(
            vocab_size=learned_tokens, min_frequency=MIN_WORD_COUNT, show_progress=False
        ),
    )
    learned = json.loads(learner.to_str())["model"]["vocab"]
    words = sorted((word for word in learned if len(word) <= MAX_TOKEN_LENGTH), key=learned.__getitem__)
    vocab = {token: id for id, token in enumerate([*SPECIAL_TOKENS, *BYTE_TOKENS, UNKNOWN_TOKEN, *words])}
    return Tokenizer(build_word_backend(vocab, lowercase))


def text_normalizers(lowercase: bool) -> list[normalizers.Normalizer]:
    """Return lower-casing, if wanted, and NFC, which comes last: some letters compose only in lower case."""
    return [normalizers.Lowercase(), normalizers.NFC()] if lowercase else [normalizers.NFC()]


def build_bpe_backend(vocab: dict[str, int], merges: Sequence[tuple[str, str]], lowercase: bool) -> Backend:
    """Build a byte-pair encoding of the library from its parts."""
    model = models.BPE(vocab=vocab, merges=list(merges), byte_fallback=True)
    return build_backend(model, text_normalizers(lowercase))


def build_word_backend(vocab: dict[str, int], lowercase: bool) -> Backend:
    """Build a whole-word tokenizer of the library from its vocabulary."""
    model = models.WordLevel(vocab=vocab, unk_token=UNKNOWN_TOKEN)
    return build_backend(model, _collapse_whitespace(lowercase), WORD_PATTERN)


def build_backend(
    model: models.Model,
    text_normalizers: list[normalizers.Normalizer],
    pretoken_pattern: str = PRETOKEN_PATTERN,
) -> Backend:
    """Build a tokenizer of the library in which a word includes the space before it; the first gets one."""
    backend = Backend(model)
    backend.normalizer = normalizers.Sequence([*text_normalizers, normalizers.Prepend(" ")])
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(pretoken_pattern), behavior="isolated")
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return backend


def _cut_long_words(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts; one with a word of more than 5,000 characters comes in parts."""
    for text in texts:
        if LONG_WORD.search(text):
            yield from (part for part in WORD_PARTS.findall(text) if not part.isspace())
        else:
            yield text


def _most_frequent_characters(texts: Iterable[str], limit: int, lowercase: bool) -> list[str]:
    """Return the alphabet; the library would break ties differently each time."""
    counts, normalizer = Counter(" "), normalizers.Sequence(text_normalizers(lowercase))
    for text in texts:
        counts.update(normalizer.normalize_str(text))
    return sorted(counts, key=lambda character: (-counts[character], character))[:limit]


def _add_special_and_byte_tokens(learned: Backend) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return vocabulary and merges, with special tokens and bytes before the learned tokens.

    They are plain vocabulary entries and not the library's "special tokens", which it would find in
    the text itself: a sentence about "</s>" must not end there.
    """
    model = json.loads(learned.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    vocab = {token: id for id, token in enumerate([*SPECIAL_TOKENS, *BYTE_TOKENS, *tokens])}
    return vocab, [(left, right) for left, right in model["merges"]]


def _collapse_whitespace(lowercase: bool) -> list[normalizers.Normalizer]:
    """Return the normalizers of whole-word tokenizers: any white space between words is one space."""
    return [*text_normalizers(lowercase), normalizers.Replace(Regex(r"\s+"), " ")]

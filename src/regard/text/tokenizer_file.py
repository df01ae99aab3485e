"""Reading tokenizer.json: vocabulary and merges are checked; everything else must be as regard writes it.

The library's own reader runs whatever the file says: normalizers that repeat a text without end, regular
expressions that panic, padding and truncation. So the tokenizer is built from the checked parts instead.
"""

import json
from pathlib import Path
from typing import Any

from regard.errors import CheckpointError
from regard.strict_json import read_json
from regard.text.tokenizer import (
    BYTE_TOKENS,
    MAX_TOKEN_LENGTH,
    MAX_VOCAB_SIZE,
    SPECIAL_TOKENS,
    UNKNOWN_TOKEN,
    Tokenizer,
    build_bpe_backend,
    build_word_backend,
)

MAX_TOKENIZER_BYTES = 24 * 2**20
"""Enough for `MAX_VOCAB_SIZE` tokens."""
LEARNED_KEYS = ("vocab", "merges")
"""What differs between the tokenizers that regard writes; and lower-casing, in the normalizer."""


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer that `Tokenizer.save` wrote."""
    try:
        return _build_tokenizer(read_json(path, MAX_TOKENIZER_BYTES))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is not a tokenizer of regard: {error}") from None


def _build_tokenizer(document: Any) -> Tokenizer:
    model = document.get("model") if isinstance(document, dict) else None
    kind = model.get("type") if isinstance(model, dict) else None
    if model is None or kind not in ("BPE", "WordLevel"):
        raise ValueError("its model must be BPE or WordLevel")
    lowercase = _find_lowercase(document, is_bpe=kind == "BPE")
    if kind == "WordLevel":
        return Tokenizer(build_word_backend(_check_vocab(model.get("vocab"), [UNKNOWN_TOKEN]), lowercase))
    vocab = _check_vocab(model.get("vocab"), [])
    return Tokenizer(build_bpe_backend(vocab, _check_merges(model.get("merges"), vocab), lowercase))


def _find_lowercase(document: dict[str, Any], is_bpe: bool) -> bool:
    """Return whether the tokenizer lower-cases; refuse one that differs in more from those we write."""
    without_learned = {**document, "model": _without_learned(document["model"])}
    differences = []
    for lowercase in (False, True):
        backend = build_bpe_backend({}, [], lowercase) if is_bpe else build_word_backend({}, lowercase)
        written = json.loads(backend.to_str())
        written["model"] = _without_learned(written["model"])
        difference = _find_difference(without_learned, written)
        if difference is None:
            return lowercase
        differences.append(difference)
    raise ValueError(f"its {differences[0]} is not what regard writes")


def _without_learned(model: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in model.items() if key not in LEARNED_KEYS}


def _find_difference(found: dict[str, Any], written: dict[str, Any]) -> str | None:
    """Return the key of the first difference.

    Other versions of the library write other keys that are empty or off; those make no difference.
    """
    for key in (*written, *found):
        ours, theirs = written.get(key), found.get(key)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            if difference := _find_difference(theirs, ours):
                return f"{key}.{difference}"
        elif (ours or theirs) and (ours != theirs or type(ours) is not type(theirs)):
            return ascii(key[:80])[1:-1]
    return None


def _check_vocab(vocab: Any, first_words: list[str]) -> dict[str, int]:
    """Return the vocabulary; its ids must be 0, 1, 2, ..., and the special tokens and bytes come first."""
    if not isinstance(vocab, dict) or len(vocab) > MAX_VOCAB_SIZE:
        raise ValueError(f"its vocabulary must have at most {MAX_VOCAB_SIZE:,} tokens")
    if any(type(id) is not int for id in vocab.values()) or sorted(vocab.values()) != list(range(len(vocab))):
        raise ValueError("the ids of its vocabulary must be 0, 1, 2, ..., each once")
    tokens = sorted(vocab, key=vocab.__getitem__)
    first = [*SPECIAL_TOKENS, *BYTE_TOKENS, *first_words]
    if tokens[: len(first)] != first:
        raise ValueError("its vocabulary must begin with the special tokens and the bytes")
    if max(map(len, tokens)) > MAX_TOKEN_LENGTH or "" in vocab:
        raise ValueError(f"its tokens must have from 1 to {MAX_TOKEN_LENGTH:,} characters")
    "".join(tokens).encode("utf-8")  # a lone surrogate raises UnicodeEncodeError, a ValueError
    return vocab


def _check_merges(merges: Any, vocab: dict[str, int]) -> list[tuple[str, str]]:
    """Return the merges; each joins two tokens to a third."""
    if not isinstance(merges, list):
        raise ValueError("its merges must be a list")
    pairs = []
    for merge in merges:
        if not (isinstance(merge, list) and len(merge) == 2 and all(isinstance(part, str) for part in merge)):
            raise ValueError("each of its merges must be two tokens")
        left, right = merge
        if not (left in vocab and right in vocab and left + right in vocab):
            raise ValueError(f"its merge of {left[:40]!a} and {right[:40]!a} is not in the vocabulary")
        pairs.append((left, right))
    if len(set(pairs)) < len(pairs):
        raise ValueError("it has a merge twice")
    return pairs

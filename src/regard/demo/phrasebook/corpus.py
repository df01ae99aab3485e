"""The phrasebook corpus: reproducible sentence pairs without repetition, in three disjoint parts."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from regard.demo.phrasebook import actions, activities, descriptions, interactions, locations, travel
from regard.demo.phrasebook.sentence_pattern import Pattern, scale_weights
from regard.demo.phrasebook.shuffled_sentences import draw_sentences
from regard.errors import DataError


@cache
def phrasebook_patterns() -> tuple[Pattern, ...]:
    """Return all patterns, each group with its share of the sentences."""
    return (
        *scale_weights(0.43, actions.action_patterns()),
        *scale_weights(0.16, interactions.people_patterns()),
        *scale_weights(0.14, travel.travel_patterns()),
        *scale_weights(0.12, descriptions.description_patterns()),
        *scale_weights(0.05, locations.location_patterns()),
        *scale_weights(0.10, activities.activity_patterns()),
    )


PhrasebookPart = Literal["train", "valid", "test"]


class PhrasePair(NamedTuple):
    """A sentence and its translation."""

    english: str
    french: str


# The first test pair of every phrasebook: it is never in the training pairs.
DEMO_PAIR = PhrasePair("Jane visits Africa in September.", "Jane visite l'Afrique en septembre.")

HELD_OUT = 50  # one sentence in 50 is a validation sentence, and one a test sentence


@dataclass(frozen=True)
class Phrasebook:
    """Three lists of pairs with no sentence in common."""

    train: list[PhrasePair]
    valid: list[PhrasePair]
    test: list[PhrasePair]


def phrasebook(train: int, valid: int = 1000, test: int = 1000, seed: int = 0) -> Phrasebook:
    """Return the first pairs of each part in the order of `seed`; a smaller one is a prefix of a larger."""
    counts: dict[PhrasebookPart, int] = {"train": train, "valid": valid, "test": test}
    _check_counts(counts)
    parts: dict[PhrasebookPart, list[PhrasePair]] = {"train": [], "valid": [], "test": [DEMO_PAIR][:test]}
    missing = sum(counts.values()) - len(parts["test"])
    draws = _drawn_pairs(seed)
    while missing:
        pair = next(draws, None)
        if pair is None:
            raise DataError(_too_many_pairs_message(counts))
        part = _part(pair)
        if len(parts[part]) < counts[part] and pair != DEMO_PAIR:
            parts[part].append(pair)
            missing -= 1
    return Phrasebook(**parts)


def iterate_pairs(part: str, seed: int = 0) -> Iterator[PhrasePair]:
    """Iterate over every pair of a part once, in the order of `seed`."""
    if part not in ("train", "valid", "test"):
        raise DataError(f"{part!r} is not a part of the phrasebook; the parts are train, valid and test")
    return _pairs(part, seed)


def phrasebook_size() -> int:
    """Return the number of pairs of all parts; no sentence can be generated in two ways."""
    return sum(pattern.size for pattern in phrasebook_patterns())


def _pairs(part: str, seed: int) -> Iterator[PhrasePair]:
    if part == "test":
        yield DEMO_PAIR
    for pair in _drawn_pairs(seed):
        if _part(pair) == part and pair != DEMO_PAIR:
            yield pair


def _part(pair: PhrasePair) -> PhrasebookPart:
    """Return the part of a pair; it depends on the text alone, so no test sentence is ever trained on."""
    if pair == DEMO_PAIR:
        return "test"
    match zlib.crc32(pair.english.encode()) % HELD_OUT:
        case 0:
            return "test"
        case 1:
            return "valid"
        case _:
            return "train"


def _drawn_pairs(seed: int) -> Iterator[PhrasePair]:
    return map(PhrasePair._make, draw_sentences(phrasebook_patterns(), seed))


def _check_counts(counts: dict[PhrasebookPart, int]) -> None:
    for part, count in counts.items():
        if count < 0:
            raise DataError(f"a phrasebook cannot have {count} {part} pairs; give 0 or more")
    if sum(counts.values()) > phrasebook_size():
        raise DataError(_too_many_pairs_message(counts))


def _too_many_pairs_message(counts: dict[PhrasebookPart, int]) -> str:
    requested = ", ".join(f"{count} {part}" for part, count in counts.items())
    return f"the phrasebook has {phrasebook_size()} pairs, too few for {requested}; give smaller numbers"

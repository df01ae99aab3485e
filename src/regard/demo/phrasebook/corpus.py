"""Every sentence pattern of the phrasebook."""

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
    """All patterns, each idea with its share of the sentences."""
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


# The first test pair of every phrasebook, so that a model's answer to it is never one learned by heart.
DEMO_PAIR = PhrasePair("Jane visits Africa in September.", "Jane visite l'Afrique en septembre.")

HELD_OUT = 50  # one sentence in this many goes to valid, and one to test


@dataclass(frozen=True)
class Phrasebook:
    """Three lists of pairs with no sentence in common."""

    train: list[PhrasePair]
    valid: list[PhrasePair]
    test: list[PhrasePair]


def phrasebook(train: int, valid: int = 1000, test: int = 1000, seed: int = 0) -> Phrasebook:
    """The first pairs of each part in the order of this seed; a larger phrasebook begins with a smaller."""
    wanted: dict[PhrasebookPart, int] = {"train": train, "valid": valid, "test": test}
    _check_counts(wanted)
    found: dict[PhrasebookPart, list[PhrasePair]] = {"train": [], "valid": [], "test": [DEMO_PAIR][:test]}
    missing = sum(wanted.values()) - len(found["test"])
    draws = _drawn_pairs(seed)
    while missing:
        pair = next(draws, None)
        if pair is None:
            raise DataError(_too_many_pairs_message(wanted))
        part = _part(pair)
        if len(found[part]) < wanted[part] and pair != DEMO_PAIR:
            found[part].append(pair)
            missing -= 1
    return Phrasebook(**found)


def iterate_pairs(part: str, seed: int = 0) -> Iterator[PhrasePair]:
    """Every pair of a part once, in the order of this seed."""
    if part not in ("train", "valid", "test"):
        raise DataError(f"{part!r} is not a part of the phrasebook; the parts are train, valid and test")
    return _pairs(part, seed)


def phrasebook_size() -> int:
    """How many pairs there are, all parts together; no two patterns say the same, nor two choices of one."""
    return sum(pattern.size for pattern in phrasebook_patterns())


def _pairs(part: str, seed: int) -> Iterator[PhrasePair]:
    if part == "test":
        yield DEMO_PAIR
    for pair in _drawn_pairs(seed):
        if _part(pair) == part and pair != DEMO_PAIR:
            yield pair


def _part(pair: PhrasePair) -> PhrasebookPart:
    """The part a sentence belongs to, whatever the seed: training on more never takes in a test sentence."""
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


def _check_counts(wanted: dict[PhrasebookPart, int]) -> None:
    for part, count in wanted.items():
        if count < 0:
            raise DataError(f"a phrasebook cannot have {count} {part} pairs; ask for 0 or more")
    if sum(wanted.values()) > phrasebook_size():
        raise DataError(_too_many_pairs_message(wanted))


def _too_many_pairs_message(wanted: dict[PhrasebookPart, int]) -> str:
    asked = ", ".join(f"{count} {part}" for part, count in wanted.items())
    return f"the phrasebook has {phrasebook_size()} pairs, too few for {asked}; ask for fewer"

"""Every sentence pattern of the phrasebook."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from regard.demo.phrasebook import actions, activities, descriptions, interactions, locations, travel
from regard.demo.phrasebook.sentence_pattern import Pattern, shared
from regard.demo.phrasebook.shuffled_sentences import draw
from regard.errors import DataError


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, each idea with its share of the sentences."""
    return (
        *shared(0.43, actions.patterns()),
        *shared(0.16, interactions.patterns()),
        *shared(0.14, travel.patterns()),
        *shared(0.12, descriptions.patterns()),
        *shared(0.05, locations.patterns()),
        *shared(0.10, activities.patterns()),
    )


Part = Literal["train", "valid", "test"]


class Pair(NamedTuple):
    """A sentence and its translation."""

    english: str
    french: str


# The first test pair of every phrasebook, so that a model's answer to it is never one learned by heart.
SHOWN = Pair("Jane visits Africa in September.", "Jane visite l'Afrique en septembre.")

HELD_OUT = 50  # one sentence in this many goes to valid, and one to test


@dataclass(frozen=True)
class Phrasebook:
    """Three lists of pairs with no sentence in common."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def phrasebook(train: int, valid: int = 1000, test: int = 1000, seed: int = 0) -> Phrasebook:
    """The first pairs of each part in the order of this seed; a larger phrasebook begins with a smaller."""
    wanted: dict[Part, int] = {"train": train, "valid": valid, "test": test}
    _check(wanted)
    found: dict[Part, list[Pair]] = {"train": [], "valid": [], "test": [SHOWN][:test]}
    missing = sum(wanted.values()) - len(found["test"])
    draws = _draws(seed)
    while missing:
        pair = next(draws, None)
        if pair is None:
            raise DataError(_too_many(wanted))
        part = _part(pair)
        if len(found[part]) < wanted[part] and pair != SHOWN:
            found[part].append(pair)
            missing -= 1
    return Phrasebook(**found)


def pairs(part: str, seed: int = 0) -> Iterator[Pair]:
    """Every pair of a part once, in the order of this seed."""
    if part not in ("train", "valid", "test"):
        raise DataError(f"{part!r} is not a part of the phrasebook; the parts are train, valid and test")
    return _pairs(part, seed)


def size() -> int:
    """How many pairs there are, all parts together; no two patterns say the same, nor two choices of one."""
    return sum(pattern.size for pattern in patterns())


def _pairs(part: str, seed: int) -> Iterator[Pair]:
    if part == "test":
        yield SHOWN
    for pair in _draws(seed):
        if _part(pair) == part and pair != SHOWN:
            yield pair


def _part(pair: Pair) -> Part:
    """The part a sentence belongs to, whatever the seed: training on more never takes in a test sentence."""
    if pair == SHOWN:
        return "test"
    match zlib.crc32(pair.english.encode()) % HELD_OUT:
        case 0:
            return "test"
        case 1:
            return "valid"
        case _:
            return "train"


def _draws(seed: int) -> Iterator[Pair]:
    return map(Pair._make, draw(patterns(), seed))


def _check(wanted: dict[Part, int]) -> None:
    for part, count in wanted.items():
        if count < 0:
            raise DataError(f"a phrasebook cannot have {count} {part} pairs; ask for 0 or more")
    if sum(wanted.values()) > size():
        raise DataError(_too_many(wanted))


def _too_many(wanted: dict[Part, int]) -> str:
    asked = ", ".join(f"{count} {part}" for part, count in wanted.items())
    return f"the phrasebook has {size()} pairs, too few for {asked}; ask for fewer"

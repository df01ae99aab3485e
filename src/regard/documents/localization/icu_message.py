"""ICU MessageFormat: the texts of a message and of the branches of its plurals, selects and choices.

Each branch is a text of its own. In the text around it, the whole argument stands as one placeholder, so
that the structure of the message does not change: "{n, plural, one {# file} other {# files}} found" has the
texts "{n} found", "# file" and "# files". Where a branch continues a word ("item{n, plural, one {}
other {s}}"), the text around it moves into each branch first.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from regard.documents.localization.keyed_message import (
    KEYED_PLACEHOLDER,
    PARAGRAPH_OR_PLURAL_BREAK,
    count_placeholders,
    read_plain_message,
    token_alternatives,
    token_fragment,
)
from regard.documents.localization.message import text_slot
from regard.documents.message_template import MessageContent
from regard.documents.segments import InlineFragment, InlineKind
from regard.documents.template import Slot

ARGUMENT_WITH_BRANCHES = re.compile(r"\{\s*([\w.-]+)\s*,\s*(plural|selectordinal|select|choice)\s*,")
SIMPLE_ARGUMENT = re.compile(r"\{[^{}']*(?:'[^']*'[^{}']*)*\}")
QUOTED = re.compile(r"''|'[{}#|](?:[^']|'')*(?:'|\Z)")
"""A doubled apostrophe, or syntax between apostrophes; any other apostrophe stands for itself."""
LITERAL = re.compile(r"[^'{}|\0]+")
OFFSET = re.compile(r"\s*offset:\s*\d+(?=\s)")
SELECTOR = re.compile(r"\s*(=\d+|[\w-]+)\s*\{")
CHOICE_LIMIT = re.compile(r"\s*(-?(?:\d+(?:\.\d+)?|∞)\s*[#<≤])")
BRANCHES_END = re.compile(r"\s*\}")
STAND_IN = re.compile("\0(\\d+)\0")
"""The number of an argument in place of the argument; a message that contains NUL is not parsed."""
PLURAL_TYPES = ("plural", "selectordinal")
MAX_ICU_DEPTH = 12
MAX_ICU_TEXTS = 64


@dataclass(frozen=True)
class IcuRegion:
    """A text with the numbers of its arguments in their place.

    `parent` is the type of the argument around it.
    """

    text: str
    arguments: tuple["IcuArgument", ...]
    parent: str = ""


@dataclass(frozen=True)
class IcuArgument:
    """An argument with branches; each branch is its selector, with the syntax before it, and a text."""

    name: str
    type: str
    head: str
    branches: tuple[tuple[str, IcuRegion], ...]
    branch_end: str
    tail: str


class InvalidIcuError(ValueError):
    """The text is not a message in ICU syntax."""


@dataclass(frozen=True)
class IcuMessage:
    """A parsed message."""

    region: IcuRegion
    double_apostrophes: bool
    """Whether each apostrophe is doubled, as Java requires; ICU requires it before a brace only."""

    @cached_property
    def _slots(self) -> list[Slot | None]:
        return [_region_slot(region, self.double_apostrophes) for region in _regions(self.region)]

    @property
    def slots(self) -> Sequence[Slot]:
        return [slot for slot in self._slots if slot is not None]

    def compose(self, contents: Sequence[str]) -> str:
        remaining = iter(contents)
        texts = [
            region.text if slot is None else next(remaining)
            for region, slot in zip(_regions(self.region), self._slots, strict=True)
        ]
        return _render_region(self.region, iter(texts))

    def is_intact(self, message: str) -> bool:
        try:
            return _structure(parse_icu(message)) == _structure(self.region)
        except InvalidIcuError:
            return False


def has_branches(message: str) -> bool:
    """Whether a message has a plural, select or choice."""
    return ARGUMENT_WITH_BRANCHES.search(message) is not None


def read_message(
    message: str,
    placeholder: re.Pattern[str] = KEYED_PLACEHOLDER,
    separator: re.Pattern[str] = PARAGRAPH_OR_PLURAL_BREAK,
    is_icu: bool = False,
    double_apostrophes: bool = False,
) -> MessageContent | None:
    """Return the texts of a message; None if there are none, or if they cannot be told from the syntax.

    `is_icu` tells that apostrophes quote braces, `double_apostrophes` that Java's rule applies: every
    apostrophe of the text is doubled.
    """
    branches = has_branches(message)
    if branches or is_icu or double_apostrophes or ("{" in message and "''" in message):
        try:
            return read_icu_message(message, double_apostrophes)
        except InvalidIcuError:
            if branches:
                return None
    return read_plain_message(message, placeholder, separator)


def read_icu_message(message: str, double_apostrophes: bool = False) -> IcuMessage | None:
    """Return the texts of a message; None if there are none, or if text and syntax cannot be separated.

    Another syntax raises `InvalidIcuError`.
    """
    region = parse_icu(message)
    try:
        region = _move_text_into_branches(region, MAX_ICU_TEXTS)
    except InvalidIcuError:
        return None
    content = IcuMessage(region, double_apostrophes or _doubles_apostrophes(message))
    return content if content.slots else None


def parse_icu(message: str) -> IcuRegion:
    """Parse a message; raise `InvalidIcuError` if its braces do not match."""
    parser = _IcuParser(message)
    region = parser.parse_region("", MAX_ICU_DEPTH)
    if parser.at < len(message):
        raise InvalidIcuError
    return region


class _IcuParser:
    """A recursive descent parser; `at` is the position of the next character."""

    def __init__(self, message: str) -> None:
        self._message, self.at = message, 0

    def parse_region(self, parent: str, depth: int) -> IcuRegion:
        """Parse up to the end of a branch or of the message."""
        if not depth:
            raise InvalidIcuError
        text: list[str] = []
        arguments: list[IcuArgument] = []
        while self.at < len(self._message) and self._message[self.at] != "}":
            if self._message[self.at] == "|" and parent == "choice":
                break
            if head := ARGUMENT_WITH_BRANCHES.match(self._message, self.at):
                text.append(f"\0{len(arguments)}\0")
                self.at = head.end()
                arguments.append(self._parse_argument(head, depth))
            else:
                text.append(self._literal_or_simple_argument())
        return IcuRegion("".join(text), tuple(arguments), parent)

    def _literal_or_simple_argument(self) -> str:
        if self._message[self.at] == "{":
            return self._require(SIMPLE_ARGUMENT)[0]
        for pattern in (QUOTED, LITERAL):
            if match := pattern.match(self._message, self.at):
                self.at = match.end()
                return match[0]
        if self._message[self.at] == "\0":
            raise InvalidIcuError
        self.at += 1
        return self._message[self.at - 1]

    def _parse_argument(self, head: re.Match[str], depth: int) -> IcuArgument:
        start = head.start()
        offset = OFFSET.match(self._message, self.at) if head[2] in PLURAL_TYPES else None
        self.at = offset.end() if offset else self.at
        head_end = self.at
        branches: list[tuple[str, IcuRegion]] = []
        is_choice = head[2] == "choice"
        while not branches or not BRANCHES_END.match(self._message, self.at):
            before = self.at
            if is_choice and branches:
                self._require(re.compile(r"\|"))
            self._require(CHOICE_LIMIT if is_choice else SELECTOR)
            selector = self._message[before : self.at]
            branches.append((selector, self.parse_region(head[2], depth - 1)))
            if not is_choice:
                self._require(BRANCHES_END)
        tail = self._require(BRANCHES_END)[0]
        message_head = self._message[start:head_end]
        return IcuArgument(head[1], head[2], message_head, tuple(branches), "" if is_choice else "}", tail)

    def _require(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._message, self.at)
        if match is None:
            raise InvalidIcuError
        self.at = match.end()
        return match


def _regions(region: IcuRegion) -> Iterator[IcuRegion]:
    """Yield a region and those of its branches, in the order of their texts."""
    yield region
    for argument in region.arguments:
        for _, branch in argument.branches:
            yield from _regions(branch)


def _render_region(region: IcuRegion, texts: Iterator[str]) -> str:
    text = next(texts)
    arguments = [
        argument.head
        + "".join(
            selector + _render_region(branch, texts) + argument.branch_end
            for selector, branch in argument.branches
        )
        + argument.tail
        for argument in region.arguments
    ]
    return STAND_IN.sub(lambda match: arguments[int(match[1])], text)


def _region_slot(region: IcuRegion, double_apostrophes: bool) -> Slot | None:
    tokens = [QUOTED.pattern, STAND_IN.pattern.replace("(", "(?:")]
    tokens += ["#"] if region.parent in PLURAL_TYPES else []
    tokens += [token_alternatives(KEYED_PLACEHOLDER), SIMPLE_ARGUMENT.pattern]
    fragments = list(_icu_fragments(region, re.compile("|".join(tokens))))
    placeholder = re.compile(f"{KEYED_PLACEHOLDER.pattern}|{STAND_IN.pattern.replace('(', '(?:')}")
    syntax = "{}#" if region.parent in PLURAL_TYPES else "{}|" if region.parent == "choice" else "{}"

    def escape(text: str) -> str:
        return _escape_icu(text, syntax, double_apostrophes, region.parent == "choice")

    return text_slot(region.text, fragments, placeholder, escape)


def _icu_fragments(region: IcuRegion, token: re.Pattern[str]) -> Iterator[InlineFragment]:
    done = 0
    for match in token.finditer(region.text):
        yield InlineFragment(InlineKind.TEXT, *[region.text[done : match.start()]] * 2)
        raw = match[0]
        if raw == "''":
            yield InlineFragment(InlineKind.TEXT, raw, "'")
        elif raw.startswith("'"):
            yield InlineFragment(InlineKind.PROTECTED, raw, raw[1:].removesuffix("'").replace("''", "'"))
        elif raw.startswith("\0"):
            name = region.arguments[int(raw.strip("\0"))].name
            yield InlineFragment(InlineKind.PROTECTED, raw, f"{{{name}}}")
        else:
            yield token_fragment(raw)
        done = match.end()
    yield InlineFragment(InlineKind.TEXT, *[region.text[done:]] * 2)


def _escape_icu(text: str, syntax: str, double_apostrophes: bool, in_choice: bool) -> str:
    """Quote text that would be syntax; the branches of a choice are parsed twice, so they get ’ instead."""
    if in_choice:
        return text.replace("'", "’")
    has_syntax = any(sign in text for sign in syntax)
    if double_apostrophes or has_syntax:
        text = text.replace("'", "''")
    else:  # a brace may stand beside this text; not every program that reads braces knows apostrophes
        text = re.sub(r"\A'|'\Z|''+", lambda match: "’" * len(match[0]), text)
    return re.sub(f"[{syntax}]+", r"'\g<0>'", text)


def _doubles_apostrophes(message: str) -> bool:
    """Whether all apostrophes outside quoted syntax are doubled."""
    found = [match[0] for match in re.finditer(f"{QUOTED.pattern}|'", message)]
    return "''" in found and "'" not in found


def _structure(region: IcuRegion) -> tuple[object, ...]:
    """Return the arguments, selectors and placeholders of a region, without the order of arguments."""
    text = QUOTED.sub(" ", STAND_IN.sub(" ", region.text))
    placeholders = sorted(count_placeholders(text, SIMPLE_ARGUMENT).items())
    hashes = text.count("#") if region.parent in PLURAL_TYPES else 0
    arguments = [
        (each.head.split(), [(selector.split(), _structure(branch)) for selector, branch in each.branches])
        for each in region.arguments
    ]
    return placeholders, hashes, sorted(arguments, key=repr)


def _move_text_into_branches(region: IcuRegion, budget: int) -> IcuRegion:
    """Move the text around an argument into its branches where a branch continues a word.

    `budget` is the number of copies of the text that may be made.
    """
    glued = next(
        filter(None, (_glued_argument(region, match) for match in STAND_IN.finditer(region.text))), None
    )
    if glued is not None:
        start, end, argument = glued
        before, after = region.text[:start], region.text[end:]
        budget //= len(argument.branches)
        if not budget or "#" in before + after or "choice" in (argument.type, region.parent):
            raise InvalidIcuError  # the meaning of # and | depends on where they stand
        branches = tuple(
            (selector, _surround(branch, before, after, region.arguments))
            for selector, branch in argument.branches
        )
        region = IcuRegion("\0" + "0\0", (replace(argument, branches=branches),), region.parent)
    arguments = tuple(
        replace(
            each,
            branches=tuple(
                (selector, _move_text_into_branches(branch, budget)) for selector, branch in each.branches
            ),
        )
        for each in region.arguments
    )
    return replace(region, arguments=arguments)


def _glued_argument(region: IcuRegion, match: re.Match[str]) -> tuple[int, int, IcuArgument] | None:
    """Return the span and the argument if a word continues from the text into one of its branches."""
    argument = region.arguments[int(match[1])]
    texts = [branch.text for _, branch in argument.branches]
    before = region.text[: match.start()][-1:].isalpha() and any(text[:1].isalnum() for text in texts)
    after = region.text[match.end() :][:1].isalpha() and any(text[-1:].isalnum() for text in texts)
    return (match.start(), match.end(), argument) if before or after else None


def _surround(branch: IcuRegion, before: str, after: str, arguments: tuple[IcuArgument, ...]) -> IcuRegion:
    """Return a branch with text around it; with the arguments that are left."""
    shifted = STAND_IN.sub(lambda match: f"\0{int(match[1]) + len(arguments)}\0", branch.text)
    text, every = before + shifted + after, arguments + branch.arguments
    used = [int(match[1]) for match in STAND_IN.finditer(text)]
    numbers = iter(range(len(used)))
    text = STAND_IN.sub(lambda _: f"\0{next(numbers)}\0", text)
    return IcuRegion(text, tuple(every[number] for number in used), branch.parent)

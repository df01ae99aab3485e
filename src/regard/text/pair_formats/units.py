"""What all readers of pair files share: their settings, and the choice of languages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import DataError
from regard.text.corpus_files import RawRow
from regard.text.languages import Direction, is_same_language

LINE_BREAK = re.compile(rb"[ \t]*[\r\n][ \t\r\n]*")
MAX_SHOWN_LANGUAGES = 20
"""Languages that a message names."""


NO_ROW: RawRow = (None, None)
"""The row of a unit that is skipped."""


@dataclass(frozen=True)
class PairOptions:
    """Which columns and languages of a pair file are source and target."""

    source_language: str | None = None
    target_language: str | None = None
    source_column: str | None = None
    """A name, or a number from 1."""
    target_column: str | None = None

    @property
    def languages(self) -> Direction:
        return self.source_language, self.target_language

    @property
    def columns(self) -> tuple[str | None, str | None]:
        return self.source_column, self.target_column


def join_lines(text: bytes) -> bytes:
    """Return a segment on one line: a line break, with the blanks around it, becomes a space."""
    return LINE_BREAK.sub(b" ", text) if b"\n" in text or b"\r" in text else text


def encode_segment(text: str) -> bytes:
    """Return a segment on one line in UTF-8; a byte that could not be decoded is itself again."""
    return join_lines(text.encode("utf-8", "surrogateescape"))


def find_language(languages: Sequence[str], requested: str) -> str | None:
    """Return the code among `languages` that is the requested one, or a form of the same language."""
    for matches in (_is_equal, is_same_language, _is_form_of):
        if (found := next((code for code in languages if matches(code, requested)), None)) is not None:
            return found
    return None


def choose_direction(name: str, languages: Sequence[str], options: PairOptions) -> tuple[str, str]:
    """Return the codes of source and target among `languages`; raise an error that asks if unclear."""
    found = [None if each is None else find_language(languages, each) for each in options.languages]
    for requested, code in zip(options.languages, found, strict=True):
        if requested is not None and code is None:
            raise DataError(f"{name} has no text in {requested}; it has {join_names(languages)}")
    source, target = found
    others = [code for code in languages if code not in found]
    if len(others) == 1 and (source is None) != (target is None):
        source, target = (source or others[0]), (target or others[0])
    if source is None or target is None:
        raise direction_error(name, languages, options)
    if source == target:
        raise DataError(f"{name}: --source-language and --target-language are both its {source}")
    return source, target


def direction_error(name: str, languages: Sequence[str], options: PairOptions) -> DataError:
    """Return the question which language is translated into which."""
    if not languages:
        return DataError(f"{name} does not name its languages; there must be two")
    if len(languages) == 1:
        return DataError(f"{name} has text in {languages[0]} alone; there must be two languages")
    first = options.source_language or languages[0]
    second = next(code for code in languages if not is_same_language(code, first))
    if options.target_language is not None:
        first, second = (
            next(code for code in languages if code != options.target_language),
            options.target_language,
        )
    reverse = ", or the reverse" if options.languages == (None, None) and len(languages) == 2 else ""
    return DataError(
        f"{name} has texts in {join_names(languages)}; say which are translated into which, as in "
        f"--source-language {first} --target-language {second}{reverse}"
    )


def is_reversed(name: str, declared: Direction, options: PairOptions) -> bool:
    """Return whether the target of a file with a direction of its own is the source that is asked for."""
    if _fits(declared, options.languages):
        return False
    reverse = declared[1], declared[0]
    is_named = any(code and each for code, each in zip(reverse, options.languages, strict=True))
    if is_named and _fits(reverse, options.languages):
        return True
    source, target = (each or "an unnamed language" for each in declared)
    given = " ".join(
        f"--{side}-language {each}"
        for side, each in zip(("source", "target"), options.languages, strict=True)
        if each is not None
    )
    raise DataError(f"{name} translates {source} into {target}, which does not go with {given}")


def join_names(names: Sequence[str]) -> str:
    """Return names as in "de, en and fr"."""
    if len(names) > MAX_SHOWN_LANGUAGES:
        return f"{', '.join(names[:MAX_SHOWN_LANGUAGES])} and {len(names) - MAX_SHOWN_LANGUAGES} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _fits(declared: Direction, requested: Direction) -> bool:
    return all(
        code is None or each is None or find_language([code], each) is not None
        for code, each in zip(declared, requested, strict=True)
    )


def _is_equal(code: str, requested: str) -> bool:
    return code == requested


def _is_form_of(code: str, requested: str) -> bool:
    return is_same_language(requested, code)

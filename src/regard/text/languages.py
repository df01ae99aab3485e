"""Language codes in the names of files: train.en, test.de.gz."""

import re
from collections.abc import Sequence

LANGUAGE_SUFFIX = re.compile(r"\.([a-z]{2,3}(?:[-_][A-Za-z]{2,4})?)(?:\.(?:gz|xz|zst))?$")
"""Language code at the end of a file name: train.en, train.de.gz."""
NON_LANGUAGE_SUFFIXES = {"txt", "tsv", "csv", "gz", "xz", "zst", "tok", "bpe", "raw"}


def language_of_file_name(files: object) -> str | None:
    """Return the language code in a file name, or in the first of several; None if it has none."""
    name = files[0] if isinstance(files, Sequence) and not isinstance(files, str) and files else files
    found = LANGUAGE_SUFFIX.search(name) if isinstance(name, str) else None
    return found[1] if found and found[1] not in NON_LANGUAGE_SUFFIXES else None

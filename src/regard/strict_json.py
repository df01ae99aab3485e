"""JSON of files that may be damaged or hostile: bounded in size and depth, no key twice; sealed JSON."""

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

MAX_JSON_BYTES = 4 * 2**20
"""Largest file that is parsed, unless the caller allows another size."""
MAX_JSON_VALUES = 1_500_000
"""Most values of a file: each takes up to 72 bytes, far more than its text."""
SEAL_KEY = "seal"


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Read a JSON file; raise `ValueError` for what `parse_json` refuses."""
    return parse_json(read_bytes_within(path, max_bytes), max_bytes)


def read_bytes_within(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file; raise `ValueError` if it is larger, or no file on a disk."""
    if is_link_to_system_file(path):
        raise ValueError("it is a link to a file of the system")
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it has more than {max_bytes:,} bytes")
    return content


def is_link_to_system_file(path: Path) -> bool:
    """Return whether a path is a link to a file as in /proc, which has no size; reading it may never end."""
    return path.is_symlink() and path.stat().st_size == 0


def parse_json(content: bytes, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Parse JSON; raise `ValueError` if it is too large, too deep, has a key twice or a number like NaN."""
    if len(content) > max_bytes:
        raise ValueError(f"it has more than {max_bytes:,} bytes")
    values = sum(map(content.count, (b",", b"[", b"{")))
    if values > MAX_JSON_VALUES:
        raise ValueError(f"it has about {values:,} values; at most {MAX_JSON_VALUES:,} are read")
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=_finite_number,
            parse_float=_finite_number,
        )
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def seal_json(document: dict[str, Any]) -> str:
    """Return a document as JSON with the SHA-256 of its other content under `seal`."""
    seal = hashlib.sha256(_to_text(document).encode()).hexdigest()
    return _to_text({**document, SEAL_KEY: seal})


def parse_sealed_json(content: bytes) -> dict[str, Any]:
    """Return the document that `seal_json` wrote; raise `ValueError` if a byte of it has changed."""
    document = parse_json(content)
    if not isinstance(document, dict) or not is_sealed(document, content):
        raise ValueError("it is not what was written (seal differs)")
    return without_seal(document)


def is_sealed(document: dict[str, Any], content: bytes) -> bool:
    """Return whether `content`, which was parsed to `document`, is what `seal_json` writes."""
    try:
        return seal_json(without_seal(document)).encode() == content
    except (ValueError, RecursionError):  # a document that we do not write
        return False


def without_seal(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != SEAL_KEY}


def _to_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"it has the key {twice[:80]!r} twice")
    return document


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:80]} is not a finite number")
    return number

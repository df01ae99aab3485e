"""Glossaries that clients keep on the server: named dictionaries by pair of languages, in SQLite."""

import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from regard.errors import RegardError
from regard.text.glossary import Glossary

FILE_NAME = "glossaries.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS dictionaries (
    number INTEGER PRIMARY KEY, glossary TEXT NOT NULL REFERENCES glossaries (id) ON DELETE CASCADE,
    source TEXT NOT NULL, target TEXT NOT NULL, size INTEGER NOT NULL, entries TEXT NOT NULL,
    UNIQUE (glossary, source, target)
);
"""
Pair = tuple[str, str]
Entries = Mapping[str, str]


class GlossaryLimitError(RegardError):
    """A glossary for which there is no room."""


class NoGlossaryError(RegardError):
    """A glossary, or a dictionary of one, that does not exist."""


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary without its entries."""

    id: str
    name: str
    created: float
    """Seconds since 1970."""
    dictionaries: Mapping[Pair, int]
    """Number of entries of each pair of languages, in the order in which they were added."""


class GlossaryStore:
    """Keeps the glossaries of all clients; each sees its own. Methods block: call them in a thread."""

    def __init__(self, folder: Path | None = None, limit: int = 1000) -> None:
        """Without a folder they are kept in memory. `limit` is the number of dictionaries of all clients."""
        path = ":memory:" if folder is None else str(folder / FILE_NAME)
        self._limit = limit
        self._lock = threading.Lock()
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, check_same_thread=False)
            self._database.execute("PRAGMA foreign_keys = ON")
            self._database.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise RegardError(f"{path} cannot be used for glossaries: {error}") from None

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def create(self, owner: str, name: str, dictionaries: Mapping[Pair, Entries]) -> StoredGlossary:
        """Store a glossary and return it."""
        identity = str(uuid.uuid4())
        with self._lock, self._database as database:
            row = (identity, owner, name, time.time())
            database.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?)", row)
            for pair, entries in dictionaries.items():
                self._write(identity, pair, entries)
            return self._read(owner, identity)

    def get(self, owner: str, identity: str) -> StoredGlossary:
        with self._lock:
            return self._read(owner, identity)

    def list_all(self, owner: str) -> list[StoredGlossary]:
        """Return the glossaries of a client, oldest first."""
        query = "SELECT id FROM glossaries WHERE owner = ? ORDER BY created, rowid"
        with self._lock:
            rows = self._database.execute(query, (owner,)).fetchall()
            return [self._read(owner, identity) for (identity,) in rows]

    def delete(self, owner: str, identity: str) -> None:
        with self._lock, self._database as database:
            self._read(owner, identity)
            database.execute("DELETE FROM glossaries WHERE id = ?", (identity,))

    def rename(self, owner: str, identity: str, name: str) -> None:
        with self._lock, self._database as database:
            self._read(owner, identity)
            database.execute("UPDATE glossaries SET name = ? WHERE id = ?", (name, identity))

    def merge(self, owner: str, identity: str, pair: Pair, entries: Entries) -> None:
        """Add entries to a dictionary, or create it; they replace those of the same term."""
        with self._lock, self._database:
            has_pair = pair in self._read(owner, identity).dictionaries
            present = self._entries(identity, pair) if has_pair else {}
            self._write(identity, pair, {**present, **entries})

    def replace(self, owner: str, identity: str, pair: Pair, entries: Entries) -> None:
        """Replace a dictionary, which is created if there is none."""
        with self._lock, self._database:
            self._read(owner, identity)
            self._write(identity, pair, entries)

    def delete_dictionary(self, owner: str, identity: str, pair: Pair) -> None:
        with self._lock, self._database as database:
            self._require_pair(self._read(owner, identity), pair)
            where = "WHERE glossary = ? AND source = ? AND target = ?"
            database.execute(f"DELETE FROM dictionaries {where}", (identity, *pair))

    def entries(self, owner: str, identity: str, pair: Pair) -> dict[str, str]:
        """Return the entries of a dictionary."""
        with self._lock:
            self._require_pair(self._read(owner, identity), pair)
            return self._entries(identity, pair)

    def find_terms(self, owner: str, identity: str, pair: Pair, texts: Iterable[str]) -> list[Pair]:
        """Return the entries of a dictionary whose phrases occur in the texts."""
        with self._lock:
            self._require_pair(self._read(owner, identity), pair)
            glossary = _parse_glossary(self._tsv(identity, pair))
            matches = (match for text in texts for match in glossary.find_matches(text))
            return list(dict.fromkeys((match.phrase, each) for match in matches for each in match.targets))

    def _read(self, owner: str, identity: str) -> StoredGlossary:
        query = "SELECT name, created FROM glossaries WHERE id = ? AND owner = ?"
        row = self._database.execute(query, (identity, owner)).fetchone()
        if row is None:
            raise NoGlossaryError(f"there is no glossary {identity[:80]!r}")
        query = "SELECT source, target, size FROM dictionaries WHERE glossary = ? ORDER BY number"
        sizes = {
            (source, target): size for source, target, size in self._database.execute(query, (identity,))
        }
        name, created = row
        return StoredGlossary(identity, name, created, sizes)

    def _require_pair(self, glossary: StoredGlossary, pair: Pair) -> None:
        if pair not in glossary.dictionaries:
            raise NoGlossaryError(f"the glossary {glossary.id} has no dictionary {pair[0]} to {pair[1]}")

    def _write(self, identity: str, pair: Pair, entries: Entries) -> None:
        text = format_entries(entries)
        self._database.execute(
            "INSERT INTO dictionaries (glossary, source, target, size, entries) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET size = excluded.size, entries = excluded.entries",
            (identity, *pair, len(entries), text),
        )
        (count,) = self._database.execute("SELECT count(*) FROM dictionaries").fetchone()
        if count > self._limit:
            raise GlossaryLimitError(f"the server keeps {self._limit:,} dictionaries; delete one first")

    def _tsv(self, identity: str, pair: Pair) -> str:
        query = "SELECT entries FROM dictionaries WHERE glossary = ? AND source = ? AND target = ?"
        with closing(self._database.execute(query, (identity, *pair))) as cursor:
            return cursor.fetchone()[0]

    def _entries(self, identity: str, pair: Pair) -> dict[str, str]:
        return dict(_split_lines(self._tsv(identity, pair)))


def format_entries(entries: Entries) -> str:
    """Return entries as lines of tab-separated values; terms have no tabs and line breaks."""
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def _split_lines(text: str) -> Iterable[Pair]:
    for line in text.split("\n"):
        source, _, target = line.partition("\t")
        yield source, target


@lru_cache(maxsize=16)
def _parse_glossary(text: str) -> Glossary:
    return Glossary(tuple(_split_lines(text)))

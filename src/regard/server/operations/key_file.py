"""API keys with their limits and usage in a SQLite file, which servers and `regard keys` share.

A key is stored as its SHA-256 alone: it is random and long, so that the hash cannot be inverted by guessing.
"""

import hashlib
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import RegardError, SaveError

APPLICATION_ID = 0x72676B79
"""Marks the file as one of API keys."""
FILE_VERSION = 1
BUSY_SECONDS = 5.0
"""How long to wait for another process that writes."""
KEY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}")
ADDRESS = re.compile(r"[0-9.]+")
"""No name of a key: a client without a key is named by its address."""
KEY_PREFIX = "rgd"
"""With it, programs that look for leaked keys can find one."""
SCHEMA = """
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    created REAL NOT NULL,
    expires REAL,
    revoked REAL,
    characters_per_month INTEGER,
    requests_per_minute INTEGER,
    characters_per_minute INTEGER
);
CREATE UNIQUE INDEX names_in_use ON keys (name) WHERE revoked IS NULL;
CREATE TABLE usage (
    key_id TEXT NOT NULL,
    month TEXT NOT NULL,
    requests INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    PRIMARY KEY (key_id, month)
);
"""
KEY_COLUMNS = "id, name, sha256, created, expires, revoked"
LIMIT_COLUMNS = "characters_per_month, requests_per_minute, characters_per_minute"


@dataclass(frozen=True)
class KeyLimits:
    """What a key may use; None is no limit."""

    characters_per_month: int | None = None
    requests_per_minute: int | None = None
    characters_per_minute: int | None = None


@dataclass(frozen=True)
class ApiKey:
    """A key as it is stored."""

    id: str
    """The part of the key that is not secret."""
    name: str
    sha256: bytes
    created: float
    expires: float | None
    revoked: float | None
    limits: KeyLimits

    def is_valid(self, now: float) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)


class UsageCount(NamedTuple):
    """What a key has used in a month."""

    requests: int
    characters: int


class KeyFile:
    """The SQLite file. Its methods may wait for other processes: a server calls them in a thread."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open a file of keys, or create it if it does not exist."""
        self.path = path
        if not path.exists() and not create:
            raise RegardError(
                f"{path} does not exist; `regard keys add NAME --file {path}` creates it with a key"
            )
        with self._errors():
            if create:
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            uri = f"{path.resolve().as_uri()}?mode=rw"
            self._database = sqlite3.connect(
                uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare(create)
        except BaseException:
            self._database.close()
            raise

    def add(self, name: str, limits: KeyLimits | None = None, expires: float | None = None) -> str:
        """Add a key and return it: it is not stored, so this is the only time that it can be read."""
        if not KEY_NAME.fullmatch(name) or ADDRESS.fullmatch(name):
            raise RegardError(
                f"{name[:80]!r} cannot be the name of a key; "
                "use up to 64 letters, digits, spaces, '.', '_', '@' and '-'"
            )
        key_id = secrets.token_hex(4)
        key = f"{KEY_PREFIX}_{key_id}_{secrets.token_hex(20)}"
        values = (key_id, name, hash_key(key), time.time(), expires, None, *astuple(limits or KeyLimits()))
        try:
            with self._errors():
                places = ", ".join("?" * len(values))
                self._database.execute(
                    f"INSERT INTO keys ({KEY_COLUMNS}, {LIMIT_COLUMNS}) VALUES ({places})", values
                )
        except NameTakenError:
            raise RegardError(
                f"there is a key named {name!r} in {self.path}; revoke it first, or choose another name"
            ) from None
        return key

    def revoke(self, name: str) -> None:
        """Revoke the key of this name; servers refuse it within a second."""
        with self._errors():
            found = self._database.execute(
                "UPDATE keys SET revoked = ? WHERE name = ? AND revoked IS NULL", (time.time(), name)
            )
        if not found.rowcount:
            raise RegardError(f"there is no key named {name[:80]!r} in {self.path}, or it is revoked already")

    def read_keys(self) -> list[ApiKey]:
        """Return all keys, oldest first, revoked ones included."""
        with self._errors():
            rows = self._database.execute(
                f"SELECT {KEY_COLUMNS}, {LIMIT_COLUMNS} FROM keys ORDER BY created, id"
            ).fetchall()
        return [_to_key(row) for row in rows]

    def read_usage(self, month: str) -> dict[str, UsageCount]:
        """Return what each key has used in a month, by the keys' ids."""
        with self._errors():
            rows = self._database.execute(
                "SELECT key_id, requests, characters FROM usage WHERE month = ?", (month,)
            ).fetchall()
        return {key_id: UsageCount(*counts) for key_id, *counts in rows}

    def add_usage(self, counts: Mapping[tuple[str, str], UsageCount]) -> None:
        """Add to what keys have used, by id and month; all or, if it fails, nothing."""
        with self._errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany(
                    "INSERT INTO usage VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                    "requests = requests + excluded.requests, characters = characters + excluded.characters",
                    [(*place, *count) for place, count in counts.items()],
                )
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def data_version(self) -> int:
        """Return a number that changes when another process has changed the file."""
        with self._errors():
            return self._database.execute("PRAGMA data_version").fetchone()[0]

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "KeyFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _prepare(self, create: bool) -> None:
        """Create the tables in an empty file; raise for any other SQLite file."""
        with self._errors():
            self._database.execute("BEGIN IMMEDIATE" if create else "BEGIN")
            is_empty = not self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if is_empty and create:
                for statement in filter(str.strip, SCHEMA.split(";")):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._database.execute(f"PRAGMA user_version = {FILE_VERSION}")
            kind, version = (
                self._database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            )
            self._database.execute("COMMIT")
        if kind != APPLICATION_ID:
            raise RegardError(f"{self.path} is not a file of API keys; `regard keys add` creates one")
        if version != FILE_VERSION:
            raise RegardError(f"{self.path} was written by a later version of regard; update regard")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite into one line."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise NameTakenError from None
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            is_full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
            kind = SaveError if is_full else RegardError
            raise kind(f"{self.path} cannot be used as a file of API keys: {reason}") from None


class NameTakenError(RegardError):
    """A name that a key has already."""


def hash_key(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def key_id(key: str) -> str:
    """Return the part of a key that is not secret, by which it is found; empty if it has none."""
    prefix, _, rest = key.partition("_")
    return rest.partition("_")[0] if prefix == KEY_PREFIX else ""


def month_of(seconds: float) -> str:
    """Return the month of a time in UTC, such as 2026-11."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m")


def _to_key(row: tuple[Any, ...]) -> ApiKey:
    """Return a row of the columns of keys and of limits."""
    number, name, sha256, created, expires, revoked, month, requests, characters = row
    limits = KeyLimits(month, requests, characters)
    return ApiKey(number, name, sha256, created, expires, revoked, limits)

"""Access by API keys with quotas, and a rate limit for addresses without a key."""

import asyncio
import hmac
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from regard.errors import RegardError
from regard.server.operations.access import (
    KeyRequiredError,
    KeyUsage,
    QuotaExceededError,
    RateExceededError,
    UnknownKeyError,
)
from regard.server.operations.key_file import ApiKey, KeyFile, UsageCount, hash_key, key_id, month_of
from regard.server.operations.rate_limit import RateLimiter, RateLimits, address_block
from regard.server.translation.serve_settings import AccessSettings

SAVE_SECONDS = 1.0
"""Time between two looks at the file: what a crash may lose of the counts, and how soon a key is revoked."""
NOTHING = UsageCount(0, 0)
UNKNOWN_DIGEST = bytes(32)
Usage = dict[tuple[str, str], UsageCount]
"""By id of the key and month."""


class KeyAccess:
    """Decides by the keys of a file; counts in memory, and adds to the file every second while `saving`."""

    def __init__(
        self,
        settings: AccessSettings,
        *,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open the file of keys, if the settings name one; `report` is told when it cannot be written."""
        self.has_keys = settings.keys_file is not None
        self.key_required = settings.key_required
        self._file = None if settings.keys_file is None else KeyFile(Path(settings.keys_file))
        self._report, self._now = report, now
        self._rates = RateLimiter(clock)
        self._address_limits = RateLimits(
            settings.address_requests_per_minute, settings.address_characters_per_minute
        )
        self._keys: dict[str, ApiKey] = {}
        self._saved: Usage = {}
        """What is in the file, of this month."""
        self._unsaved: Usage = {}
        self._being_saved: Usage = {}
        self._characters_without_key = 0
        self._file_version: tuple[int, str] | None = None
        self._failure = ""
        if self._file is not None:
            self._take(self._read(self._file))

    async def admit(self, key: str | None, address: str, characters: int) -> str:
        """Return the name of the key, or the address without one; count the characters."""
        if key is None or not self.has_keys:
            self._check_key_is_optional()
            client = address_block(address)
            self._check_rate(f"address {client}", self._address_limits, characters)
            self._characters_without_key += characters
            return client
        known = self._find(key)
        left = self._characters_left(known)
        if left is not None and characters > left:
            limit = known.limits.characters_per_month
            raise QuotaExceededError(f"this key has {left:,} of its {limit:,} characters of this month left")
        limits = RateLimits(known.limits.requests_per_minute, known.limits.characters_per_minute)
        self._check_rate(known.id, limits, characters)
        self._count(known, UsageCount(1, characters))
        return known.name

    def refund(self, key: str | None, characters: int) -> None:
        """Count characters as not used; the request stays counted, as do the limits per minute."""
        known = self._keys.get(key_id(key or ""))
        if not self.has_keys or known is None:
            self._characters_without_key -= characters
        elif characters:
            self._count(known, UsageCount(0, -characters))

    async def usage(self, key: str | None) -> KeyUsage:
        """Return the characters of a key in this month; without a key, of all clients without one."""
        if key is None or not self.has_keys:
            self._check_key_is_optional()
            return KeyUsage(self._characters_without_key, None)
        known = self._find(key)
        return KeyUsage(self._characters_used(known), known.limits.characters_per_month)

    @asynccontextmanager
    async def saving(self) -> AsyncIterator[None]:
        """Add counts to the file, and take changed keys from it, until the block ends."""
        end = asyncio.Event()
        task = asyncio.create_task(self._save_until(end))
        try:
            yield
        finally:
            end.set()
            await task

    async def save(self) -> None:
        """Add the counts to the file, and read what other processes have changed."""
        if self._file is None:
            return
        self._being_saved, self._unsaved = self._unsaved, {}
        try:
            found = await asyncio.to_thread(self._write_and_read, self._file, self._being_saved)
        except RegardError as error:
            for place, count in self._being_saved.items():
                self._unsaved[place] = _add(self._unsaved.get(place, NOTHING), count)
            self._being_saved = {}
            if str(error) != self._failure:
                self._report(f"{error}; keys are counted in memory until it can be written")
            self._failure = str(error)
            return
        self._being_saved, self._failure = {}, ""
        if found is not None:
            self._take(found)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    async def _save_until(self, end: asyncio.Event) -> None:
        """Save every second, and once more at the end."""
        while not end.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), SAVE_SECONDS)
            await self.save()

    def _write_and_read(self, file: KeyFile, counts: Usage) -> tuple[list[ApiKey], Usage] | None:
        """Save counts; return the keys and what they have used, or None if nothing has changed."""
        if counts:
            file.add_usage(counts)
        if not counts and self._file_version == (file.data_version(), month_of(self._now())):
            return None
        return self._read(file)

    def _read(self, file: KeyFile) -> tuple[list[ApiKey], Usage]:
        month = month_of(self._now())
        self._file_version = (file.data_version(), month)
        return file.read_keys(), {(id, month): count for id, count in file.read_usage(month).items()}

    def _take(self, found: tuple[list[ApiKey], Usage]) -> None:
        keys, self._saved = found
        self._keys = {each.id: each for each in keys}

    def _find(self, key: str) -> ApiKey:
        """Return a key that is valid; the comparison takes as long for a wrong secret as for a right one."""
        known = self._keys.get(key_id(key))
        is_equal = hmac.compare_digest(hash_key(key), UNKNOWN_DIGEST if known is None else known.sha256)
        if known is None or not is_equal:
            raise UnknownKeyError("Invalid API key")
        if not known.is_valid(self._now()):
            raise UnknownKeyError(f"this API key {'has expired' if known.revoked is None else 'was revoked'}")
        return known

    def _check_key_is_optional(self) -> None:
        if self.key_required:
            raise KeyRequiredError("an API key is needed; ask whoever runs this server for one")

    def _check_rate(self, client: str, limits: RateLimits, characters: int) -> None:
        wait = self._rates.take(client, limits, characters)
        if wait > 0:
            seconds = math.ceil(wait)
            raise RateExceededError(f"too many requests; try again in {seconds} s", seconds)

    def _count(self, key: ApiKey, count: UsageCount) -> None:
        place = (key.id, month_of(self._now()))
        self._unsaved[place] = _add(self._unsaved.get(place, NOTHING), count)

    def _characters_used(self, key: ApiKey) -> int:
        place = (key.id, month_of(self._now()))
        counts = (self._saved, self._being_saved, self._unsaved)
        return sum(each.get(place, NOTHING).characters for each in counts)

    def _characters_left(self, key: ApiKey) -> int | None:
        limit = key.limits.characters_per_month
        return None if limit is None else max(0, limit - self._characters_used(key))


def _add(one: UsageCount, other: UsageCount) -> UsageCount:
    return UsageCount(one.requests + other.requests, one.characters + other.characters)

"""Sentence cache: the latest results by their exact key, within a limit of bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

CachedT = TypeVar("CachedT")


class SentenceCache(Generic[CachedT]):
    """Least-recently-used cache; a result that alone exceeds the limit is not kept."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = self.hits = self.misses = 0
        self._entries: OrderedDict[Hashable, tuple[CachedT, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> CachedT | None:
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Hashable, result: CachedT, size: int) -> None:
        """Keep a result of this many bytes, key included; drop those used longest ago."""
        self._remove(key)
        if size > self.max_bytes:
            return
        self._entries[key] = result, size
        self.bytes += size
        while self.bytes > self.max_bytes:
            _, (_, oldest) = self._entries.popitem(last=False)
            self.bytes -= oldest

    def clear(self) -> None:
        self._entries.clear()
        self.bytes = 0

    def _remove(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry[1]

"""Admission: how long a request would wait behind what is queued, under fair sharing.

With fair sharing a request waits for others only as far as their work is no more than its own: a sentence
passes a book. So the wait is a sum of minima, over the other clients and over the requests of its own client.
"""

import math
from dataclasses import dataclass, field

BIN_COUNT = 64
SMALLEST_BIN = 1e-6
"""Seconds; the bins are powers of two from there."""


class BacklogBins:
    """Amounts of work, counted in bins by size, to sum the smaller of each and a limit in constant time."""

    def __init__(self) -> None:
        self._counts = [0] * BIN_COUNT
        self._sums = [0.0] * BIN_COUNT

    def change(self, before: float, after: float) -> None:
        """Replace one amount by another; 0 is none."""
        for amount, sign in ((before, -1), (after, 1)):
            if amount > 0:
                place = _bin_of(amount)
                self._counts[place] += sign
                self._sums[place] = self._sums[place] + sign * amount if self._counts[place] else 0.0

    def sum_of_minima(self, limit: float) -> float:
        """Return the sum of min(amount, limit) over all amounts; in the limit's own bin, at most that."""
        if limit <= 0:
            return 0.0
        place = _bin_of(limit)
        smaller = math.fsum(self._sums[:place])
        return (
            smaller
            + min(self._sums[place], self._counts[place] * limit)
            + (sum(self._counts[place + 1 :]) * limit)
        )


def _bin_of(amount: float) -> int:
    if amount <= SMALLEST_BIN:
        return 0
    return min(1 + int(math.log2(amount / SMALLEST_BIN)), BIN_COUNT - 1)


@dataclass
class _ClientBacklog:
    seconds: float = 0.0
    by_request: dict[int, float] = field(default_factory=dict)
    bins: BacklogBins = field(default_factory=BacklogBins)


class Backlog:
    """The predicted seconds of work that is queued, by client and request."""

    def __init__(self) -> None:
        self._clients: dict[str, _ClientBacklog] = {}
        self._bins = BacklogBins()

    @property
    def seconds(self) -> float:
        return math.fsum(client.seconds for client in self._clients.values())

    def change(self, client: str, request: int, seconds: float) -> None:
        """Add seconds to the work of a request, or take them away."""
        if not seconds:
            return
        entry = self._clients.setdefault(client, _ClientBacklog())
        before = entry.by_request.get(request, 0.0)
        after = before + seconds
        if after < 1e-9:  # rounding
            after = 0.0
            entry.by_request.pop(request, None)
        else:
            entry.by_request[request] = after
        entry.bins.change(before, after)
        whole = entry.seconds
        entry.seconds = entry.seconds + after - before if entry.by_request else 0.0
        self._bins.change(whole, entry.seconds)
        if not entry.by_request:
            del self._clients[client]

    def predict_wait(self, client: str, seconds: float) -> float:
        """Return the work in seconds that is done before a new request of this much work is finished."""
        entry = self._clients.get(client)
        own = 0.0 if entry is None else entry.bins.sum_of_minima(seconds)
        share = own + seconds
        others = self._bins.sum_of_minima(share) - (0.0 if entry is None else min(entry.seconds, share))
        return own + max(others, 0.0)

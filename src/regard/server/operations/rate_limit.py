"""Rate limits per minute: a client may use a minute's worth at once, and then at that rate."""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

MAX_CLIENTS = 100_000
"""Clients that are remembered; the one that was quiet for longest is forgotten first."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that tell one client from another: it may choose the others itself."""


class RateLimits(NamedTuple):
    """What a client may use in a minute; None is no limit."""

    requests: int | None = None
    characters: int | None = None


class RateLimiter:
    """Counts requests and characters by client; the clock is given, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: OrderedDict[str, tuple[float, float, float]] = OrderedDict()
        """For each client the time, and the requests and characters that are not yet made up for."""

    def take(self, client: str, limits: RateLimits, characters: int) -> float:
        """Count a request and return 0.0, or return in how many seconds it would be accepted."""
        if limits == (None, None):
            return 0.0
        now = self._clock()
        costs = (1.0, float(characters))
        used = self._remaining(client, limits, now)
        wait = max(
            _seconds_to_wait(before, cost, limit)
            for before, cost, limit in zip(used, costs, limits, strict=True)
        )
        if wait > 0:
            return wait
        self._used[client] = (now, used[0] + costs[0], used[1] + costs[1])
        self._used.move_to_end(client)
        if len(self._used) > MAX_CLIENTS:
            self._used.popitem(last=False)
        return 0.0

    def _remaining(self, client: str, limits: RateLimits, now: float) -> tuple[float, float]:
        """Return what a client has used and time has not made up for."""
        then, *used = self._used.get(client, (now, 0.0, 0.0))
        minutes = (now - then) / 60
        requests, characters = (
            max(0.0, each - minutes * limit) if limit else 0.0
            for each, limit in zip(used, limits, strict=True)
        )
        return requests, characters


def _seconds_to_wait(used: float, cost: float, limit: int | None) -> float:
    """Return how long a request has to wait. One above the limit is accepted by a client that used nothing,
    which then waits for longer."""
    if limit is None:
        return 0.0
    excess = used + min(cost, limit) - limit
    return 60 * excess / limit if excess > 1e-9 else 0.0


def address_block(address: str) -> str:
    """Return the address of a client, of IPv6 the part that it cannot choose itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, IPV6_PREFIX), strict=False))

"""Fair queue: batches of like segments, fair over clients and then over the requests of each.

Each client has a virtual time, the tokens it has been served; who has been served least is next. A client
that returns after a pause starts at the virtual time of the queue, so that nobody saves up time. The requests
of one client share its turns in the same way.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_IDLE_CLIENTS = 1024
"""Clients without work whose virtual time is remembered, while it is ahead of that of the queue."""
SMALL_REQUEST = 8
"""Segments up to which a request counts as small. Small and large ones are not in one batch: a sentence would
wait for a hundred others."""
MAX_PADDING_RATIO = 2
"""The maximum number of padded tokens of a batch, as a multiple of its tokens."""


class BatchKey(NamedTuple):
    """What all segments of a batch share."""

    model: str
    """Name and version."""
    options: str
    """Search and constraints in one form: equal options are equal strings."""
    kind: str = ""
    """What of the options the time depends on."""


class QueueEntry(NamedTuple):
    """A queued segment."""

    request: int
    position: int
    tokens: int


class BatchLimits(NamedTuple):
    """How large a batch may be."""

    tokens: int
    """Padded tokens."""
    segments: int


@dataclass
class _Share:
    """Virtual time of a client or of a request."""

    served: float
    waiting: int = 0


@dataclass
class _QueuedRequest:
    id: int
    client: str
    share: _Share
    lanes: dict[BatchKey, dict[int, deque[QueueEntry]]] = field(default_factory=dict)
    """Entries by batch key and length bucket."""
    size: int = 0
    """Segments so far."""

    @property
    def is_small(self) -> bool:
        return self.size <= SMALL_REQUEST


@dataclass
class _Client:
    share: _Share
    requests: dict[int, _QueuedRequest] = field(default_factory=dict)
    virtual_time: float = 0.0
    """Of its requests."""


class _Filling(NamedTuple):
    """What may be in a batch besides its first segment."""

    limits: BatchLimits
    accept: Callable[[QueueEntry], bool]
    may_start: Callable[[int], bool]
    is_small: bool
    """The first segment is of a small request."""

    def may_join(self, request: _QueuedRequest) -> bool:
        return request.is_small == self.is_small and self.may_start(request.id)


class FairQueue:
    """Segments of many clients, from which batches are taken."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}
        self._requests: dict[int, _QueuedRequest] = {}
        self._by_key: dict[BatchKey, dict[int, _QueuedRequest]] = defaultdict(dict)
        self._idle: dict[str, float] = {}
        self._virtual_time = 0.0

    def __len__(self) -> int:
        return sum(client.share.waiting for client in self._clients.values())

    def add(self, client: str, key: BatchKey, entry: QueueEntry) -> None:
        """Queue a segment behind the others of its request."""
        request = self._requests.get(entry.request)
        if request is None:
            request = self._open_request(client, entry.request)
        lane = request.lanes.setdefault(key, {})
        lane.setdefault(_bucket(entry.tokens), deque()).append(entry)
        self._by_key[key][request.id] = request
        request.size += 1
        request.share.waiting += 1
        self._clients[request.client].share.waiting += 1

    def remove_request(self, request_id: int) -> None:
        """Drop all segments of a request."""
        request = self._requests.get(request_id)
        if request is not None:
            for key in list(request.lanes):
                self._close_lane(request, key)
            self._clients[request.client].share.waiting -= request.share.waiting
            request.share.waiting = 0
            self._close_request(request)

    def take_batch(
        self,
        limits: Callable[[BatchKey], BatchLimits],
        accept: Callable[[QueueEntry], bool],
        may_start: Callable[[int], bool],
    ) -> tuple[BatchKey, list[QueueEntry]] | None:
        """Take the next batch: the fairest segment first, then others of like length.

        `accept` may turn an entry down, which is then dropped; `may_start` tells which requests may get
        another batch now.
        """
        while (leader := self._next_request(may_start)) is not None:
            key, first = self._take_first(leader)
            if accept(first):
                self._charge(leader, first.tokens)
                fills = _Filling(limits(key), accept, may_start, leader.is_small)
                return key, self._fill(key, first, fills)
        return None

    def _open_request(self, client: str, request_id: int) -> _QueuedRequest:
        owner = self._clients.get(client)
        if owner is None:
            served = max(self._idle.pop(client, 0.0), self._virtual_time)
            owner = self._clients[client] = _Client(_Share(served))
        request = _QueuedRequest(request_id, client, _Share(owner.virtual_time))
        owner.requests[request_id] = self._requests[request_id] = request
        return request

    def _next_request(self, may_start: Callable[[int], bool]) -> _QueuedRequest | None:
        for client in sorted(self._clients.values(), key=lambda each: each.share.served):
            startable = [request for request in client.requests.values() if may_start(request.id)]
            if startable:
                request = min(startable, key=lambda each: each.share.served)
                self._virtual_time = max(self._virtual_time, client.share.served)
                client.virtual_time = max(client.virtual_time, request.share.served)
                return request
        return None

    def _take_first(self, request: _QueuedRequest) -> tuple[BatchKey, QueueEntry]:
        key, lane = next(iter(request.lanes.items()))
        bucket = min(lane, key=lambda each: lane[each][0].position)
        return key, self._take(request, key, bucket)

    def _take(self, request: _QueuedRequest, key: BatchKey, bucket: int) -> QueueEntry:
        lane = request.lanes[key]
        entry = lane[bucket].popleft()
        if not lane[bucket]:
            del lane[bucket]
        if not lane:
            self._close_lane(request, key)
        request.share.waiting -= 1
        self._clients[request.client].share.waiting -= 1
        if not request.lanes:
            self._close_request(request)
        return entry

    def _charge(self, request: _QueuedRequest, tokens: int) -> None:
        request.share.served += tokens
        client = self._clients.get(request.client)
        if client is not None:
            client.share.served += tokens
        elif request.client in self._idle:
            self._idle[request.client] += tokens

    def _fill(self, key: BatchKey, first: QueueEntry, fills: "_Filling") -> list[QueueEntry]:
        limits = fills.limits
        batch, total, longest = [first], first.tokens, first.tokens
        home = _bucket(first.tokens)
        buckets = {each for request in self._by_key.get(key, {}).values() for each in request.lanes[key]}
        for bucket in sorted(buckets, key=lambda each: (abs(each - home), each)):
            for request in self._in_fair_order(key, bucket, fills):
                if len(batch) >= limits.segments:
                    return batch
                entry = request.lanes[key][bucket][0]
                widest = max(longest, entry.tokens)
                padded = (len(batch) + 1) * widest
                if padded > limits.tokens or padded > MAX_PADDING_RATIO * (total + entry.tokens):
                    break
                self._take(request, key, bucket)
                if fills.accept(entry):
                    self._charge(request, entry.tokens)
                    batch.append(entry)
                    total, longest = total + entry.tokens, widest
        return batch

    def _in_fair_order(self, key: BatchKey, bucket: int, fills: "_Filling") -> Iterator[_QueuedRequest]:
        """Yield the requests that have segments in a bucket, who was served least first, until none has."""
        heap: list[tuple[float, int, str]] = []
        queues: dict[str, list[tuple[float, int]]] = {}
        for request in self._by_key.get(key, {}).values():
            if bucket in request.lanes[key] and fills.may_join(request):
                queues.setdefault(request.client, []).append((request.share.served, request.id))
        for order, (client, requests) in enumerate(queues.items()):
            heapq.heapify(requests)
            heap.append((self._clients[client].share.served, order, client))
        heapq.heapify(heap)
        while heap:
            _, order, client = heapq.heappop(heap)
            _, request_id = heapq.heappop(queues[client])
            request = self._requests[request_id]
            yield request
            if bucket in request.lanes.get(key, {}):
                heapq.heappush(queues[client], (request.share.served, request_id))
            if queues[client]:
                heapq.heappush(heap, (self._clients[client].share.served, order, client))

    def _close_lane(self, request: _QueuedRequest, key: BatchKey) -> None:
        del request.lanes[key]
        del self._by_key[key][request.id]
        if not self._by_key[key]:
            del self._by_key[key]

    def _close_request(self, request: _QueuedRequest) -> None:
        client = self._clients[request.client]
        del client.requests[request.id], self._requests[request.id]
        if client.requests:
            return
        del self._clients[request.client]
        self._idle[request.client] = client.share.served
        if len(self._idle) > MAX_IDLE_CLIENTS:
            ahead = {name: served for name, served in self._idle.items() if served > self._virtual_time}
            self._idle = dict(list(ahead.items())[-MAX_IDLE_CLIENTS:])


def _bucket(tokens: int) -> int:
    """Return the length bucket: powers of two."""
    return tokens.bit_length()

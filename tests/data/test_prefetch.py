import itertools
import threading
import time

import pytest

from regard.data.prefetch import prefetch_items


def test_prefetched_items_keep_their_order_and_end():
    assert list(prefetch_items(iter(range(1000)), 3)) == list(range(1000))
    assert list(prefetch_items(iter(()), 3)) == []


def test_items_are_produced_ahead_up_to_the_buffer_size():
    produced = []
    items = prefetch_items((produced.append(n) or n for n in itertools.count()), 3)
    assert next(items) == 0
    deadline = time.monotonic() + 5
    while len(produced) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert 4 <= len(produced) <= 6
    items.close()


def test_an_error_of_the_producer_is_raised_in_the_consumer():
    def failing():
        yield 1
        raise ValueError("the file is gone")

    items = prefetch_items(failing(), 3)
    assert next(items) == 1
    with pytest.raises(ValueError, match="the file is gone"):
        next(items)


def test_the_producer_stops_when_the_consumer_closes():
    before = threading.active_count()
    items = prefetch_items(itertools.count(), 2)
    next(items)
    items.close()
    assert threading.active_count() == before

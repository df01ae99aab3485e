import itertools
import threading
import time

import pytest

from regard.data.prefetch import prefetch_items


def test_the_items_come_in_their_order_and_end_where_they_end():
    assert list(prefetch_items(iter(range(1000)), 3)) == list(range(1000))
    assert list(prefetch_items(iter(()), 3)) == []


def test_they_are_made_before_they_are_asked_for_but_not_without_end():
    made = []
    items = prefetch_items((made.append(n) or n for n in itertools.count()), 3)
    assert next(items) == 0
    deadline = time.monotonic() + 5
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert 4 <= len(made) <= 6
    items.close()


def test_what_goes_wrong_is_heard_where_the_item_is_missed():
    def failing():
        yield 1
        raise ValueError("the file is gone")

    items = prefetch_items(failing(), 3)
    assert next(items) == 1
    with pytest.raises(ValueError, match="the file is gone"):
        next(items)


def test_nobody_goes_on_working_for_one_who_left():
    before = threading.active_count()
    items = prefetch_items(itertools.count(), 2)
    next(items)
    items.close()
    assert threading.active_count() == before

"""The parts of the scheduler: cost model, cache, admission and the order of the queue."""

from collections import OrderedDict
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.server.scheduling.admission import Backlog, BacklogBins
from regard.server.scheduling.cost_model import CostModel
from regard.server.scheduling.fair_queue import BatchKey, BatchLimits, FairQueue, QueueEntry
from regard.server.scheduling.scheduler import JobKey
from regard.server.scheduling.sentence_cache import SentenceCache

KEY = BatchKey("en-fr@1", "beam4")


@pytest.mark.parametrize(("per_token", "per_batch"), [(1e-4, 0.004), (2e-3, 0.0), (1e-5, 0.05)])
def test_the_cost_model_finds_the_line(per_token, per_batch):
    random, model = Random(0), CostModel()
    for _ in range(300):
        tokens = random.randint(5, 2000)
        model.observe(tokens, (per_token * tokens + per_batch) * random.uniform(0.95, 1.05))
    for tokens in (10, 100, 1000):
        expected = per_token * tokens + per_batch
        assert model.predict(tokens) == pytest.approx(expected, rel=0.15, abs=0.01)


def test_the_cost_model_follows_a_machine_that_becomes_slower():
    model = CostModel()
    for factor in (1, 3):
        for tokens in list(range(100, 1100, 100)) * 20:
            model.observe(tokens, factor * 1e-3 * tokens)
    assert model.predict(500) == pytest.approx(1.5, rel=0.05)


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 30)), max_size=60))
def test_the_cost_model_is_never_negative(batches):
    model = CostModel()
    for tokens, seconds in batches:
        model.observe(tokens, seconds)
        assert model.per_token > 0
        assert model.per_batch >= 0
        assert model.tokens_within(0.25) >= 1


def test_equal_batches_give_a_proportional_model():
    model = CostModel()
    for _ in range(200):
        model.observe(500, 0.1)
    assert model.predict(500) == pytest.approx(0.1, rel=0.01)
    assert 0.02 <= model.predict(250) <= 0.1


@given(
    st.integers(0, 400),
    st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 200)), max_size=80),
)
def test_the_cache_is_the_same_as_a_simple_one(max_bytes, steps):
    cache, twin = SentenceCache(max_bytes), OrderedDict()
    for is_put, key, size in steps:
        if is_put:
            cache.put(key, (key, size), size)
            twin.pop(key, None)
            if size <= max_bytes:
                twin[key] = (key, size)
            while sum(size for _, size in twin.values()) > max_bytes:
                twin.popitem(last=False)
        else:
            assert cache.get(key) == twin.get(key)
            if key in twin:
                twin.move_to_end(key)
        assert cache.bytes == sum(size for _, size in twin.values()) <= max_bytes
        assert len(cache) == len(twin)


def test_the_key_of_the_cache_tells_text_options_and_model_apart():
    cache = SentenceCache(10**6)
    keys = [
        JobKey(BatchKey(model, options), text)
        for model in ("en-fr@1", "en-fr@2", "en-fr")
        for options in ("", '{"beam": 4}', '{"beam": 4, "alternatives": 1}')
        for text in ("a", "a|b", "A", "a ", '["a", "b"]', "a\nb", "e\u0301", "\u00e9")
    ]
    for number, key in enumerate(keys):
        cache.put(key, number, 1)
    assert [cache.get(key) for key in keys] == list(range(len(keys)))


@given(st.lists(st.floats(1e-7, 1e4), max_size=30), st.floats(1e-7, 1e4))
def test_the_sum_of_minima_is_right_to_a_factor_of_two(amounts, limit):
    bins = BacklogBins()
    for amount in amounts:
        bins.change(0.0, amount)
    exact = sum(min(amount, limit) for amount in amounts)
    assert exact * 0.999 - 1e-5 <= bins.sum_of_minima(limit) <= 2.001 * exact + 1e-5


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 4), st.floats(0.001, 9)), max_size=50))
def test_the_backlog_is_empty_when_everything_is_done(changes):
    backlog = Backlog()
    for client, request, seconds in changes:
        backlog.change(client, request, seconds)
    assert backlog.seconds == pytest.approx(sum(seconds for *_, seconds in changes))
    assert backlog.predict_wait("Z", 1e9) == pytest.approx(backlog.seconds, rel=1e-6)
    for client, request, seconds in changes:
        backlog.change(client, request, -seconds)
    assert backlog.seconds == pytest.approx(0, abs=1e-6)
    assert backlog.predict_wait("A", 1.0) == pytest.approx(0, abs=1e-6)


def take(queue, tokens=100, segments=99):
    taken = queue.take_batch(lambda _: BatchLimits(tokens, segments), lambda _: True, lambda _: True)
    return [] if taken is None else [(entry.request, entry.position) for entry in taken[1]]


def test_a_batch_has_like_lengths_first():
    queue = FairQueue()
    for index, tokens in enumerate([10, 90, 11, 3, 10]):
        queue.add("A", KEY, QueueEntry(1, index, tokens))
    assert take(queue) == [(1, 0), (1, 2), (1, 4), (1, 3)]  # the long one would make it all padding
    assert take(queue) == [(1, 1)]


def test_a_batch_is_filled_by_turns():
    queue = FairQueue()
    for request, client in ((1, "A"), (2, "A"), (3, "B")):
        for index in range(6):
            queue.add(client, KEY, QueueEntry(request, index, 10))
    assert [request for request, _ in take(queue, segments=8)] == [1, 3, 2, 3, 1, 3, 2, 3]


def test_a_sentence_does_not_wait_for_the_segments_of_a_book():
    queue = FairQueue()
    for index in range(100):
        queue.add("A", KEY, QueueEntry(1, index, 10))
    take(queue, segments=5)
    for request, client in ((2, "B"), (3, "C")):
        queue.add(client, KEY, QueueEntry(request, 0, 10))
    assert take(queue) == [(2, 0), (3, 0)]
    assert len(take(queue)) == 10


def test_a_client_that_pauses_saves_up_nothing():
    queue = FairQueue()
    for index in range(100):
        queue.add("A", KEY, QueueEntry(1, index, 10))
    for _ in range(10):
        take(queue, segments=5)
    for index in range(100):
        queue.add("B", KEY, QueueEntry(2, index, 10))
    shares = [request for _ in range(4) for request, _ in take(queue, segments=5)]
    assert 8 <= shares.count(2) <= 14


def test_another_model_or_search_is_another_batch():
    queue = FairQueue()
    for index, key in enumerate([KEY, KEY._replace(model="fr-en@1"), KEY._replace(options="beam1"), KEY]):
        queue.add("A", key, QueueEntry(1, index, 10))
    assert [take(queue) for _ in range(3)] == [[(1, 0), (1, 3)], [(1, 1)], [(1, 2)]]


def test_a_removed_request_leaves_nothing():
    queue = FairQueue()
    for request in (1, 2):
        queue.add("A", KEY, QueueEntry(request, 0, 10))
    queue.remove_request(1)
    assert (len(queue), take(queue), len(queue)) == (1, [(2, 0)], 0)

"""Whatever happens in whatever order, every segment is answered once, within the limits, and none starves."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from regard.server.scheduling.fair_queue import MAX_PADDING_RATIO, BatchKey
from regard.server.scheduling.scheduler import (
    BatchScheduler,
    JobKey,
    RefusedError,
    SchedulerLimits,
    SegmentJob,
)
from regard.server.scheduling.sentence_cache import SentenceCache

OPTIONS = ("beam4", "beam1")
MODELS = ("en-fr", "fr-en")
ENGINE_TOKENS = 64


def make_scheduler(slots=2, cache_bytes=300, **limits):
    return BatchScheduler(
        SchedulerLimits(**limits), SentenceCache(cache_bytes), lambda _: ENGINE_TOKENS, len, slots
    )


def make_job(text, model="en-fr", options="beam4", tokens=None):
    return SegmentJob(JobKey(BatchKey(model, options, options), text), tokens or len(text.split()) + 1)


def translate(job):
    """The result of a job; it tells everything the job depended on."""
    return "|".join((job.key.batch_key.model, job.key.batch_key.options, job.key.text))


TEXTS = st.sampled_from(["a", "a b", "b a", "c d e", "f g h i j k", "x " * 30, "y " * 100])
SEGMENTS = st.lists(
    st.builds(make_job, TEXTS, st.sampled_from(MODELS), st.sampled_from(OPTIONS)), min_size=1, max_size=8
)


class SchedulerMachine(RuleBasedStateMachine):
    """Random clients, cancellations, deadlines, failures and deaths of the model process."""

    @initialize(slots=st.integers(1, 3), cache_bytes=st.sampled_from([0, 60, 10_000]))
    def start(self, slots, cache_bytes):
        self.scheduler = make_scheduler(slots, cache_bytes, max_wait_seconds=1e9)
        self.now = 0.0
        self.requests, self.answers, self.cancelled, self.batches = {}, defaultdict(dict), set(), {}
        self.attempts = Counter()

    def collect(self):
        for answer in self.scheduler.take_answers():
            assert answer.request not in self.cancelled
            assert answer.index not in self.answers[answer.request], "answered twice"
            self.answers[answer.request][answer.index] = answer
            segments, deadline = self.requests[answer.request]
            if answer.failure is None:
                assert answer.result == translate(segments[answer.index])
            elif answer.failure == "expired":
                assert deadline <= self.now

    @rule(client=st.sampled_from("ABC"), segments=SEGMENTS, patience=st.sampled_from([0.5, 5.0, 1e9]))
    def submit(self, client, segments, patience):
        number = self.scheduler.submit(client, self.now + patience, segments, self.now)
        self.requests[number] = segments, self.now + patience
        self.collect()

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def pull(self):
        batch = self.scheduler.pull(self.now)
        if batch is not None:
            self.batches[batch.id] = batch
            lengths = [job.tokens for job in batch.jobs]
            assert all(job.key.batch_key == batch.key for job in batch.jobs)
            assert len({job.key for job in batch.jobs}) == len(batch.jobs)
            if batch.attempt == 0 and len(lengths) > 1:
                assert len(lengths) * max(lengths) <= min(ENGINE_TOKENS, MAX_PADDING_RATIO * sum(lengths))
        self.collect()

    @rule(data=st.data(), fate=st.sampled_from(["complete", "complete", "fail", "lose"]))
    def finish(self, data, fate):
        if not self.batches:
            return
        batch = self.batches.pop(data.draw(st.sampled_from(sorted(self.batches))))
        if fate == "complete":
            self.scheduler.complete(batch.id, [translate(job) for job in batch.jobs], 0.1)
        elif fate == "fail":
            self.scheduler.fail(batch.id, "broken")
        else:
            self.scheduler.lose(batch.id, "died")
        self.collect()

    @rule(data=st.data())
    def cancel(self, data):
        alive = sorted(set(self.requests) - self.cancelled)
        if alive:
            number = data.draw(st.sampled_from(alive))
            if len(self.answers[number]) < len(self.requests[number][0]):
                self.cancelled.add(number)
                self.scheduler.cancel(number)

    @invariant()
    def slots_are_respected(self):
        if hasattr(self, "scheduler"):
            assert self.scheduler.running_batches == len(self.batches) <= self.scheduler.slots
            assert self.scheduler.queued_seconds >= 0

    def teardown(self):
        """Let everything finish: nothing may be left over."""
        if not hasattr(self, "scheduler"):
            return
        for _ in range(10_000):
            for batch in self.batches.values():
                self.scheduler.complete(batch.id, [translate(job) for job in batch.jobs], 0.1)
            self.batches = {}
            self.pull()
            if not self.batches:
                break
        assert self.scheduler.is_idle
        assert self.scheduler.queued_segments == 0
        assert self.scheduler.queued_seconds == 0
        for number, (segments, _) in self.requests.items():
            if number not in self.cancelled:
                assert len(self.answers[number]) == len(segments)


TestSchedulerMachine = pytest.mark.filterwarnings("ignore")(SchedulerMachine.TestCase)
TestSchedulerMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def run(scheduler, now=0.0):
    """Start one batch and finish it; return it."""
    batch = scheduler.pull(now)
    if batch is not None:
        scheduler.complete(batch.id, [translate(job) for job in batch.jobs], 0.1)
    return batch


@given(st.lists(st.lists(st.integers(1, 60), min_size=30, max_size=40), min_size=2, max_size=4))
@settings(max_examples=10)
def test_busy_clients_are_served_alike(clients):
    scheduler = make_scheduler(slots=1, cache_bytes=0, max_wait_seconds=1e9)
    owner, served, left = {}, Counter(), {}
    for client, lengths in enumerate(clients):
        jobs = [make_job(f"{client} {n}", tokens=length) for n, length in enumerate(lengths)]
        owner |= {job.key: str(client) for job in jobs}
        left[str(client)] = len(jobs)
        for job in jobs:
            scheduler.submit(str(client), 1e9, [job], 0.0)
    while min(left.values()) and (batch := run(scheduler)):
        for job in batch.jobs:
            served[owner[job.key]] += job.tokens
            left[owner[job.key]] -= 1
        if min(left.values()):
            assert max(served.values()) - min(served[name] for name in left) <= 2 * ENGINE_TOKENS + 60


@given(st.integers(1, 100), st.integers(2, 200))
@settings(max_examples=15)
def test_a_sentence_passes_a_book(tokens, chapters):
    scheduler = make_scheduler(slots=1, cache_bytes=0, max_wait_seconds=1e9)
    scheduler.submit("book", 1e9, [make_job(f"chapter {n}", tokens=60) for n in range(chapters)], 0.0)
    run(scheduler)
    scheduler.submit("sentence", 1e9, [make_job("hello", tokens=tokens)], 0.0)
    batches = [run(scheduler) for _ in range(2)]
    assert any(job.key.text == "hello" for batch in batches if batch for job in batch.jobs)


def test_a_request_leaves_a_slot_to_others_of_its_client():
    scheduler = make_scheduler(slots=3, cache_bytes=0, max_wait_seconds=1e9)
    scheduler.submit("A", 1e9, [make_job(f"chapter {n}", tokens=60) for n in range(9)], 0.0)
    assert [scheduler.pull(0.0) is not None for _ in range(3)] == [True, True, False]
    scheduler.submit("A", 1e9, [make_job("hello")], 0.0)
    assert [job.key.text for job in scheduler.pull(0.0).jobs] == ["hello"]


def test_one_bad_segment_fails_alone():
    scheduler = make_scheduler(slots=2, cache_bytes=0)
    number = scheduler.submit("A", 99.0, [make_job(f"text {n}") for n in range(10)], 0.0)
    failed = 0
    while (batch := scheduler.pull(0.0)) is not None:
        if any(job.key.text == "text 7" for job in batch.jobs):
            failed += 1
            scheduler.fail(batch.id, "cannot")
        else:
            scheduler.complete(batch.id, [translate(job) for job in batch.jobs], 0.1)
    answers = {answer.index: answer for answer in scheduler.take_answers() if answer.request == number}
    assert [index for index in range(10) if answers[index].failure] == [7]
    assert (answers[7].message, failed) == ("cannot", 2)


def test_a_segment_that_ends_the_process_takes_no_other_along():
    scheduler = make_scheduler(slots=2, cache_bytes=0)
    scheduler.submit("A", 99.0, [make_job(f"text {n}") for n in range(20)], 0.0)
    scheduler.submit("B", 99.0, [make_job(f"more {n}") for n in range(20)], 0.0)
    running, deaths = [], 0
    for _ in range(200):
        while (batch := scheduler.pull(0.0)) is not None:
            running.append(batch)
        if any(job.key.text == "text 7" for batch in running for job in batch.jobs):
            deaths += 1
            for batch in running:
                scheduler.lose(batch.id, "died")
            running = []
        elif running:
            batch = running.pop(0)
            scheduler.complete(batch.id, [translate(job) for job in batch.jobs], 0.1)
    answers = scheduler.take_answers()
    assert [answer.index for answer in answers if answer.failure] == [7]
    assert (len(answers), deaths) == (40, 3)


def test_expired_segments_are_not_translated():
    scheduler = make_scheduler(slots=1, cache_bytes=0)
    scheduler.submit("A", 1.0, [make_job("late")], 0.0)
    scheduler.submit("B", 9.0, [make_job("early")], 0.0)
    assert [job.key.text for job in scheduler.pull(2.0).jobs] == ["early"]
    assert [(answer.request, answer.failure) for answer in scheduler.take_answers()] == [(1, "expired")]


def test_equal_segments_are_translated_once_even_if_the_first_client_leaves():
    scheduler = make_scheduler(slots=1, cache_bytes=0)
    first = scheduler.submit("A", 9.0, [make_job("same")], 0.0)
    second = scheduler.submit("B", 9.0, [make_job("same"), make_job("same")], 0.0)
    scheduler.cancel(first)
    assert len(run(scheduler).jobs) == 1
    assert run(scheduler) is None
    answers = scheduler.take_answers()
    assert [(answer.request, answer.result) for answer in answers] == [(second, "en-fr|beam4|same")] * 2
    assert scheduler.is_idle


def test_a_retry_joins_the_request_that_still_runs():
    scheduler = make_scheduler(slots=1, cache_bytes=0)
    scheduler.submit("A", 9.0, [make_job("same")], 0.0)
    batch = scheduler.pull(0.0)
    scheduler.submit("A", 19.0, [make_job("same")], 10.0)
    assert scheduler.pull(10.0) is None
    scheduler.complete(batch.id, ["x"], 0.1)
    assert [answer.request for answer in scheduler.take_answers()] == [1, 2]


def test_a_request_is_refused_when_it_would_wait_too_long():
    scheduler = make_scheduler(slots=1, cache_bytes=0, max_wait_seconds=2.0)

    def flood():
        for n in range(10**6):
            scheduler.submit(f"{n % 50}", 99.0, [make_job(f"text {n}", tokens=20)], 0.0)

    with pytest.raises(RefusedError) as error:
        flood()
    assert scheduler.queued_seconds == pytest.approx(2.0, abs=0.1)
    assert error.value.retry_after >= 1
    scheduler.submit("late", 99.0, [make_job("text 0", tokens=20)], 0.0)  # joins one that is queued
    with pytest.raises(RefusedError):
        scheduler.submit("late", 0.5, [make_job("a text for a hurry", tokens=99)], 0.0)


def test_a_sentence_is_admitted_beside_a_book_but_not_a_second_book():
    scheduler = make_scheduler(slots=1, cache_bytes=0, max_wait_seconds=2.0)
    book = [make_job(f"chapter {n}", tokens=600) for n in range(200)]
    scheduler.submit("A", 99.0, book, 0.0)
    for client in "AB":
        scheduler.submit(client, 99.0, [make_job(f"hello {client}")], 0.0)
        with pytest.raises(RefusedError):
            scheduler.submit(
                client, 99.0, [make_job(f"{n} of {client}", tokens=600) for n in range(200)], 0.0
            )


def test_a_slow_model_still_gets_batches():
    """One sentence takes longer than a batch should, and eight take hardly longer than one."""
    scheduler = BatchScheduler(SchedulerLimits(max_wait_seconds=1e9), SentenceCache(0), lambda _: 1024, len)
    for n in range(400):
        scheduler.submit("A", 1e9, [make_job(f"text {n}", tokens=20)], 0.0)
    sizes = []
    while (batch := scheduler.pull(0.0)) is not None:
        sizes.append(len(batch.jobs))
        scheduler.complete(batch.id, [translate(job) for job in batch.jobs], 0.5 + 0.001 * len(batch.jobs))
    assert min(sizes[:-1]) >= 8

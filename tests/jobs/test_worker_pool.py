import multiprocessing.connection
import os
import signal
import time
from dataclasses import dataclass

import pytest

from regard.errors import ConfigError, RegardError
from regard.jobs.line_batches import LineBatchLimits, batch_texts
from regard.jobs.worker import BatchResult
from regard.jobs.worker_pool import run_in_worker_pool, run_sequentially


@dataclass(frozen=True)
class UpperCaseWorker:
    """Writes lines in upper case; earlier batches take longer, so that they finish in another order."""

    load_error: bool = False
    killed_at: int | None = None
    """The batch at which the process is killed while it sends the result."""

    def load(self):
        if self.load_error:
            raise ConfigError("the model cannot be loaded")
        return "model"

    def process_batch(self, model, batch, on_done=None):  # noqa: ARG002
        assert model == "model"
        text = "".join(line.content.decode().upper() + "\n" for line in batch.lines)
        if batch.number == self.killed_at:
            multiprocessing.connection.Connection._send = _send_half_and_die
        time.sleep(0.05 if batch.number == 0 else 0.0)
        return BatchResult(batch.number, len(batch.lines), 0, [], text, batch.byte_offset)

    def job_facts(self):
        return {}


def _send_half_and_die(connection, buffer, write=os.write):
    write(connection.fileno(), buffer[: len(buffer) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def batches(count=7):
    return batch_texts([f"line {number}" for number in range(count)], LineBatchLimits(1, 2**20))


def test_results_come_in_the_order_of_their_batches():
    expected = list(run_sequentially(UpperCaseWorker(), batches()))
    assert [result.text for result in expected] == [f"LINE {number}\n" for number in range(7)]
    assert list(run_in_worker_pool(UpperCaseWorker(), batches(), 2)) == expected


def test_an_error_of_a_worker_is_raised_here():
    with pytest.raises(ConfigError, match="the model cannot be loaded"):
        list(run_in_worker_pool(UpperCaseWorker(load_error=True), batches(), 2))
    assert not multiprocessing.active_children()


def test_a_worker_killed_while_it_sends_a_result_ends_the_job():
    """In a pool with one pipe for all workers the parent would wait forever for the rest of the result."""
    with pytest.raises(RegardError, match="a worker process was killed, perhaps because memory ran out"):
        list(run_in_worker_pool(UpperCaseWorker(killed_at=3), batches(), 2))
    assert not multiprocessing.active_children()


def test_the_workers_end_when_no_more_results_are_needed():
    results = run_in_worker_pool(UpperCaseWorker(), batches(100), 2)
    assert next(results).number == 0
    assert len(multiprocessing.active_children()) == 2
    results.close()
    assert not multiprocessing.active_children()


def test_few_batches_are_read_ahead():
    read = []

    def watched():
        for batch in batches(100):
            read.append(batch.number)
            yield batch

    results = run_in_worker_pool(UpperCaseWorker(), watched(), 2)
    assert next(results).number == 0
    assert max(read) <= 2 * 4 + 1
    results.close()

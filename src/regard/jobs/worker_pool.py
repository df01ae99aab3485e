"""Batches of lines processed in this process, or in order by a pool of worker processes."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from regard.errors import RegardError
from regard.jobs.line_batches import LineBatch
from regard.jobs.worker import BatchResult, Worker
from regard.runtime import keep_freed_memory

ResultHandler = Callable[[BatchResult], BatchResult]
"""Called with each result in the process that computed it, for instance to write it to disk; picklable."""

BATCHES_AHEAD_PER_WORKER = 4
"""Batches submitted for each worker before the first of them is finished."""


def return_result(result: BatchResult) -> BatchResult:
    return result


def run_sequentially(
    worker: Worker,
    batches: Iterator[LineBatch],
    handle_result: ResultHandler = return_result,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[BatchResult]:
    """Yield the result of each batch, computed in this process; `on_done` is called with finished lines."""
    model = worker.load()
    for batch in batches:
        yield handle_result(worker.process_batch(model, batch, on_done))


def run_in_worker_pool(
    worker: Worker,
    batches: Iterator[LineBatch],
    workers: int,
    handle_result: ResultHandler = return_result,
) -> Iterator[BatchResult]:
    """Yield the results in the order of the batches, computed by `workers` processes with a model each.

    The processes end with this one, however it ends.
    """
    with _worker_pool(worker, workers, handle_result) as pool:
        pending = deque[Future[BatchResult]]()
        try:
            for batch in batches:
                pending.append(pool.submit(_process_batch, batch))
                while pending and (pending[0].done() or len(pending) >= BATCHES_AHEAD_PER_WORKER * workers):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool:
            raise RegardError(
                "a worker process was killed, perhaps because memory ran out; fewer --workers need less"
            ) from None


@contextmanager
def _worker_pool(worker: Worker, workers: int, handle_result: ResultHandler) -> Iterator[ProcessPoolExecutor]:
    """Start a process pool; kill its processes on leaving, since the batches they work on are not needed."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers,
        multiprocessing.get_context("spawn"),  # a forked process would inherit the locks of threads
        _start_worker,
        (worker, handle_result),
    )
    try:
        with _sigint_ignored():  # inherited by the processes, all of which the first task starts
            pool.submit(os.getpid)
        yield pool
    finally:
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _sigint_ignored() -> Iterator[None]:
    """Processes started within ignore Ctrl-C, which the parent handles."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_process_state: dict[str, Any] = {}
"""Of a worker process: its worker, result handler and, from its first batch on, its model."""


def _start_worker(worker: Worker, handle_result: ResultHandler) -> None:
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    keep_freed_memory()
    _process_state.update(worker=worker, handle_result=handle_result)


def _process_batch(batch: LineBatch) -> BatchResult:
    worker: Worker = _process_state["worker"]
    if "model" not in _process_state:  # not in `_start_worker`, whose errors would not reach the parent
        _process_state["model"] = worker.load()
    return _process_state["handle_result"](worker.process_batch(_process_state["model"], batch))


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

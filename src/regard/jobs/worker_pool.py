"""Batches of lines processed in this process, or in order by a pool of worker processes.

Each worker has a pipe of its own, so that it can be killed at any moment, also while it sends a result. The
workers of a `concurrent.futures.ProcessPoolExecutor` share one pipe, where half a result blocks the parent
forever (docs/decisions/0018).
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from regard.errors import RegardError
from regard.jobs.line_batches import LineBatch
from regard.jobs.worker import BatchResult, Worker
from regard.runtime import keep_freed_memory

ResultHandler = Callable[[BatchResult], BatchResult]
"""Called with each result in the process that computed it, for instance to write it to disk; picklable."""

BATCHES_AHEAD_PER_WORKER = 4
"""Batches started for each worker before the first of them has been yielded."""


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
    with _worker_pipes(worker, workers, handle_result) as pipes:
        idle, busy = list(pipes), dict[Connection, int]()
        started, yielded, finished = 0, 0, dict[int, BatchResult]()
        batch = next(batches, None)
        while batch is not None or busy:
            while batch is not None and idle and started - yielded < BATCHES_AHEAD_PER_WORKER * workers:
                pipe = idle.pop()
                busy[pipe] = started
                _send_batch(pipe, batch)
                started, batch = started + 1, next(batches, None)
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                finished[busy.pop(pipe)] = _receive_result(pipe)
                idle.append(pipe)
            while yielded in finished:
                yield finished.pop(yielded)
                yielded += 1


@contextmanager
def _worker_pipes(worker: Worker, count: int, handle_result: ResultHandler) -> Iterator[list[Connection]]:
    """Start the processes and kill them on leaving: the batches they still work on are not needed."""
    context = multiprocessing.get_context("spawn")  # a forked process would inherit the locks of threads
    processes, pipes = [], []
    try:
        with _sigint_ignored():
            for _ in range(count):
                pipe, child_pipe = context.Pipe()
                arguments = (child_pipe, worker, handle_result)
                process = context.Process(target=_run_worker, args=arguments, daemon=True)
                process.start()
                child_pipe.close()  # so that the parent's end breaks when the process ends
                processes.append(process)
                pipes.append(pipe)
        yield pipes
    finally:
        for process in processes:
            process.kill()
            process.join()
        for pipe in pipes:
            pipe.close()


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


def _run_worker(pipe: Connection, worker: Worker, handle_result: ResultHandler) -> None:
    """Process batches from the pipe until killed; send back each result, or the error."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    keep_freed_memory()
    try:
        model = worker.load()
        while True:
            pipe.send(handle_result(worker.process_batch(model, pipe.recv())))
    except Exception as error:
        pipe.send(error)
    except (
        BaseException
    ) as error:  # a panic of a library in Rust, which another process may not be able to read
        pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _send_batch(pipe: Connection, batch: LineBatch) -> None:
    with suppress(OSError):  # the worker has ended: `_receive_result` reports why
        pipe.send(batch)


def _receive_result(pipe: Connection) -> BatchResult:
    try:
        result: Any = pipe.recv()
    except (EOFError, OSError):
        raise RegardError(
            "a worker process was killed, perhaps because memory ran out; fewer --workers need less"
        ) from None
    if isinstance(result, Exception):
        raise result
    return result

"""Windows answered one after another by this process, or by several at once."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from regard.errors import RegardError
from regard.jobs.line_batches import LineBatch
from regard.jobs.worker import BatchResult, Worker
from regard.runtime import keep_freed_memory

ResultHandler = Callable[[BatchResult], BatchResult]
"""What becomes of an answer where it was made: a part on disk, for one. Can be sent to another process."""

BATCHES_AHEAD_PER_WORKER = 4
"""Windows for each worker that may be begun before the first of them is done."""


def return_result(answered: BatchResult) -> BatchResult:
    return answered


def run_sequentially(
    worker: Worker,
    batches: Iterator[LineBatch],
    handle_result: ResultHandler = return_result,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[BatchResult]:
    """In this process; `on_done` is told of lines as they are done."""
    translator = worker.load()
    for window in batches:
        yield handle_result(worker.process_batch(translator, window, on_done))


def run_in_worker_pool(
    worker: Worker,
    batches: Iterator[LineBatch],
    workers: int,
    handle_result: ResultHandler = return_result,
) -> Iterator[BatchResult]:
    """In processes of their own, each with the model; answers come in the order of their windows.

    The processes end with this one, whatever it ends of.
    """
    with _start_workers(worker, workers, handle_result) as pipes:
        idle, busy = list(pipes), dict[Connection, int]()
        begun, given, held = 0, 0, dict[int, BatchResult]()
        window = next(batches, None)
        while window is not None or busy:
            while window is not None and idle and begun - given < BATCHES_AHEAD_PER_WORKER * workers:
                pipe = idle.pop()
                busy[pipe] = begun
                pipe.send(window)
                begun, window = begun + 1, next(batches, None)
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                held[busy.pop(pipe)] = _receive_result(pipe)
                idle.append(pipe)
            while given in held:
                yield held.pop(given)
                given += 1


@contextmanager
def _start_workers(worker: Worker, count: int, finish: ResultHandler) -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")  # a fork would share what threads hold
    processes, pipes = [], []
    try:
        with _sigint_ignored():
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_run_worker, args=(theirs, worker, finish), daemon=True)
                process.start()
                theirs.close()  # so that its end is seen when the process ends
                processes.append(process)
                pipes.append(ours)
        yield pipes
    finally:
        for process in processes:
            process.kill()
            process.join()


@contextmanager
def _sigint_ignored() -> Iterator[None]:
    """Processes that are started now do not hear Ctrl-C, which is for this one to answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run_worker(pipe: Connection, worker: Worker, finish: ResultHandler) -> None:
    """What a worker does until it is ended: a window in, its answer or what went wrong out."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    keep_freed_memory()
    try:
        translator = worker.load()
        while True:
            pipe.send(finish(worker.process_batch(translator, pipe.recv())))
    except Exception as error:
        pipe.send(error)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _receive_result(pipe: Connection) -> BatchResult:
    try:
        answer: Any = pipe.recv()
    except (EOFError, OSError):
        raise RegardError(
            "a worker was ended from outside, perhaps because memory ran out; fewer --workers take less"
        ) from None
    if isinstance(answer, Exception):
        raise answer
    return answer

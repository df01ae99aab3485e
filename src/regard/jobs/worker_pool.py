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
from regard.jobs.line_batches import Window
from regard.jobs.worker import Answered, Worker
from regard.runtime import keep_freed_memory

Finish = Callable[[Answered], Answered]
"""What becomes of an answer where it was made: a part on disk, for one. Can be sent to another process."""

AHEAD = 4
"""Windows for each worker that may be begun before the first of them is done."""


def as_it_is(answered: Answered) -> Answered:
    return answered


def alone(
    worker: Worker,
    windows: Iterator[Window],
    finish: Finish = as_it_is,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[Answered]:
    """In this process; `on_done` is told of lines as they are done."""
    translator = worker.load()
    for window in windows:
        yield finish(worker.answer(translator, window, on_done))


def together(
    worker: Worker,
    windows: Iterator[Window],
    workers: int,
    finish: Finish = as_it_is,
) -> Iterator[Answered]:
    """In processes of their own, each with the model; answers come in the order of their windows.

    The processes end with this one, whatever it ends of.
    """
    with _workers(worker, workers, finish) as pipes:
        idle, busy = list(pipes), dict[Connection, int]()
        begun, given, held = 0, 0, dict[int, Answered]()
        window = next(windows, None)
        while window is not None or busy:
            while window is not None and idle and begun - given < AHEAD * workers:
                pipe = idle.pop()
                busy[pipe] = begun
                pipe.send(window)
                begun, window = begun + 1, next(windows, None)
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                held[busy.pop(pipe)] = _received(pipe)
                idle.append(pipe)
            while given in held:
                yield held.pop(given)
                given += 1


@contextmanager
def _workers(worker: Worker, count: int, finish: Finish) -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")  # a fork would share what threads hold
    processes, pipes = [], []
    try:
        with _deaf():
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, worker, finish), daemon=True)
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
def _deaf() -> Iterator[None]:
    """Processes that are started now do not hear Ctrl-C, which is for this one to answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(pipe: Connection, worker: Worker, finish: Finish) -> None:
    """What a worker does until it is ended: a window in, its answer or what went wrong out."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    keep_freed_memory()
    try:
        translator = worker.load()
        while True:
            pipe.send(finish(worker.answer(translator, pipe.recv())))
    except Exception as error:
        pipe.send(error)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _received(pipe: Connection) -> Answered:
    try:
        answer: Any = pipe.recv()
    except (EOFError, OSError):
        raise RegardError(
            "a worker was ended from outside, perhaps because memory ran out; fewer --workers take less"
        ) from None
    if isinstance(answer, Exception):
        raise answer
    return answer

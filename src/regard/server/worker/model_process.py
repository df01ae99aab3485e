"""Main loop of a model process: reads requests from the socket pair, translates in threads, sends results.

It ends when the server's end of the socket closes, however the server ended.
"""

import argparse
import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable

from regard.errors import RegardError
from regard.runtime import bound_freed_memory, trim_freed_memory
from regard.server.worker.protocol import (
    HEADER,
    BatchDone,
    BatchFailed,
    BatchRequest,
    Heartbeat,
    LoadRequest,
    ModelRefused,
    UnloadRequest,
    WorkerMessage,
    decode_server_message,
    encode_frame,
    frame_length,
)

HEARTBEAT_SECONDS = 0.5
SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter: a short batch passes the Python part of a long one."""
IDLE_TRIM_SECONDS = 5.0
"""Time without a batch after which freed memory is returned to the system."""


class ModelProcess:
    """The threads of a model process around its socket."""

    def __init__(self, connection: socket.socket, cores: int) -> None:
        from regard.server.worker.model_host import ModelHost

        self._connection, self._host = connection, ModelHost(cores)
        self._sending = threading.Lock()
        self._tasks: queue.SimpleQueue[Callable[[], WorkerMessage | None]] = queue.SimpleQueue()
        self._loads: queue.SimpleQueue[Callable[[], WorkerMessage | None]] = queue.SimpleQueue()

    def run(self) -> None:
        """Serve until the connection closes."""
        for _ in range(self._host.slots):
            threading.Thread(target=self._work, args=(self._tasks,), daemon=True).start()
        threading.Thread(target=self._work, args=(self._loads,), daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()
        while (content := self._receive()) is not None:
            message = decode_server_message(content)
            match message:
                case BatchRequest():
                    self._tasks.put(lambda message=message: self._translate(message))
                case LoadRequest():
                    self._loads.put(lambda message=message: self._load(message))
                case UnloadRequest():
                    self._host.unload(message.handle)

    def _work(self, tasks: "queue.SimpleQueue[Callable[[], WorkerMessage | None]]") -> None:
        while True:
            try:
                task = tasks.get(timeout=IDLE_TRIM_SECONDS)
            except queue.Empty:
                trim_freed_memory()
                task = tasks.get()
            answer = task()
            if answer is not None:
                self._send(answer)

    def _load(self, message: LoadRequest) -> WorkerMessage:
        try:
            return self._host.load(message.spec)
        except RegardError as error:
            return ModelRefused(message.spec.handle, str(error))
        except Exception as error:
            return ModelRefused(message.spec.handle, f"{message.spec.path}: {_describe(error)}")

    def _translate(self, message: BatchRequest) -> WorkerMessage:
        try:
            translations, seconds = self._host.translate(message.handle, message.options, message.texts)
        except RegardError as error:
            return BatchFailed(message.id, str(error))
        except Exception as error:  # also of a library: the batch fails, the process serves on
            return BatchFailed(message.id, _describe(error))
        return BatchDone(message.id, seconds, translations)

    def _beat(self) -> None:
        pause = threading.Event()
        while not pause.wait(HEARTBEAT_SECONDS):
            self._send(Heartbeat(resident_bytes()))

    def _send(self, message: WorkerMessage) -> None:
        frame = encode_frame(message)
        try:
            with self._sending:
                self._connection.sendall(frame)
        except OSError:  # the server has ended
            os._exit(0)

    def _receive(self) -> bytes | None:
        header = self._receive_exactly(HEADER.size)
        return None if header is None else self._receive_exactly(frame_length(header))

    def _receive_exactly(self, size: int) -> bytes | None:
        parts: list[bytes] = []
        while size > 0:
            try:
                part = self._connection.recv(min(size, 2**20))
            except OSError:
                return None
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _describe(error: Exception) -> str:
    """Return an unexpected error in one line, without the text of a request, which it may quote."""
    return f"the engine failed ({type(error).__name__})"


def run_model_process() -> None:
    """Start from the command line of `supervisor.py`."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # the server drains first, then closes the socket
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--cores", type=int, required=True)
    options = parser.parse_args()
    bound_freed_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    ModelProcess(socket.socket(fileno=options.socket), options.cores).run()
    sys.stdout.flush()
    os._exit(0)  # not waiting for a batch whose result nobody reads


if __name__ == "__main__":
    run_model_process()

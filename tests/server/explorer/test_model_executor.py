import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, current_thread

import pytest

from regard.server.explorer.checkpoint_cache import CheckpointCache
from regard.server.explorer.model_executor import ModelExecutor
from regard.server.web.request_body import read_json_object
from regard.server.web.responses import json_response
from server.http_client import run_server


class NoModels(CheckpointCache):
    def __init__(self):
        pass

    def get(self, step):
        return step


class SlowRoute:
    """A route that computes one request at a time, after `release` is set."""

    def __init__(self):
        self.executor, self.release = ModelExecutor(NoModels()), Event()
        self.active, self.max_active, self.served, self.threads = 0, 0, [], set()

    async def handle(self, request):
        body = await read_json_object(request)
        return json_response({"n": await self.executor.run(body, lambda _: self.compute(body["n"]))})

    async def answer(self, _):
        return json_response("at once")

    def compute(self, number):
        self.active += 1
        self.max_active = max(self.max_active, self.active)
        self.threads.add(current_thread())
        assert self.release.wait(10)
        self.served.append(number)
        self.active -= 1
        return number

    def wait_until_queued(self, waiting):
        """Wait until so many computations wait for the one that runs."""
        end = time.monotonic() + 10
        while not self.executor.is_computing or self.executor._thread._work_queue.qsize() != waiting:
            assert time.monotonic() < end
            time.sleep(0.002)


@pytest.fixture
def slow():
    route = SlowRoute()
    routes = {"/api/slow": {"POST": route.handle}, "/": {"GET": route.answer}}
    with run_server(routes) as client, ThreadPoolExecutor(20) as pool:
        route.submit = lambda n: pool.submit(client, "/api/slow", {"n": n})
        route.client = client
        yield route
        route.release.set()


def test_requests_are_computed_one_at_a_time_in_order_of_arrival(slow):
    responses = []
    for number in range(12):
        responses.append(slow.submit(number))
        slow.wait_until_queued(number)
    assert slow.client("/").json == "at once"
    slow.release.set()
    assert [response.result().json["n"] for response in responses] == list(range(12))
    assert slow.served == list(range(12))
    assert (slow.max_active, len(slow.threads)) == (1, 1)
    slow.executor._thread.shutdown()
    assert not slow.executor.is_computing


def test_a_queued_request_of_a_client_that_left_is_not_computed(slow):
    first = slow.submit(0)
    slow.wait_until_queued(0)
    body = b'{"n": 1}'
    head = (
        f"POST /api/slow HTTP/1.1\r\nHost: 127.0.0.1:{slow.client.port}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", slow.client.port)) as connection:
        connection.sendall(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        slow.wait_until_queued(1)
    assert slow.client("/").status == 200
    last = slow.submit(2)
    slow.wait_until_queued(2)  # the second stays in the queue, and is passed over
    slow.release.set()
    assert (first.result().status, last.result().status) == (200, 200)
    assert slow.served == [0, 2]

import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from threading import Thread

import pytest

from regard.errors import RegardError
from regard.server.web.responses import json_response
from regard.server.web.security import HostGuard
from regard.server.web.web_server import WebServer
from server.http_client import HttpClient, run_server

PROGRAM = """
import asyncio, sys
from regard.server.web import responses, web_server

async def slow(_):
    await asyncio.sleep(0.5)
    return responses.json_response("done")

with web_server.WebServer("127.0.0.1", 0) as server:
    print(server.port, flush=True)
    server.serve([web_server.RouteGroup({"/": {"GET": slow}})], drain_seconds=int(sys.argv[1]))
print("after", flush=True)
"""


@pytest.fixture
def program():
    """A server as a process of its own, for signals."""
    processes = []

    def start(drain_seconds):
        command = [sys.executable, "-c", PROGRAM, str(drain_seconds)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process, int(process.stdout.readline())

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def get(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return connection


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_without_error_once_requests_are_answered(program, number):
    process, port = program(10)
    with get(port) as connection, socket.create_connection(("127.0.0.1", port)):  # the second is idle
        time.sleep(0.2)
        process.send_signal(number)
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    output, errors = process.communicate(timeout=10)
    assert answer.endswith(b'"done"')
    assert b"connection: close" in answer
    assert (process.returncode, output, errors) == (0, "after\n", "")


def test_requests_that_take_longer_than_the_drain_time_are_cut_off(program):
    process, port = program(0)
    with get(port) as connection:
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        assert b"done" not in b"".join(iter(lambda: connection.recv(1000), b""))
    assert process.wait(10) == 0
    assert process.stderr.read() == ""


def test_the_server_imports_no_torch():
    code = (
        "import regard.server.web.web_server, sys; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_port_in_use_or_out_of_range_is_a_one_line_error():
    with WebServer("127.0.0.1", 0) as server, pytest.raises(RegardError) as caught:
        WebServer("127.0.0.1", server.port)
    assert f"cannot serve on 127.0.0.1:{server.port}: Address already in use; give" in str(caught.value)
    with pytest.raises(RegardError, match="the port does not exist"):
        WebServer("127.0.0.1", 70_000)
    with pytest.raises(RegardError, match=r"cannot serve on no\.such\.host\.invalid:0"):
        WebServer("no.such.host.invalid", 0)


def test_the_server_listens_from_its_construction_on():
    async def hello(_):
        return json_response("hello")

    with WebServer("127.0.0.1", 0) as server:
        early = get(server.port)
        thread = Thread(target=server.serve, args=([],), kwargs={"drain_seconds": 1})
        thread.start()
        with early:
            assert b" 404 " in early.recv(1000)
        server.stop()
        thread.join(10)
        assert not thread.is_alive()


def test_a_server_may_be_stopped_before_it_serves():
    with WebServer("127.0.0.1", 0) as server:
        server.stop()
        server.serve([], drain_seconds=1)


def test_an_ipv6_address_is_in_brackets():
    try:
        server = WebServer("::1", 0)
    except RegardError:
        pytest.skip("this machine has no IPv6")
    with server:
        assert server.url == f"http://[::1]:{server.port}/"


@pytest.mark.parametrize(
    ("names", "host", "is_accepted"),
    [
        ([], "translate.example", False),
        (["Translate.example"], "translate.example", True),
        (["translate.example"], "translate.example:443", True),
        (["translate.example"], "translate.example:x", False),
        (["translate.example"], "evil-translate.example", False),
        (["*"], "anything.example:1", True),
        (["*"], "", True),
    ],
)
def test_further_host_names_are_accepted(names, host, is_accepted):
    guard = HostGuard("127.0.0.1", 5000, names)
    if is_accepted:
        assert guard.check_host([host]) == host
    else:
        with pytest.raises(RegardError, match="is not a name of this server"):
            guard.check_host([host])


def test_a_lifespan_surrounds_the_requests():
    events = []

    @asynccontextmanager
    async def lifespan(_):
        events.append("start")
        yield
        events.append("end")

    async def hello(_):
        events.append("request")
        return json_response({})

    with run_server({"/": {"GET": hello}}, lifespan=lifespan) as client:
        assert isinstance(client, HttpClient)
        assert client("/").status == 200
    assert events == ["start", "request", "end"]

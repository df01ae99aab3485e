"""Hostile and slow clients on raw sockets."""

import asyncio
import json
import select
import socket
import statistics
import time
from contextlib import ExitStack, contextmanager
from threading import Event

import pytest
from starlette.responses import StreamingResponse

from regard.server.web.connection_limits import ConnectionLimits
from regard.server.web.request_body import read_body, read_json_object
from regard.server.web.responses import json_response
from server.http_client import read_all, run_server

QUICK = ConnectionLimits(
    header_seconds=0.5, body_seconds=0.5, idle_seconds=0.5, stalled_write_seconds=0.3, linger_seconds=0.3
)


class Routes:
    """Handlers, and what happened in them."""

    def __init__(self):
        self.started, self.cancelled = Event(), Event()

    async def echo(self, request):
        return json_response(await read_json_object(request))

    async def count(self, request):
        return json_response({"bytes": len(await read_body(request))})

    async def hello(self, request):
        return json_response({"path": request.url.path})

    async def wait(self, _):
        self.started.set()
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return json_response({})

    async def flood(self, _):
        async def chunks():
            try:
                while True:
                    yield b"x" * 65_536
            finally:
                self.cancelled.set()

        return StreamingResponse(chunks())

    def table(self):
        return {
            "/": {"GET": self.hello},
            "/echo": {"POST": self.echo},
            "/count": {"POST": self.count},
            "/wait": {"GET": self.wait, "POST": self.wait},
            "/flood": {"GET": self.flood},
        }


@contextmanager
def run_routes(**settings):
    routes = Routes()
    with run_server(routes.table(), **settings) as client:
        client.routes = routes
        yield client


@pytest.fixture(scope="module")
def client():
    with run_routes() as client:
        yield client


@pytest.fixture
def quick():
    with run_routes(limits=QUICK) as client:
        yield client


def request_bytes(client, line="GET / HTTP/1.1", body=b"", *headers):
    fields = [f"Host: 127.0.0.1:{client.port}", *headers]
    if body:
        fields += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([line, *fields, "", ""]).encode() + body


def head_bytes(client, line, *headers):
    return "\r\n".join([line, f"Host: 127.0.0.1:{client.port}", *headers]).encode() + b"\r\n\r\n"


def statuses(content):
    return [int(part[:3]) for part in content.split(b"HTTP/1.1 ")[1:]]


def error_of(content):
    return json.loads(content[content.index(b"{") :])["error"]


def is_closed(connection, seconds):
    """Return whether the server closes the connection in time."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def wait_for(event):
    assert event.wait(5)


# malformed


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET", 400),
        ("GARBAGE\x00\xff", 400),
        ("BREW / HTTP/1.1", 400),
        ("get / HTTP/1.1", 400),
        ("GET\t/ HTTP/1.1", 400),
        ("GET / HTTP/9.9", 400),
        ("GET / HTTP/2.0", 505),
        ("GET /", 505),
        ("PRI * HTTP/2.0", 400),
        ("GET http://evil.example/ HTTP/1.1", 400),
        ("OPTIONS * HTTP/1.1", 400),
        ("CONNECT evil.example:80 HTTP/1.1", 400),
        ("GET /a\x00b HTTP/1.1", 400),
        ("GET /\xff HTTP/1.1", 400),
        ("GET /#a HTTP/1.1", 400),
        ("GET /" + "x" * 40_000 + " HTTP/1.1", 431),
        ("GET /" + "x" * 900_000 + " HTTP/1.1", 431),
    ],
)
def test_a_malformed_request_line_gets_one_json_line(client, line, status):
    content = client.raw(line.encode("latin-1") + f"\r\nHost: 127.0.0.1:{client.port}\r\n\r\n".encode())
    assert statuses(content) == [status]
    error = error_of(content)
    assert (error["code"], "\n" in error["message"]) == ("bad_request", False)
    assert b"Traceback" not in content


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("A: b\r\n c", 400),
        ("A : b", 400),
        (": b", 400),
        ("A: b\x00", 400),
        ("A: b\rc", 400),
        ("A: " + "b" * 40_000, 431),
        ("\r\n".join(f"A{n}: b" for n in range(200)), 431),
        ("\r\n".join(f"A{n}: {'b' * 8000}" for n in range(100)), 431),
    ],
)
def test_a_malformed_or_large_header_is_rejected(client, header, status):
    content = client.raw(head_bytes(client, "GET / HTTP/1.1", header))
    assert statuses(content) == [status]
    assert error_of(content)["code"] == "bad_request"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 2", "Content-Length: 2"],
        ["Content-Length: 2", "Content-Length: 3"],
        ["Content-Length: 2, 2"],
        ["Content-Length: 2", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 2"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked, gzip"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding: xchunked"],
        ["Content-Length: -1"],
        ["Content-Length: +2"],
        ["Content-Length: 0x2"],
        ["Content-Length: x"],
    ],
)
def test_a_body_whose_length_is_ambiguous_is_rejected(client, headers):
    head = head_bytes(client, "POST /echo HTTP/1.1", "Content-Type: application/json", *headers)
    smuggled = head_bytes(client, "GET /smuggled HTTP/1.1")
    content = client.raw(head + b"{}" + smuggled)
    assert statuses(content) == [400]
    assert b"smuggled" not in content


def test_lengths_of_thousands_of_digits(client, capfd):
    def sent(path, length):
        head = head_bytes(
            client, f"POST {path} HTTP/1.1", "Content-Type: application/json", "Connection: close"
        )
        return statuses(client.raw(head[:-2] + b"Content-Length: " + length + b"\r\n\r\n{}"))

    assert sent("/echo", b"9" * 5000) == sent("/no", b"9" * 5000) == [413]
    assert sent("/echo", b"0" * 5000 + b"2") == [200]
    assert capfd.readouterr().err == ""


def test_a_post_without_a_length_is_rejected(client):
    head = head_bytes(client, "POST /echo HTTP/1.1", "Content-Type: application/json", "Connection: close")
    assert statuses(client.raw(head)) == [411]


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"2\n{}\n0\n\n",
        b"f" * 17 + b"\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}x\r\n0\r\n\r\n",
    ],
)
def test_bad_chunks_are_rejected(client, body):
    head = head_bytes(client, "POST /count HTTP/1.1", "Transfer-Encoding: chunked")
    content = client.raw(head + body)
    assert statuses(content) == [400]
    assert error_of(content)["code"] == "bad_request"


@pytest.mark.parametrize("flood", [b"2;" + b"x" * 100_000, b"0\r\nA: " + b"x" * 100_000])
def test_endless_chunk_extensions_and_trailers_are_rejected(client, flood):
    head = head_bytes(client, "POST /count HTTP/1.1", "Transfer-Encoding: chunked")
    with client.connect() as connection:
        connection.sendall(head)
        time.sleep(0.1)
        connection.sendall(flood)
        assert statuses(read_all(connection)) == [431]


def test_chunks_are_joined_and_trailers_are_not_headers(client):
    head = head_bytes(client, "POST /echo HTTP/1.1", "Content-Type: application/json", "Connection: close")
    body = b'5;x=y\r\n{"a":\r\n2\r\n1}\r\n0\r\nHost: evil.example\r\n\r\n'
    content = client.raw(head[:-2] + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    assert statuses(content) == [200]
    assert content.endswith(b'{"a":1}')


def test_an_unread_body_is_not_parsed_as_a_request(client):
    smuggled = head_bytes(client, "GET / HTTP/1.1")
    head = head_bytes(
        client, "POST /nothing HTTP/1.1", f"Content-Length: {len(smuggled)}", "Connection: close"
    )
    assert statuses(client.raw(head + smuggled)) == [404]


def test_a_body_that_is_not_sent_does_not_delay_the_error(client):
    with client.connect() as connection:
        connection.sendall(head_bytes(client, "POST /nothing HTTP/1.1", "Content-Length: 100"))
        content = read_all(connection)
    assert statuses(content) == [404]
    assert b"connection: close" in content


def test_expect_continue_is_answered_when_the_body_is_read(client):
    head = head_bytes(
        client, "POST /count HTTP/1.1", "Content-Length: 2", "Expect: 100-continue", "Connection: close"
    )
    with client.connect() as connection:
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert statuses(read_all(connection)) == [200]
    refused = head.replace(b"/count", b"/none")
    assert statuses(client.raw(refused)) == [404]


# pipelining and reuse


def test_pipelined_requests_are_answered_in_order(client):
    requests = [request_bytes(client, "POST /echo HTTP/1.1", b'{"n":%d}' % n) for n in range(6)]
    content = client.raw(b"".join(requests) + head_bytes(client, "GET / HTTP/1.1", "Connection: close"))
    assert statuses(content) == [200] * 7
    assert [content.index(b'{"n":%d}' % n) for n in range(6)] == sorted(
        content.index(b'{"n":%d}' % n) for n in range(6)
    )


def test_answers_before_a_malformed_request_are_sent(client):
    content = client.raw(head_bytes(client, "GET / HTTP/1.1") * 3 + b"GARBAGE\r\n\r\n")
    assert statuses(content) == [200, 200, 200, 400]


def test_what_follows_the_last_request_is_ignored(client):
    close = head_bytes(client, "GET / HTTP/1.1", "Connection: close")
    for following in (close, b"GARBAGE\r\n\r\n"):
        assert statuses(client.raw(close + following)) == [200]
    upgrade = head_bytes(client, "GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: h2c")
    assert statuses(client.raw(upgrade + close)) == [200]


def test_thousands_of_pipelined_requests_are_not_kept(client):
    content = client.raw(head_bytes(client, "GET / HTTP/1.1") * 2000)
    assert 1 < len(statuses(content)) < 100
    assert error_of(content[content.rindex(b"HTTP/1.1") :])["message"] == "too many requests before an answer"


@pytest.mark.parametrize(("header", "is_kept"), [("Connection: keep-alive", True), ("A: b", False)])
def test_http_1_0_is_kept_open_on_request_only(client, header, is_kept):
    with client.connect() as connection:
        connection.sendall(head_bytes(client, "GET / HTTP/1.0", header))
        content = connection.recv(10_000)
        assert content.startswith(b"HTTP/1.1 200 OK\r\n")
        assert (b"connection: keep-alive" in content) == is_kept
        assert is_closed(connection, 0.3) == (not is_kept)


# slow clients


def drip(connection, content, seconds, pause=0.05):
    """Send one byte after the other; return the answer once there is one."""
    end = time.monotonic() + seconds
    for start in range(len(content)):
        assert time.monotonic() < end
        try:
            connection.sendall(content[start : start + 1])
        except ConnectionError:
            break
        if select.select([connection], [], [], pause)[0]:
            break
    try:
        return read_all(connection)
    except ConnectionError:
        return b""


def test_a_dripped_header_is_ended(quick):
    with quick.connect() as connection:
        content = drip(connection, head_bytes(quick, "GET / HTTP/1.1", *["A: b"] * 50), 3)
    assert statuses(content) == [408]
    assert error_of(content)["code"] == "slow"


def test_a_dripped_body_is_ended(quick):
    with quick.connect() as connection:
        connection.sendall(head_bytes(quick, "POST /count HTTP/1.1", "Content-Length: 1000"))
        content = drip(connection, b"x" * 1000, 3)
    assert statuses(content) == [408]


def test_a_large_body_at_a_good_rate_may_take_longer_than_the_deadline(quick):
    with quick.connect() as connection:
        connection.sendall(
            head_bytes(quick, "POST /count HTTP/1.1", "Content-Length: 12000", "Connection: close")
        )
        for _ in range(12):
            connection.sendall(b"x" * 1000)
            time.sleep(0.08)
        assert read_all(connection).endswith(b'{"bytes":12000}')


def test_a_silent_connection_is_closed(quick):
    with quick.connect() as connection:
        assert is_closed(connection, 3)
    with quick.connect() as connection:
        connection.sendall(b"\r\n")
        assert is_closed(connection, 3)
    with quick.connect() as connection:
        connection.sendall(head_bytes(quick, "GET / HTTP/1.1"))
        assert statuses(read_all(connection)) == [200]


def test_a_reader_that_stalls_is_disconnected(quick):
    with quick.connect() as connection:
        connection.sendall(head_bytes(quick, "GET /flood HTTP/1.1"))
        connection.recv(1000)
        wait_for(quick.routes.cancelled)


def test_a_reader_of_single_bytes_is_disconnected(quick):
    with quick.connect() as connection:
        connection.sendall(head_bytes(quick, "GET /flood HTTP/1.1"))
        end = time.monotonic() + 5
        while not quick.routes.cancelled.is_set():
            assert connection.recv(1)
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_reader_that_is_only_slow_gets_everything():
    async def large(_):
        return json_response("x" * 8_000_000)

    limits = ConnectionLimits(stalled_write_seconds=0.2)
    with run_server({"/": {"GET": large}}, limits=limits) as client, client.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(head_bytes(client, "GET / HTTP/1.1", "Connection: close"))
        size = 0
        while part := connection.recv(200_000):
            size += len(part)
            time.sleep(0.01)
    assert size > 8_000_000


def test_the_handler_of_a_client_that_left_is_cancelled(client):
    for request in (
        head_bytes(client, "GET /wait HTTP/1.1"),
        request_bytes(client, "POST /wait HTTP/1.1", b"{}"),
    ):
        client.routes.started.clear()
        client.routes.cancelled.clear()
        with client.connect() as connection:
            connection.sendall(request)
            wait_for(client.routes.started)
        wait_for(client.routes.cancelled)


def test_a_client_that_leaves_during_a_stream_causes_no_error(capfd):
    with run_routes() as client:
        with client.connect() as connection:
            connection.sendall(head_bytes(client, "GET /flood HTTP/1.1"))
            connection.recv(1000)
        wait_for(client.routes.cancelled)
        assert client("/").status == 200
    assert capfd.readouterr().err == ""


def hold_slow_connections(stack, client, count):
    """Open connections that send half a header, half a body, or that read nothing."""
    starts = [
        head_bytes(client, "GET / HTTP/1.1")[:-2],
        head_bytes(client, "POST /count HTTP/1.1", "Content-Length: 100") + b"x",
        head_bytes(client, "GET /flood HTTP/1.1"),
    ]
    connections = []
    for number in range(count):
        connection = stack.enter_context(client.connect())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(starts[number % 3])
        connections.append(connection)
    return connections


def longest_answer(client, count):
    seconds = []
    for _ in range(count):
        start = time.monotonic()
        assert client("/").status == 200
        seconds.append(time.monotonic() - start)
    return max(seconds)


def open_connections(client):
    return len(client.server._server.server_state.connections)


def wait_until_none_is_open(client, seconds):
    end = time.monotonic() + seconds
    while open_connections(client):
        assert time.monotonic() < end, open_connections(client)
        time.sleep(0.02)


def test_sixty_slow_connections_are_closed_and_delay_nobody():
    limits = ConnectionLimits(
        header_seconds=0.6, body_seconds=0.6, idle_seconds=1.0, stalled_write_seconds=0.4
    )
    with run_routes(limits=limits) as client, ExitStack() as stack:
        hold_slow_connections(stack, client, 60)
        assert longest_answer(client, 10) < 0.5  # all are accepted by now
        wait_until_none_is_open(client, 5)


@pytest.mark.slow
def test_five_hundred_slow_connections_are_closed_within_15_seconds():
    with run_routes() as client, ExitStack() as stack:
        start = time.monotonic()
        hold_slow_connections(stack, client, 500)
        seconds = []
        while time.monotonic() < start + 8:
            seconds.append(longest_answer(client, 1))
            time.sleep(0.05)
        assert statistics.median(seconds) < 0.1
        wait_until_none_is_open(client, start + 15 - time.monotonic())


def test_the_slowest_connections_make_room_for_new_ones():
    with run_routes(limits=ConnectionLimits(max_connections=10)) as client, ExitStack() as stack:
        waiting = stack.enter_context(client.connect())
        waiting.sendall(head_bytes(client, "GET /wait HTTP/1.1"))
        wait_for(client.routes.started)
        slow = [stack.enter_context(client.connect()) for _ in range(30)]
        for connection in slow:
            connection.sendall(b"GET / HT")
        assert [client("/").status for _ in range(5)] == [200] * 5
        assert open_connections(client) <= 10
        assert is_closed(slow[0], 1)
        assert not is_closed(waiting, 0.1)


def test_a_full_server_refuses_in_words():
    with run_routes(limits=ConnectionLimits(max_connections=2)) as client, ExitStack() as stack:
        for _ in range(2):
            connection = stack.enter_context(client.connect())
            client.routes.started.clear()
            connection.sendall(head_bytes(client, "GET /wait HTTP/1.1"))
            wait_for(client.routes.started)
        response = client("/")
        assert (response.status, response.code) == (503, "busy")

"""Damaged requests straight into the protocol class: no exception, no answer from 500 on but 505."""

import asyncio
import re
from random import Random

import pytest
import uvicorn
from uvicorn.server import ServerState

from regard.server.web.application import RouteGroup, build_application
from regard.server.web.connection_limits import ConnectionLimits
from regard.server.web.http_connection import HttpConnection
from regard.server.web.request_body import read_form, read_json_body, read_multipart
from regard.server.web.responses import json_response
from regard.server.web.security import HostGuard

HOST = b"Host: 127.0.0.1:80\r\n"
MULTIPART = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nabc\r\n--x--\r\n'
REQUESTS = [
    b"GET /?a=%20b&c=%ff HTTP/1.1\r\n" + HOST + b"\r\n",
    b"DELETE /json HTTP/1.1\r\n" + HOST + b"\r\n",
    b"HEAD / HTTP/1.1\r\n" + HOST + b"Accept-Encoding: gzip\r\n\r\n",
    b"POST /json HTTP/1.1\r\n"
    + HOST
    + b'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a": 12}',
    b"POST /json HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    b'Transfer-Encoding: chunked\r\n\r\n5;x\r\n{"a":\r\n4\r\n 12}\r\n0\r\nA: b\r\n\r\n',
    b"POST /form HTTP/1.1\r\n" + HOST + b"Content-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 12\r\n\r\na=%20b&c=%C3",
    b"POST /file HTTP/1.1\r\n" + HOST + b"Content-Type: multipart/form-data; boundary=x\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(MULTIPART), MULTIPART),
]
FRAGMENTS = [
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b":",
        b"\xff",
        b"%00",
        b"../",
        b"Content-Length: 5\r\n",
        b"\r\n\r\n",
    ),
    *(b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"99999999"),
    *(
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
        b"\\ud800",
        b"NaN",
        b'"a":1,"a":2',
        b"[" * 2000,
        b"HTTP/1.0",
    ),
    *(b"Origin: null\r\n", b"Host: x\r\n", b"--x--", b"0\r\n\r\n", b"-1"),
]


class MemoryTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self, protocol):
        super().__init__()
        self.protocol, self.written, self.is_closed = protocol, bytearray(), False

    def write(self, data):
        assert not self.is_closed
        self.written += data

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return self.is_closed

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    abort = close

    def can_write_eof(self):
        return True

    def write_eof(self):
        pass

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


async def parse_json(request):
    return json_response(await read_json_body(request))


async def parse_form(request):
    return json_response(await read_form(request))


async def parse_file(request):
    async with read_multipart(request) as form:
        return json_response([str(name) for name in form])


async def hello(_):
    return json_response("hello")


def damage(random, content):
    """Return requests with some bytes changed, removed, repeated or inserted."""
    content = bytearray(content)
    for _ in range(random.randrange(4)):
        place = random.randrange(len(content) + 1)
        match random.randrange(4):
            case 0:
                content[place:place] = random.choice(FRAGMENTS)
            case 1:
                del content[place : place + random.randrange(1, 12)]
            case 2:
                content[place:place] = content[place : place + random.randrange(40)]
            case 3:
                content[place : place + 1] = random.randbytes(1)
    return bytes(content)


async def answer(config, content, cuts):
    """Return everything that the protocol writes when the parts of `content` arrive."""
    protocol = HttpConnection(config, ServerState(), {}, limits=ConnectionLimits(linger_seconds=0.01))
    transport = MemoryTransport(protocol)
    protocol.connection_made(transport)
    for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        if not transport.is_closed:
            protocol.data_received(content[start:end])
        for _ in range(3):
            await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    transport.close()
    for _ in range(4):
        await asyncio.sleep(0)
    return bytes(transport.written)


def build_config():
    routes = {"/": {"GET": hello}, "/json": {"POST": parse_json}, "/form": {"POST": parse_form}}
    routes["/file"] = {"POST": parse_file}
    application = build_application([RouteGroup(routes)], HostGuard("127.0.0.1", 80))
    config = uvicorn.Config(application, log_config=None, lifespan="off", ws="none", proxy_headers=False)
    config.load()
    return config


async def run_fuzz(seed, count):
    random, config, seen = Random(seed), build_config(), set()
    for _ in range(count):
        content = b"".join(damage(random, random.choice(REQUESTS)) for _ in range(random.randrange(1, 4)))
        cuts = sorted(random.randrange(len(content) + 1) for _ in range(random.randrange(4)))
        written = await answer(config, content, cuts)
        statuses = {int(status) for status in re.findall(rb"^HTTP/1\.1 (\d+) ", written, re.MULTILINE)}
        assert not {each for each in statuses if each >= 500} - {505}, content
        assert b"Traceback" not in written
        seen |= statuses
    return seen


@pytest.mark.parametrize("count", [1500, pytest.param(40_000, marks=pytest.mark.slow)])
def test_damaged_requests_are_client_errors(count, capfd):
    seen = asyncio.run(run_fuzz(7, count))
    assert capfd.readouterr().err == ""
    assert {200, 400, 403, 404, 405, 415} <= seen


def test_whole_requests_are_answered_wherever_they_are_cut():
    async def statuses():
        config, found = build_config(), []
        for content in REQUESTS:
            for cut in range(len(content)):
                found.append(re.findall(rb"HTTP/1\.1 (\d+) ", await answer(config, content, [cut])))
        return found

    found = asyncio.run(statuses())
    assert {len(each) for each in found} == {1}
    assert {each[0] for each in found} == {b"200", b"400", b"405"}  # the form is not UTF-8

"""HTTP client for tests of the servers, for well-formed and raw requests."""

import gzip
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

from regard.server.web.application import RouteGroup
from regard.server.web.web_server import WebServer


@dataclass
class HttpResponse:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


@contextmanager
def run_server(*groups, host="127.0.0.1", tls=None, server_settings=None, **settings):
    """Run a web server in a thread and yield a client for it; a dictionary of routes is a group."""
    groups = [group if isinstance(group, RouteGroup) else RouteGroup(group) for group in groups]
    with WebServer(host, 0, tls=tls, **(server_settings or {})) as server:
        settings = {"drain_seconds": 1, **settings}
        thread = Thread(target=server.serve, args=(groups,), kwargs=settings)
        thread.start()
        try:
            yield HttpClient(server)
        finally:
            server.stop()
            thread.join(20)
            assert not thread.is_alive()


class HttpClient:
    """Sends requests to a server on this machine."""

    def __init__(self, server):
        self.server = server
        self.port = server.port

    def __call__(self, path, body=None, method=None, **headers):
        """Send a request; a body that is not bytes is sent as JSON, an iterator in chunks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        request_headers = {
            name.replace("_", "-"): value for name, value in headers.items() if value is not None
        }
        if body is not None and "Content_Type" not in headers:
            request_headers["Content-Type"] = "application/json"
        if body is not None and not isinstance(body, bytes | Iterator):
            body = json.dumps(body).encode()
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, request_headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return HttpResponse(response.status, dict(response.headers), content)

    def raw(self, content):
        """Send raw bytes and return all bytes until the server closes the connection."""
        with self.connect() as connection:
            connection.sendall(content)
            return read_all(connection)

    def connect(self, timeout=10):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)


def read_all(connection):
    """Return all bytes until the other side closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))

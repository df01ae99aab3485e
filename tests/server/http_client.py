"""HTTP client for tests of the explorer's server, for well-formed and raw requests."""

import gzip
import http.client
import json
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

from regard.server.http_server import ExplorerServer


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
def run_server(routes, host="127.0.0.1"):
    """Run a server in a thread and yield a client for it."""
    with ExplorerServer(host, 0, routes) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield HttpClient(server)
        finally:
            server.shutdown()
            thread.join()


class HttpClient:
    """Sends requests to a server on this machine."""

    def __init__(self, server):
        self.server = server
        self.port = server.server_port

    def __call__(self, path, body=None, method=None, **headers):
        """Send a request; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        request_headers = {
            name.replace("_", "-"): value for name, value in headers.items() if value is not None
        }
        if body is not None and "Content_Type" not in headers:
            request_headers["Content-Type"] = "application/json"
        if body is not None and not isinstance(body, bytes):
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
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

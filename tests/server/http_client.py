"""Requests as a browser, or somebody less kind, would send them."""

import gzip
import http.client
import json
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

from regard.server.http_server import ExplorerServer


@dataclass
class Answer:
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
def serving(routes, host="127.0.0.1"):
    """A server in a thread, and how to ask it."""
    with ExplorerServer(host, 0, routes) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Asking(server)
        finally:
            server.shutdown()
            thread.join()


class Asking:
    """Asks a server of this machine."""

    def __init__(self, server):
        self.server = server
        self.port = server.server_port

    def __call__(self, path, body=None, method=None, **headers):
        """A body that is no text or bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        if body is not None and "Content_Type" not in headers:
            sent["Content-Type"] = "application/json"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, sent)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return Answer(answer.status, dict(answer.headers), content)

    def raw(self, sent):
        """Bytes in, all bytes out until the other end hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

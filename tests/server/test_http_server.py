import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from regard.errors import DataError, RegardError
from regard.server.explorer.request_queue import RequestQueue
from regard.server.http_messages import NDJSON_TYPE, ApiResponse, RequestError, json_response
from regard.server.http_server import MAX_BODY_BYTES, ExplorerServer
from regard.server.static_files import static_file_routes
from server.http_client import HttpClient, run_server

PAGE = """<!doctype html><script type="importmap">{"imports": {"regard/": "/static/js/"}}</script>"""
HASH = "sha256-CQjNphUGBwco+M094d5jC4zqDJ3k+5eGFUxipEWDgGk="


def raise_unexpected(_):
    raise ValueError("a secret of /home/somebody")


def raise_too_long(_):
    raise RequestError("too_long", "300 tokens are too many", limit=256)


def raise_data_error(_):
    raise DataError("nothing to translate; type a sentence")


def stream_and_fail(_):
    def lines():
        yield b'{"head":1}\n'
        raise ValueError("a secret")

    return ApiResponse(lines(), NDJSON_TYPE)


@pytest.fixture(scope="module")
def static_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "static"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "js" / "main.js").write_text("export const long = 1; // " + "x" * 5000)
    (folder / "notes.txt").write_text("not for the web")
    (folder.parent / "secret.js").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def client(static_folder):
    routes = {
        **static_file_routes(static_folder),
        "/api/echo": {"POST": lambda request: json_response({"body": request.body, "query": request.query})},
        "/api/get": {"GET": lambda request: json_response({"query": request.query})},
        "/api/long": {"GET": lambda _: json_response({"text": "x" * 50_000})},
        "/api/fails": {"POST": raise_unexpected},
        "/api/too-long": {"POST": raise_too_long},
        "/api/fault": {"POST": raise_data_error},
        "/api/lines": {"POST": lambda _: ApiResponse((b'{"n":%d}\n' % n for n in range(3)), NDJSON_TYPE)},
        "/api/broken": {"POST": stream_and_fail},
    }
    with run_server(routes) as client:
        yield client


def test_the_page_has_a_policy_with_the_hash_of_its_import_map(client):
    response = client("/")
    assert response.body.decode() == PAGE
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Security-Policy"] == (
        f"default-src 'none'; script-src 'self' '{HASH}'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert not [name for name in response.headers if name.startswith("Access-Control")]


def test_a_cached_file_is_sent_again_only_if_it_changed(client, static_folder):
    first = client("/static/js/main.js")
    assert first.headers["Content-Type"] == "text/javascript; charset=utf-8"
    again = client("/static/js/main.js", If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    (static_folder / "js" / "main.js").write_text("changed")
    assert client("/static/js/main.js", If_None_Match=first.headers["ETag"]).body == b"changed"


def test_a_head_request_has_the_headers_and_no_body(client):
    whole, head = client("/"), client("/", method="HEAD")
    assert head.body == b""
    assert head.headers["Content-Length"] == whole.headers["Content-Length"] == str(len(PAGE))


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../secret.js", "/static/..%2fsecret.js", "/static/js/../../secret.js", "//etc/passwd"),
        *("/static/", "/static", "/static/notes.txt", "/static/index.html", "/secret.js", "/nothing"),
        *("/static/js\\..\\..\\secret.js", "/static/js/main.js/", "/static/%2e%2e/secret.js", "/api/../"),
        "/static/js/main.js%00",
    ],
)
def test_unknown_paths_and_path_traversal_are_not_found(client, path):
    response = client(path)
    assert (response.status, response.code) == (404, "not_found")
    assert b"secret" not in response.body


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_host_names_of_this_machine_are_accepted(client, host):
    assert client("/", Host=f"{host}:{client.port}").status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "", "192.168.1.7:{port}"]
)
@pytest.mark.parametrize("path", ["/", "/api/long"])
def test_another_host_name_is_rejected(client, host, path):
    response = client(path, Host=host.format(port=client.port))
    assert (response.status, response.code) == (403, "host")


def test_a_request_without_a_host_or_with_two_is_rejected(client):
    good = f"Host: 127.0.0.1:{client.port}\r\n".encode()
    assert b" 403 " in client.raw(b"GET / HTTP/1.1\r\n\r\n")
    assert b" 403 " in client.raw(b"GET / HTTP/1.1\r\n" + good + b"Host: evil.example\r\n\r\n")
    assert b" 200 " in client.raw(b"GET / HTTP/1.1\r\n" + good + b"Connection: close\r\n\r\n")


def test_a_server_on_all_addresses_accepts_ip_addresses_as_host_only():
    with run_server({"/": {"GET": lambda _: json_response({})}}, host="0.0.0.0") as client:
        assert client.server.url == f"http://127.0.0.1:{client.port}/"
        assert client("/", Host=f"192.168.1.7:{client.port}").status == 200
        assert client("/", Host=f"[fe80::1]:{client.port}").status == 200
        assert client("/", Host=f"evil.example:{client.port}").status == 403
        assert client("/", Host="192.168.1.7:1").status == 403


def test_requests_from_other_origins_are_rejected(client):
    assert client("/api/echo", {}, Origin="http://evil.example").code == "origin"
    assert client("/api/echo", {}, Origin="null").code == "origin"
    assert client("/api/echo", {}, Origin=f"http://127.0.0.1:{client.port}").status == 200
    preflight = client("/api/echo", method="OPTIONS", Access_Control_Request_Method="POST")
    assert preflight.status == 405
    assert not [name for name in preflight.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        ("/", "POST", "GET, HEAD"),
        ("/api/echo", "GET", "POST"),
        ("/api/echo", "PUT", "POST"),
        ("/api/echo", "DELETE", "POST"),
    ],
)
def test_a_wrong_method_gets_the_allowed_ones(client, path, method, allowed):
    response = client(path, b"{}" if method != "GET" else None, method=method)
    assert (response.status, response.code, response.headers["Allow"]) == (405, "method", allowed)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'"x"',
        b"\xff{}",
        b'{"a": NaN}',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_a_body_that_is_not_a_json_object_is_rejected(client, body):
    response = client("/api/echo", body)
    assert (response.status, response.code) == (400, "bad_json")


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_form_content_types_are_rejected(client, kind):
    response = client("/api/echo", b"{}", Content_Type=kind)
    assert (response.status, response.code) == (415, "content_type")
    assert client("/api/echo", b"{}", Content_Type="application/json; charset=utf-8").status == 200


def test_a_large_body_is_rejected_with_the_limit(client):
    response = client("/api/echo", b'{"a":"' + b"x" * MAX_BODY_BYTES + b'"}')
    assert (response.status, response.code, response.json["error"]["limit"]) == (
        413,
        "too_large",
        MAX_BODY_BYTES,
    )
    assert client("/api/echo", b'{"a":"' + b"x" * (MAX_BODY_BYTES - 8) + b'"}').status == 200


def test_a_length_of_thousands_of_digits_is_too_large(client, capfd):
    head = f"POST /api/echo HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Type: application/json\r\n"
    assert b" 413 " in client.raw(head.encode() + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}")
    assert b" 200 " in client.raw(head.encode() + b"Content-Length: " + b"0" * 5000 + b"2\r\n\r\n{}")
    assert b" 404 " in client.raw(
        head.replace("echo", "no").encode() + b"Content-Length: %s\r\n\r\n" % (b"9" * 5000)
    )
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "length",
    [
        b"",
        b"Content-Length: -1\r\n",
        b"Content-Length: x\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_a_body_of_unknown_length_is_rejected(client, length):
    head = f"POST /api/echo HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Type: application/json\r\n"
    assert b" 411 " in client.raw(head.encode() + length + b"\r\n{}")


def test_an_unread_body_is_not_parsed_as_a_request(client):
    smuggled = f"GET /api/long HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n".encode()
    head = (
        f"POST /nothing HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: {len(smuggled)}\r\n\r\n"
    )
    assert client.raw(head.encode() + smuggled).count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "line",
    [
        b"GET",
        b"GARBAGE\x00\xff",
        b"BREW / HTTP/1.1",
        b"GET / HTTP/9.9",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1",
    ],
)
def test_a_malformed_request_gets_an_error_without_internals(client, line):
    content = client.raw(line + b"\r\n\r\n")
    assert b"Traceback" not in content
    assert b"Python" not in content
    if content:
        assert json.loads(content[content.index(b"{") :])["error"]["message"]


def test_an_unexpected_error_is_printed_in_the_terminal_only(client, capfd):
    response = client("/api/fails", {})
    assert (response.status, response.code) == (500, "internal")
    assert b"secret" not in response.body
    assert "a secret of /home/somebody" in capfd.readouterr().err


def test_user_errors_are_returned_in_one_line(client):
    assert client("/api/too-long", {}).json == {
        "error": {"code": "too_long", "message": "300 tokens are too many", "limit": 256}
    }
    response = client("/api/fault", {})
    assert response.status == 422
    assert response.json["error"] == {"code": "refused", "message": "nothing to translate; type a sentence"}


def test_long_responses_are_compressed_if_the_client_accepts_gzip(client):
    plain, packed = client("/api/long"), client("/api/long", Accept_Encoding="br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 20
    assert packed.json == plain.json
    assert "Content-Encoding" not in client("/api/long", Accept_Encoding="gzip;q=0, br").headers
    assert "Content-Encoding" not in client("/api/echo", {}, Accept_Encoding="gzip").headers


def test_query_parameters_are_parsed(client):
    assert client("/api/get?since=3&name=a%20b").json == {"query": {"since": "3", "name": "a b"}}
    assert client("/api/get?" + "&".join(f"a{n}=1" for n in range(50))).code == "bad_value"


def test_a_connection_is_reused(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=10)
    for number in range(3):
        body = json.dumps({"n": number})
        connection.request("POST", "/api/echo", body, {"Content-Type": "application/json"})
        assert json.loads(connection.getresponse().read())["body"] == {"n": number}
    connection.close()


def test_lines_are_streamed(client):
    response = client("/api/lines", {})
    assert response.headers["Transfer-Encoding"] == "chunked"
    assert response.headers["Content-Type"] == NDJSON_TYPE
    assert [json.loads(line) for line in response.body.splitlines()] == [{"n": 0}, {"n": 1}, {"n": 2}]
    old = client.raw(
        f"POST /api/lines HTTP/1.0\r\nHost: 127.0.0.1:{client.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
    )
    assert old.endswith(b'\r\n\r\n{"n":0}\n{"n":1}\n{"n":2}\n')


def test_an_error_while_streaming_is_the_last_line(client, capfd):
    first, last = client("/api/broken", {}).body.splitlines()
    assert json.loads(first) == {"head": 1}
    assert json.loads(last)["error"]["code"] == "internal"
    assert b"secret" not in last
    assert "a secret" in capfd.readouterr().err


def test_a_port_in_use_is_a_one_line_error(client):
    with pytest.raises(
        RegardError, match=f"cannot serve on 127.0.0.1:{client.port}: .*; give another --port"
    ):
        ExplorerServer("127.0.0.1", client.port, {})
    with pytest.raises(RegardError, match="the port does not exist"):
        ExplorerServer("127.0.0.1", 70_000, {})


class SlowRoute:
    """A route that computes one request at a time, after `release` is set."""

    def __init__(self):
        self.queue, self.release, self.active, self.served = RequestQueue(), Event(), 0, []
        self.max_active = 0

    def __call__(self, request):
        with self.queue.turn(request):
            self.active += 1
            self.max_active = max(self.max_active, self.active)
            assert self.release.wait(10)
            self.served.append(request.body["n"])
            self.active -= 1
        return json_response({"n": request.body["n"]})

    def wait_until_queued(self, waiting):
        end = time.monotonic() + 10
        while len(self.queue._queue) != waiting:
            assert time.monotonic() < end
            time.sleep(0.002)


@pytest.fixture
def slow():
    route = SlowRoute()
    with run_server({"/api/slow": {"POST": route}}) as client, ThreadPoolExecutor(20) as pool:
        route.submit = lambda n, **headers: pool.submit(client, "/api/slow", {"n": n}, **headers)
        route.client = client
        yield route
        route.release.set()


def test_requests_are_computed_one_at_a_time_in_order_of_arrival(slow):
    responses = []
    for number in range(12):
        responses.append(slow.submit(number))
        slow.wait_until_queued(waiting=number + 1)
    slow.release.set()
    assert [response.result().json["n"] for response in responses] == list(range(12))
    assert slow.served == list(range(12))
    assert slow.max_active == 1


def test_a_queued_request_of_a_disconnected_client_is_dropped(slow):
    first = slow.submit(0)
    slow.wait_until_queued(waiting=1)
    body = b'{"n": 1}'
    head = (
        f"POST /api/slow HTTP/1.1\r\nHost: 127.0.0.1:{slow.client.port}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", slow.client.port)) as connection:
        connection.sendall(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        slow.wait_until_queued(waiting=2)
    slow.wait_until_queued(waiting=1)
    slow.release.set()
    assert first.result().status == 200
    assert slow.served == [0]


def test_a_client_that_disconnects_while_streaming_causes_no_error(capfd, monkeypatch):
    started, disconnected, closed = Event(), Event(), Event()

    def chunks():
        started.set()
        assert disconnected.wait(10)
        for _ in range(200):
            yield b"x" * 65536

    with run_server({"/api/lines": {"POST": lambda _: ApiResponse(chunks(), NDJSON_TYPE)}}) as client:
        close = client.server.shutdown_request  # runs last, after any error report
        monkeypatch.setattr(client.server, "shutdown_request", lambda request: (close(request), closed.set()))
        thread = Thread(target=disconnect_while_streaming, args=(client, started, disconnected))
        thread.start()
        thread.join()
        assert closed.wait(10)
        assert client("/nowhere").status == 404
    assert capfd.readouterr().err == ""


def disconnect_while_streaming(client: HttpClient, started: Event, disconnected: Event) -> None:
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(
            f"POST /api/lines HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
        )
        assert started.wait(10)
    disconnected.set()

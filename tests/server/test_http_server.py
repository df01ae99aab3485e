import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from regard.errors import DataError, RegardError
from regard.server.http_messages import NDJSON_TYPE, ApiResponse, RequestError, json_response
from regard.server.http_server import MAX_BODY_BYTES, ExplorerServer
from regard.server.request_queue import RequestQueue
from regard.server.static_files import static_file_routes
from server.http_client import Asking, serving

PAGE = """<!doctype html><script type="importmap">{"imports": {"regard/": "/static/js/"}}</script>"""
HASH = "sha256-CQjNphUGBwco+M094d5jC4zqDJ3k+5eGFUxipEWDgGk="


def fails(_):
    raise ValueError("a secret of /home/somebody")


def too_long(_):
    raise RequestError("too_long", "300 tokens are too many", limit=256)


def model_fault(_):
    raise DataError("nothing to translate; type a sentence")


def broken(_):
    def lines():
        yield b'{"head":1}\n'
        raise ValueError("a secret")

    return ApiResponse(lines(), NDJSON_TYPE)


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "static"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "js" / "main.js").write_text("export const long = 1; // " + "x" * 5000)
    (folder / "notes.txt").write_text("not for the web")
    (folder.parent / "secret.js").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def ask(static):
    routes = {
        **static_file_routes(static),
        "/api/echo": {"POST": lambda request: json_response({"body": request.body, "query": request.query})},
        "/api/get": {"GET": lambda request: json_response({"query": request.query})},
        "/api/long": {"GET": lambda _: json_response({"text": "x" * 50_000})},
        "/api/fails": {"POST": fails},
        "/api/too-long": {"POST": too_long},
        "/api/fault": {"POST": model_fault},
        "/api/lines": {"POST": lambda _: ApiResponse((b'{"n":%d}\n' % n for n in range(3)), NDJSON_TYPE)},
        "/api/broken": {"POST": broken},
    }
    with serving(routes) as ask:
        yield ask


def test_the_page_is_served_with_a_policy_that_knows_its_import_map(ask):
    answer = ask("/")
    assert answer.body.decode() == PAGE
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Security-Policy"] == (
        f"default-src 'none'; script-src 'self' '{HASH}'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_a_file_is_sent_once_and_again_when_it_has_changed(ask, static):
    first = ask("/static/js/main.js")
    assert first.headers["Content-Type"] == "text/javascript; charset=utf-8"
    again = ask("/static/js/main.js", If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    (static / "js" / "main.js").write_text("changed")
    assert ask("/static/js/main.js", If_None_Match=first.headers["ETag"]).body == b"changed"


def test_a_head_request_has_the_headers_and_no_body(ask):
    whole, head = ask("/"), ask("/", method="HEAD")
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
def test_what_is_no_address_of_ours_is_nowhere(ask, path):
    answer = ask(path)
    assert (answer.status, answer.code) == (404, "not_found")
    assert b"secret" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_are_answered(ask, host):
    assert ask("/", Host=f"{host}:{ask.port}").status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "", "192.168.1.7:{port}"]
)
@pytest.mark.parametrize("path", ["/", "/api/long"])
def test_another_name_is_refused(ask, host, path):
    answer = ask(path, Host=host.format(port=ask.port))
    assert (answer.status, answer.code) == (403, "host")


def test_a_request_without_a_host_or_with_two_is_refused(ask):
    good = f"Host: 127.0.0.1:{ask.port}\r\n".encode()
    assert b" 403 " in ask.raw(b"GET / HTTP/1.1\r\n\r\n")
    assert b" 403 " in ask.raw(b"GET / HTTP/1.1\r\n" + good + b"Host: evil.example\r\n\r\n")
    assert b" 200 " in ask.raw(b"GET / HTTP/1.1\r\n" + good + b"Connection: close\r\n\r\n")


def test_a_server_for_every_address_answers_to_addresses_and_to_no_stranger():
    with serving({"/": {"GET": lambda _: json_response({})}}, host="0.0.0.0") as ask:
        assert ask.server.url == f"http://127.0.0.1:{ask.port}/"
        assert ask("/", Host=f"192.168.1.7:{ask.port}").status == 200
        assert ask("/", Host=f"[fe80::1]:{ask.port}").status == 200
        assert ask("/", Host=f"evil.example:{ask.port}").status == 403
        assert ask("/", Host="192.168.1.7:1").status == 403


def test_another_sites_page_may_not_ask(ask):
    assert ask("/api/echo", {}, Origin="http://evil.example").code == "origin"
    assert ask("/api/echo", {}, Origin="null").code == "origin"
    assert ask("/api/echo", {}, Origin=f"http://127.0.0.1:{ask.port}").status == 200
    preflight = ask("/api/echo", method="OPTIONS", Access_Control_Request_Method="POST")
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
def test_the_wrong_method_is_said_with_the_right_one(ask, path, method, allowed):
    answer = ask(path, b"{}" if method != "GET" else None, method=method)
    assert (answer.status, answer.code, answer.headers["Allow"]) == (405, "method", allowed)


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
def test_what_is_no_json_object_is_refused(ask, body):
    answer = ask("/api/echo", body)
    assert (answer.status, answer.code) == (400, "bad_json")


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_form_of_another_site_is_not_read(ask, kind):
    answer = ask("/api/echo", b"{}", Content_Type=kind)
    assert (answer.status, answer.code) == (415, "content_type")
    assert ask("/api/echo", b"{}", Content_Type="application/json; charset=utf-8").status == 200


def test_a_large_body_is_refused_and_the_limit_is_said(ask):
    answer = ask("/api/echo", b'{"a":"' + b"x" * MAX_BODY_BYTES + b'"}')
    assert (answer.status, answer.code, answer.json["error"]["limit"]) == (413, "too_large", MAX_BODY_BYTES)
    assert ask("/api/echo", b'{"a":"' + b"x" * (MAX_BODY_BYTES - 8) + b'"}').status == 200


def test_a_length_of_thousands_of_digits_is_too_large(ask, capfd):
    head = f"POST /api/echo HTTP/1.1\r\nHost: 127.0.0.1:{ask.port}\r\nContent-Type: application/json\r\n"
    assert b" 413 " in ask.raw(head.encode() + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}")
    assert b" 200 " in ask.raw(head.encode() + b"Content-Length: " + b"0" * 5000 + b"2\r\n\r\n{}")
    assert b" 404 " in ask.raw(
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
def test_a_body_of_unknown_length_is_refused(ask, length):
    head = f"POST /api/echo HTTP/1.1\r\nHost: 127.0.0.1:{ask.port}\r\nContent-Type: application/json\r\n"
    assert b" 411 " in ask.raw(head.encode() + length + b"\r\n{}")


def test_a_body_that_was_not_read_is_not_the_next_request(ask):
    smuggled = f"GET /api/long HTTP/1.1\r\nHost: 127.0.0.1:{ask.port}\r\n\r\n".encode()
    head = f"POST /nothing HTTP/1.1\r\nHost: 127.0.0.1:{ask.port}\r\nContent-Length: {len(smuggled)}\r\n\r\n"
    assert ask.raw(head.encode() + smuggled).count(b"HTTP/1.1") == 1


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
def test_what_is_no_request_gets_a_refusal_and_nothing_of_python(ask, line):
    said = ask.raw(line + b"\r\n\r\n")
    assert b"Traceback" not in said
    assert b"Python" not in said
    if said:
        assert json.loads(said[said.index(b"{") :])["error"]["message"]


def test_a_fault_of_ours_is_told_to_the_terminal_and_not_to_the_page(ask, capfd):
    answer = ask("/api/fails", {})
    assert (answer.status, answer.code) == (500, "internal")
    assert b"secret" not in answer.body
    assert "a secret of /home/somebody" in capfd.readouterr().err


def test_what_the_user_can_put_right_is_said_in_one_line(ask):
    assert ask("/api/too-long", {}).json == {
        "error": {"code": "too_long", "message": "300 tokens are too many", "limit": 256}
    }
    answer = ask("/api/fault", {})
    assert answer.status == 422
    assert answer.json["error"] == {"code": "refused", "message": "nothing to translate; type a sentence"}


def test_long_answers_are_compressed_for_those_who_can_read_them(ask):
    plain, packed = ask("/api/long"), ask("/api/long", Accept_Encoding="br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 20
    assert packed.json == plain.json
    assert "Content-Encoding" not in ask("/api/long", Accept_Encoding="gzip;q=0, br").headers
    assert "Content-Encoding" not in ask("/api/echo", {}, Accept_Encoding="gzip").headers


def test_a_query_is_read(ask):
    assert ask("/api/get?since=3&name=a%20b").json == {"query": {"since": "3", "name": "a b"}}
    assert ask("/api/get?" + "&".join(f"a{n}=1" for n in range(50))).code == "bad_value"


def test_one_connection_carries_many_requests(ask):
    connection = http.client.HTTPConnection("127.0.0.1", ask.port, timeout=10)
    for number in range(3):
        body = json.dumps({"n": number})
        connection.request("POST", "/api/echo", body, {"Content-Type": "application/json"})
        assert json.loads(connection.getresponse().read())["body"] == {"n": number}
    connection.close()


def test_lines_come_as_they_are_found(ask):
    answer = ask("/api/lines", {})
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert answer.headers["Content-Type"] == NDJSON_TYPE
    assert [json.loads(line) for line in answer.body.splitlines()] == [{"n": 0}, {"n": 1}, {"n": 2}]
    old = ask.raw(
        f"POST /api/lines HTTP/1.0\r\nHost: 127.0.0.1:{ask.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
    )
    assert old.endswith(b'\r\n\r\n{"n":0}\n{"n":1}\n{"n":2}\n')


def test_lines_that_break_off_end_with_why(ask, capfd):
    first, last = ask("/api/broken", {}).body.splitlines()
    assert json.loads(first) == {"head": 1}
    assert json.loads(last)["error"]["code"] == "internal"
    assert b"secret" not in last
    assert "a secret" in capfd.readouterr().err


def test_a_port_that_is_taken_is_one_line(ask):
    with pytest.raises(RegardError, match=f"127.0.0.1:{ask.port} cannot be served on: .*; another --port"):
        ExplorerServer("127.0.0.1", ask.port, {})
    with pytest.raises(RegardError, match="there is no such port"):
        ExplorerServer("127.0.0.1", 70_000, {})


class Slow:
    """A route that computes one thing at a time, when it is let."""

    def __init__(self):
        self.turns, self.let, self.busy, self.served = RequestQueue(), Event(), 0, []
        self.most = 0

    def __call__(self, request):
        with self.turns.turn(request):
            self.busy += 1
            self.most = max(self.most, self.busy)
            assert self.let.wait(10)
            self.served.append(request.body["n"])
            self.busy -= 1
        return json_response({"n": request.body["n"]})

    def until(self, waiting):
        end = time.monotonic() + 10
        while len(self.turns._queue) != waiting:
            assert time.monotonic() < end
            time.sleep(0.002)


@pytest.fixture
def slow():
    route = Slow()
    with serving({"/api/slow": {"POST": route}}) as ask, ThreadPoolExecutor(20) as pool:
        route.ask = lambda n, **headers: pool.submit(ask, "/api/slow", {"n": n}, **headers)
        route.asking = ask
        yield route
        route.let.set()


def test_requests_compute_one_at_a_time_in_the_order_they_came(slow):
    answers = []
    for number in range(12):
        answers.append(slow.ask(number))
        slow.until(waiting=number + 1)
    slow.let.set()
    assert [answer.result().json["n"] for answer in answers] == list(range(12))
    assert slow.served == list(range(12))
    assert slow.most == 1


def test_nothing_is_computed_for_somebody_who_hung_up(slow):
    first = slow.ask(0)
    slow.until(waiting=1)
    body = b'{"n": 1}'
    head = (
        f"POST /api/slow HTTP/1.1\r\nHost: 127.0.0.1:{slow.asking.port}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", slow.asking.port)) as connection:
        connection.sendall(head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        slow.until(waiting=2)
    slow.until(waiting=1)
    slow.let.set()
    assert first.result().status == 200
    assert slow.served == [0]


def test_a_browser_that_leaves_in_the_middle_leaves_no_trace(capfd, monkeypatch):
    started, left, over = Event(), Event(), Event()

    def pieces():
        started.set()
        assert left.wait(10)
        for _ in range(200):
            yield b"x" * 65536

    with serving({"/api/lines": {"POST": lambda _: ApiResponse(pieces(), NDJSON_TYPE)}}) as ask:
        close = ask.server.shutdown_request  # the last that happens to a connection, after all complaints
        monkeypatch.setattr(ask.server, "shutdown_request", lambda request: (close(request), over.set()))
        thread = Thread(target=leave, args=(ask, started, left))
        thread.start()
        thread.join()
        assert over.wait(10)
        assert ask("/nowhere").status == 404
    assert capfd.readouterr().err == ""


def leave(ask: Asking, started: Event, left: Event) -> None:
    with socket.create_connection(("127.0.0.1", ask.port)) as connection:
        connection.sendall(
            f"POST /api/lines HTTP/1.1\r\nHost: 127.0.0.1:{ask.port}\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
        )
        assert started.wait(10)
    left.set()

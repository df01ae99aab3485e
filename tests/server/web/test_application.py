import asyncio
import http.client
import io
import json

import pytest
from starlette.responses import Response

from regard.errors import DataError
from regard.server.web.access_log import JsonAccessLog, log_entry
from regard.server.web.application import MAX_BODY_BYTES, RouteGroup
from regard.server.web.request_body import read_json_object, read_query
from regard.server.web.responses import (
    NDJSON_TYPE,
    RequestError,
    bytes_response,
    json_response,
    lines_response,
)
from regard.server.web.static_files import static_file_routes
from server.http_client import run_server

PAGE = """<!doctype html><script type="importmap">{"imports": {"regard/": "/static/js/"}}</script>"""
HASH = "sha256-CQjNphUGBwco+M094d5jC4zqDJ3k+5eGFUxipEWDgGk="


async def echo(request):
    return json_response({"body": await read_json_object(request), "query": dict(read_query(request))})


async def query(request):
    return json_response({"query": dict(read_query(request, 20))})


async def long_text(_):
    return json_response({"text": "x" * 50_000})


async def raise_unexpected(_):
    raise ValueError("a secret of /home/somebody")


async def raise_too_long(_):
    raise RequestError("too_long", "300 tokens are too many", limit=256)


async def raise_data_error(_):
    raise DataError("nothing to translate; type a sentence")


async def stream(_):
    async def lines():
        for number in range(3):
            yield b'{"n":%d}\n' % number
            await asyncio.sleep(0.01)

    return lines_response(lines())


async def stream_and_fail(_):
    async def lines():
        yield b'{"head":1}\n'
        raise ValueError("a secret")

    return lines_response(lines())


async def item(request):
    log_entry(request.scope).fields["characters"] = 7
    return json_response(request.path_params)


def plain_error(error):
    return bytes_response(f"sorry: {error.code}".encode(), "text/plain", error.status, error.headers)


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
        "/api/echo": {"POST": echo},
        "/api/get": {"GET": query},
        "/api/long": {"GET": long_text},
        "/api/fails": {"POST": raise_unexpected},
        "/api/too-long": {"POST": raise_too_long},
        "/api/fault": {"POST": raise_data_error},
        "/api/lines": {"POST": stream},
        "/api/broken": {"POST": stream_and_fail},
    }
    public = RouteGroup(
        {"/v2/items/{id}": {"GET": item, "POST": echo}},
        prefix="/v2/",
        error_response=plain_error,
        max_body_bytes=100,
        accepts_get_body=True,
        allowed_origins=("https://page.example",),
    )
    with run_server(routes, public) as client:
        yield client


def test_the_page_has_a_policy_with_the_hash_of_its_import_map(client):
    response = client("/")
    assert response.body.decode() == PAGE
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == (
        f"default-src 'none'; script-src 'self' '{HASH}'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/api/long", "/api/nothing", "/static/js/main.js", "/v2/x"])
def test_every_response_has_the_security_headers(client, path):
    headers = client(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == ("no-cache" if "." in path or path == "/" else "no-store")
    assert "server" not in headers


def test_a_cached_file_is_sent_again_only_if_it_changed(client, static_folder):
    first = client("/static/js/main.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    again = client("/static/js/main.js", If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    (static_folder / "js" / "main.js").write_text("changed")
    assert client("/static/js/main.js", If_None_Match=first.headers["etag"]).body == b"changed"


def test_a_head_request_has_the_headers_and_no_body(client):
    whole, head = client("/"), client("/", method="HEAD")
    assert head.body == b""
    assert head.headers["content-length"] == whole.headers["content-length"] == str(len(PAGE))


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../secret.js", "/static/..%2fsecret.js", "/static/js/../../secret.js", "//etc/passwd"),
        *("/static/", "/static", "/static/notes.txt", "/static/index.html", "/secret.js", "/nothing"),
        *("/static/js\\..\\..\\secret.js", "/static/js/main.js/", "/static/%2e%2e/secret.js", "/api/../"),
        *("/static/js/main.js%00", "/static/%00", "/%ff", "/static/..%c0%af..%c0%afsecret.js"),
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
@pytest.mark.parametrize("path", ["/", "/api/long", "/nothing", "/v2/items/1"])
def test_another_host_name_is_rejected(client, host, path):
    response = client(path, Host=host.format(port=client.port))
    assert (response.status, response.code) == (403, "host")


def test_a_request_without_a_host_or_with_two_is_rejected(client):
    good = f"Host: 127.0.0.1:{client.port}\r\nConnection: close\r\n".encode()
    assert b" 403 " in client.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert b" 403 " in client.raw(b"GET / HTTP/1.1\r\n" + good + b"Host: evil.example\r\n\r\n")
    assert b" 200 " in client.raw(b"GET / HTTP/1.1\r\n" + good + b"\r\n")


def test_a_server_on_all_addresses_accepts_ip_addresses_as_host_only():
    with run_server({"/": {"GET": query}}, host="0.0.0.0") as client:
        assert client.server.url == f"http://127.0.0.1:{client.port}/"
        assert client("/", Host=f"192.168.1.7:{client.port}").status == 200
        assert client("/", Host=f"[fe80::1]:{client.port}").status == 200
        assert client("/", Host=f"evil.example:{client.port}").status == 403
        assert client("/", Host="192.168.1.7:1").status == 403


def test_requests_from_other_origins_are_rejected(client):
    assert client("/api/echo", {}, Origin="http://evil.example").code == "origin"
    assert client("/api/echo", {}, Origin="null").code == "origin"
    assert client("/api/echo", {}, Origin=f"https://127.0.0.1:{client.port}").code == "origin"
    assert client("/api/echo", {}, Origin=f"http://127.0.0.1:{client.port}").status == 200
    preflight = client("/api/echo", method="OPTIONS", Access_Control_Request_Method="POST")
    assert preflight.status == 405
    assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_an_allowed_origin_may_call_its_group_only(client):
    page = "https://page.example"
    response = client("/v2/items/3", Origin=page)
    assert (response.json, response.headers["access-control-allow-origin"]) == ({"id": "3"}, page)
    preflight = client("/v2/items/3", method="OPTIONS", Origin=page)
    assert (preflight.status, preflight.headers["access-control-allow-methods"]) == (204, "GET, HEAD, POST")
    assert client("/v2/items/3", Origin="https://evil.example").status == 403
    assert client("/api/echo", {}, Origin=page).status == 403


def test_a_group_answers_errors_in_its_own_shape(client):
    for path, status, body in [
        ("/v2/nothing", 404, b"sorry: not_found"),
        ("/v2/items/3", 405, b"sorry: method"),
        ("/v1/nothing", 404, b'{"error":{"code":"not_found","message":"this address does not exist"}}'),
    ]:
        response = client(path, method="DELETE" if status == 405 else "GET")
        assert (response.status, response.body) == (status, body)
    assert client("/v2/items/3", {"a": "x" * 100}).body == b"sorry: too_large"


def test_a_body_of_get_is_rejected_unless_the_group_accepts_it(client):
    assert client("/api/get", b"{}", method="GET").code == "bad_request"
    assert client("/api/get", b"{}", method="HEAD").status == 400
    assert client("/v2/items/3", b"{}", method="GET").status == 200


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
    assert (response.status, response.code, response.headers["allow"]) == (405, "method", allowed)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_rejected_with_the_limit(client, chunked):
    def sent(content):
        if not chunked:
            return client("/api/echo", content)
        pieces = (content[start : start + 70_000] for start in range(0, len(content), 70_000))
        return client("/api/echo", pieces)

    response = sent(b'{"a":"' + b"x" * MAX_BODY_BYTES + b'"}')
    assert (response.status, response.code) == (413, "too_large")
    assert response.json["error"]["limit"] == MAX_BODY_BYTES
    assert sent(b'{"a":"' + b"x" * (MAX_BODY_BYTES - 8) + b'"}').status == 200


def test_the_answer_to_a_body_far_too_large_arrives(client):
    """The client sends all of it first: closing at once would discard the answer."""
    assert client("/api/echo", b"x" * 10_000_000).status == 413
    assert client("/nothing", b"x" * 10_000_000).status == 404


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
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 20
    assert packed.json == plain.json
    assert "content-encoding" not in client("/api/long", Accept_Encoding="gzip;q=0, br").headers
    assert "content-encoding" not in client("/api/echo", {}, Accept_Encoding="gzip").headers


def test_query_parameters_are_parsed(client):
    assert client("/api/get?since=3&name=a%20b&empty=").json == {
        "query": {"since": "3", "name": "a b", "empty": ""}
    }
    assert client("/api/get?" + "&".join(f"a{n}=1" for n in range(50))).code == "bad_value"
    assert client("/api/get?a=%ff").code == "bad_value"


def test_a_connection_is_reused(client):
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=10)
    for number in range(3):
        body = json.dumps({"n": number})
        connection.request("POST", "/api/echo", body, {"Content-Type": "application/json"})
        assert json.loads(connection.getresponse().read())["body"] == {"n": number}
        first = connection.sock if number == 0 else first
        assert connection.sock is first
    connection.close()


def test_lines_are_streamed(client):
    response = client("/api/lines", {})
    assert response.headers["transfer-encoding"] == "chunked"
    assert response.headers["content-type"] == NDJSON_TYPE
    assert [json.loads(line) for line in response.body.splitlines()] == [{"n": 0}, {"n": 1}, {"n": 2}]
    old = client.raw(
        f"POST /api/lines HTTP/1.0\r\nHost: 127.0.0.1:{client.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
    )
    assert old.endswith(b'\r\n\r\n{"n":0}\n{"n":1}\n{"n":2}\n')
    assert b"chunked" not in old


def test_an_error_while_streaming_is_the_last_line(client, capfd):
    first, last = client("/api/broken", {}).body.splitlines()
    assert json.loads(first) == {"head": 1}
    assert json.loads(last)["error"]["code"] == "internal"
    assert b"secret" not in last
    assert "a secret" in capfd.readouterr().err


def test_the_access_log_has_the_route_and_neither_address_nor_query():
    log = io.StringIO()
    routes = {"/": {"GET": query}, "/v2/items/{id}": {"GET": item}}
    with run_server(routes, access_log=JsonAccessLog(log.write)) as client:
        client("/v2/items/private?q=private", Authorization="private")
        client("/private?key=private")
        client("/", method="PROPFIND")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("GET", "/v2/items/{id}", 200),
        ("GET", "-", 404),
        ("other", "/", 405),
    ]
    assert lines[0]["characters"] == 7
    assert all(0 <= line["ms"] < 5000 for line in lines)
    assert "private" not in log.getvalue()


def test_an_error_of_the_application_itself_is_answered(capfd):
    async def broken(_):
        return Response(b"abc", headers={"Content-Length": "7"})

    with run_server({"/": {"GET": broken}}) as client, pytest.raises(http.client.HTTPException):
        client("/")
    assert "shorter than its Content-Length" in capfd.readouterr().err

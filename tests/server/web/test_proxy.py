"""A server behind a reverse proxy: its public address, and the addresses of its clients."""

import pytest
from starlette.responses import PlainTextResponse

from regard.errors import ConfigError
from regard.server.translation.serve_settings import AccessSettings
from regard.server.web.application import RouteGroup
from server.http_client import run_server

PUBLIC = "https://translate.example.org"


async def show_client(request):
    return PlainTextResponse(f"{request.client.host} {request.url.scheme}")


ROUTES = {"/client": {"GET": show_client}}


def test_the_pages_of_the_public_address_are_the_servers_own():
    access = AccessSettings(public_url=f"{PUBLIC}/", host_names=("Regard.internal",))
    address = {"names": access.public_names, "origins": [access.public_origin]}
    with run_server(ROUTES, server_settings=address) as client:
        assert client("/client", Origin=PUBLIC).status == 200  # the proxy asks for 127.0.0.1
        assert client("/client", Origin=PUBLIC, Host="translate.example.org").status == 200
        assert client("/client", Host="regard.internal:80").status == 200
        for origin in ("http://translate.example.org", f"{PUBLIC}.evil.example", f"{PUBLIC}:444", "null"):
            assert client("/client", Origin=origin).code == "origin"
        assert client("/client", Host="evil.example").code == "host"


def test_a_proxy_that_tells_the_scheme_needs_no_public_address():
    with run_server(
        ROUTES, server_settings={"names": ["a.example"], "trusted_proxies": ["127.0.0.1"]}
    ) as client:
        headers = {"Host": "a.example", "Origin": "https://a.example"}
        assert client("/client", **headers).code == "origin"
        answer = client("/client", X_Forwarded_Proto="https", X_Forwarded_For="192.0.2.7", **headers)
        assert (answer.status, answer.body) == (200, b"192.0.2.7 https")


@pytest.mark.parametrize(
    ("trusted", "forwarded", "client_address"),
    [
        ([], "192.0.2.7", b"127.0.0.1"),
        (["10.0.0.0/8"], "192.0.2.7", b"127.0.0.1"),
        (["127.0.0.1"], "192.0.2.7", b"192.0.2.7"),
        (["127.0.0.0/8"], "192.0.2.66, 192.0.2.7", b"192.0.2.7"),  # a client may have sent the first
        (["127.0.0.1", "10.0.0.0/8"], "192.0.2.7, 10.1.1.1", b"192.0.2.7"),
        (["127.0.0.1"], "2001:db8::1", b"2001:db8::1"),
    ],
)
def test_forwarded_addresses_are_believed_of_trusted_proxies_alone(trusted, forwarded, client_address):
    with run_server(ROUTES, server_settings={"trusted_proxies": trusted}) as client:
        assert client("/client", X_Forwarded_For=forwarded).body.split()[0] == client_address


def test_a_group_may_need_a_known_name_where_the_rest_takes_any():
    groups = [RouteGroup(ROUTES), RouteGroup({"/private": ROUTES["/client"]}, only_known_hosts=True)]
    with run_server(*groups, server_settings={"names": ["*"]}) as client:
        assert client("/client", Host="evil.example").status == 200
        assert client("/private", Host="evil.example").code == "host"
        assert client("/private").status == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"public_url": "translate.example.org"}, "write an address without a path"),
        ({"public_url": f"{PUBLIC}/path"}, "write an address without a path"),
        ({"host_names": ("a:80",)}, "write names without a port"),
        ({"host_names": ("*",)}, "write names without a port"),
        ({"trusted_proxies": ("proxy",)}, "write addresses or networks"),
        ({"trusted_proxies": ("*",)}, "write addresses or networks"),
        ({"key_required": True}, "name the file of keys with keys_file"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ConfigError, match=message):
        AccessSettings(**settings)

"""HTTP security: Host and Origin checks against other sites, Content-Security-Policy against markup."""

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Collection
from http import HTTPStatus

from regard.server.web.responses import RequestError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
ANY = "*"
INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of every response that does not set them itself."""


class HostGuard:
    """Accepts requests for the server's own host names only.

    This stops DNS rebinding: a site that points its own name at this machine sends that name as Host.
    An IP address cannot be rebound, so a server on all addresses accepts any of them. `names` are accepted
    besides, with any port, as behind a proxy; `*` stands for every name. Pages of `origins` are the server's
    own, whatever address a proxy asks for.
    """

    def __init__(
        self, host: str, port: int, names: Collection[str] = (), origins: Collection[str] = ()
    ) -> None:
        self.origins = tuple(origin.lower() for origin in origins)
        self._everywhere = host in ("0.0.0.0", "::", "")
        own = {*LOOPBACK_HOSTS, f"[{host}]" if ":" in host else host}
        if self._everywhere:
            own.add(socket.gethostname())
        self._port = port
        self._hosts = {f"{name}:{port}".lower() for name in own}
        if port == 80:
            self._hosts |= {name.lower() for name in own}
        self._names = {name.lower() for name in names}

    def check_host(self, hosts: Collection[str]) -> str:
        """Return the host name, lower-cased; reject a request for another host."""
        host = next(iter(hosts), "").lower()
        if len(hosts) != 1 or not (ANY in self._names or self.knows(host)):
            raise self.unknown_host(host)
        return host

    def unknown_host(self, host: str) -> RequestError:
        """Return the error for a request with another Host."""
        return RequestError(
            "host",
            f"{host[:80]!r} is not a name of this server; "
            f"open http://127.0.0.1:{self._port}/, or start it with --host NAME",
            HTTPStatus.FORBIDDEN,
        )

    def knows(self, host: str) -> bool:
        """Return whether a name, lower-cased, is the server's own, and not only accepted as any other."""
        if host in self._hosts:
            return True
        name, _, port = host.rpartition(":")
        if host in self._names or (port.isdecimal() and name in self._names):
            return True
        return self._everywhere and port == str(self._port) and _is_address(name)


def check_origin(origin: str | None, own: Collection[str], others: Collection[str] = ()) -> str | None:
    """Reject a page of another site; return the origin if it is one of `others`, which may be `*`."""
    if origin is None or origin.lower() in own:
        return None
    if ANY in others or origin.lower() in others:
        return origin
    message = "requests from pages of other sites are not accepted"
    raise RequestError("origin", message, HTTPStatus.FORBIDDEN)


def content_security_policy(page: str) -> str:
    """Return the Content-Security-Policy of a page: own files, own server, and its inline scripts by hash."""
    hashes = "".join(f" 'sha256-{_script_hash(text)}'" for text in INLINE_SCRIPT.findall(page))
    return (
        f"default-src 'none'; script-src 'self'{hashes}; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _script_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True

"""HTTP security: Host and Origin checks against other sites, Content-Security-Policy against markup."""

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Collection
from http import HTTPStatus

from regard.server.http_messages import RequestError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class HostGuard:
    """Accepts requests for the server's own host names only.

    This stops DNS rebinding: a site that points its own name at this machine sends that name as Host.
    An IP address cannot be rebound, so a server on all addresses accepts any of them.
    """

    def __init__(self, host: str, port: int) -> None:
        self._everywhere = host in ("0.0.0.0", "::", "")
        names = {*LOOPBACK_HOSTS, f"[{host}]" if ":" in host else host}
        if self._everywhere:
            names.add(socket.gethostname())
        self._port = port
        self._hosts = {f"{name}:{port}".lower() for name in names}
        if port == 80:
            self._hosts |= {name.lower() for name in names}

    def check(self, hosts: Collection[str], origin: str | None) -> None:
        """Reject a request for another host, or from a page of another site."""
        host = next(iter(hosts), "").lower()
        if len(hosts) != 1 or not self._is_ours(host):
            raise RequestError(
                "host",
                f"{host[:80]!r} is not a name of this server; "
                f"open http://127.0.0.1:{self._port}/, or start it with --host NAME",
                HTTPStatus.FORBIDDEN,
            )
        if origin is not None and origin.lower() != f"http://{host}":
            raise RequestError(
                "origin", "requests from pages of other sites are not accepted", HTTPStatus.FORBIDDEN
            )

    def _is_ours(self, host: str) -> bool:
        if host in self._hosts:
            return True
        address, _, port = host.rpartition(":")
        return self._everywhere and port == str(self._port) and _is_address(address)


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

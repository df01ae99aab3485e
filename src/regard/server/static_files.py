"""The page's own files, as they lie in the package; they are listed once, and read when asked for."""

import hashlib
from http import HTTPStatus
from importlib.resources.abc import Traversable

from regard.server.http_messages import HTML, Reply, Request, RequestError, Route
from regard.server.security import policy
from regard.trace.page import files_below

KINDS = {
    "html": HTML,
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def file_routes(static: Traversable) -> dict[str, dict[str, Route]]:
    """`/` is index.html; every other file is under /static/."""
    found: dict[str, dict[str, Route]] = {"/": {"GET": _page(static / "index.html")}}
    for path, file in files_below(static):
        if path != "index.html" and path.rpartition(".")[2] in KINDS:
            found[f"/static/{path}"] = {"GET": _file(file)}
    return found


def _page(file: Traversable) -> Route:
    def page(request: Request) -> Reply:
        content = _read(file)
        return _sent(request, content, HTML, {"Content-Security-Policy": policy(content.decode())})

    return page


def _file(file: Traversable) -> Route:
    kind = KINDS[file.name.rpartition(".")[2]]

    def read(request: Request) -> Reply:
        return _sent(request, _read(file), kind, {})

    return read


def _sent(request: Request, content: bytes, kind: str, headers: dict[str, str]) -> Reply:
    """The browser asks each time, and is told where it has the same already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**headers, "ETag": tag, "Cache-Control": "no-cache"}
    if tag in (request.known or ""):
        return Reply(b"", kind, HTTPStatus.NOT_MODIFIED, headers)
    return Reply(content, kind, headers=headers)


def _read(file: Traversable) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        raise RequestError("not_found", f"{file.name} is not there any more", HTTPStatus.NOT_FOUND) from None

"""Routes of a page's static files, listed once and read at each request."""

import hashlib
from http import HTTPStatus
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from regard.assets import walk_files
from regard.server.web.application import Handler, RouteTable
from regard.server.web.responses import HTML_TYPE, RequestError, bytes_response
from regard.server.web.security import content_security_policy

CONTENT_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def static_file_routes(
    folder: Traversable, index: str = "index.html", included: tuple[str, ...] = ("",)
) -> RouteTable:
    """Return routes: `/` is the page `index`, other files are under /static/.

    `included` are the beginnings of their paths; other pages of the folder are left out.
    """
    routes: dict[str, dict[str, Handler]] = {"/": {"GET": _index_handler(folder / index)}}
    for path, file in walk_files(folder):
        if path.startswith(included) and path.rpartition(".")[2] in CONTENT_TYPES:
            routes[f"/static/{path}"] = {"GET": _file_handler(file)}
    return routes


def _index_handler(file: Traversable) -> Handler:
    async def handle(request: Request) -> Response:
        content = _read(file)
        headers = {"Content-Security-Policy": content_security_policy(content.decode())}
        return _file_response(request, content, HTML_TYPE, headers)

    return handle


def _file_handler(file: Traversable) -> Handler:
    content_type = CONTENT_TYPES[file.name.rpartition(".")[2]]

    async def handle(request: Request) -> Response:
        return _file_response(request, _read(file), content_type, {})

    return handle


def _file_response(request: Request, content: bytes, content_type: str, headers: dict[str, str]) -> Response:
    """Return the file, or 304 if the browser's cached copy is the same."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**headers, "ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("If-None-Match", ""):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return bytes_response(content, content_type, headers=headers)


def _read(file: Traversable) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        message = f"{file.name} does not exist any more"
        raise RequestError("not_found", message, HTTPStatus.NOT_FOUND) from None

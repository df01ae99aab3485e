"""The page's own files, as they lie in the package; they are listed once, and read when asked for."""

import hashlib
from http import HTTPStatus
from importlib.resources.abc import Traversable

from regard.server.http_messages import HTML_TYPE, ApiRequest, ApiResponse, RequestError, RouteHandler
from regard.server.security import content_security_policy
from regard.trace.page import walk_files

CONTENT_TYPES = {
    "html": HTML_TYPE,
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def static_file_routes(folder: Traversable) -> dict[str, dict[str, RouteHandler]]:
    """`/` is index.html; every other file is under /static/."""
    found: dict[str, dict[str, RouteHandler]] = {"/": {"GET": _index_handler(folder / "index.html")}}
    for path, file in walk_files(folder):
        if path != "index.html" and path.rpartition(".")[2] in CONTENT_TYPES:
            found[f"/static/{path}"] = {"GET": _file_handler(file)}
    return found


def _index_handler(file: Traversable) -> RouteHandler:
    def page(request: ApiRequest) -> ApiResponse:
        content = _read(file)
        return _file_response(
            request,
            content,
            HTML_TYPE,
            {"Content-Security-Policy": content_security_policy(content.decode())},
        )

    return page


def _file_handler(file: Traversable) -> RouteHandler:
    kind = CONTENT_TYPES[file.name.rpartition(".")[2]]

    def read(request: ApiRequest) -> ApiResponse:
        return _file_response(request, _read(file), kind, {})

    return read


def _file_response(request: ApiRequest, content: bytes, kind: str, headers: dict[str, str]) -> ApiResponse:
    """The browser asks each time, and is told where it has the same already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**headers, "ETag": tag, "Cache-Control": "no-cache"}
    if tag in (request.if_none_match or ""):
        return ApiResponse(b"", kind, HTTPStatus.NOT_MODIFIED, headers)
    return ApiResponse(content, kind, headers=headers)


def _read(file: Traversable) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        raise RequestError("not_found", f"{file.name} is not there any more", HTTPStatus.NOT_FOUND) from None

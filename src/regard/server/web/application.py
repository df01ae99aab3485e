"""Application of route groups: which handler answers a request, and what is checked before it runs."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.web.access_log import AccessLog, AccessLogMiddleware, log_entry
from regard.server.web.gzip_responses import CompressionMiddleware
from regard.server.web.responses import RequestError, error_response, to_request_error
from regard.server.web.security import SECURITY_HEADERS, HostGuard, check_origin

MAX_BODY_BYTES = 1_000_000
Handler = Callable[[Request], Awaitable[Response]]
RouteTable = Mapping[str, Mapping[str, Handler]]
"""Handlers by path, which may have parameters such as `/v2/document/{id}`, and method."""
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class RouteGroup:
    """Routes that share limits, permitted origins and the shape of their errors."""

    routes: RouteTable
    prefix: str = "/"
    """Unknown addresses that start with this are answered by this group; the longest prefix counts."""
    error_response: Callable[[RequestError], Response] = error_response
    max_body_bytes: int = MAX_BODY_BYTES
    accepts_get_body: bool = False
    """Whether GET may have a body, as DeepL's clients send; else it is an error."""
    allowed_origins: Collection[str] = field(default=())
    """Origins of other sites whose pages may call these routes (CORS), lower-cased; `*` for all."""
    only_known_hosts: bool = False
    """Whether requests need a name of the server as Host even where it accepts any name for the rest."""


def build_application(
    groups: Sequence[RouteGroup],
    guard: HostGuard,
    *,
    access_log: AccessLog | None = None,
    lifespan: Lifespan | None = None,
) -> ASGIApp:
    """Return the ASGI application of all groups."""
    routes = [
        Route(path, _Endpoint(group, handlers, path), name=path)
        for group in groups
        for path, handlers in group.routes.items()
    ]
    middleware = [
        Middleware(AccessLogMiddleware, log=access_log),
        Middleware(_HeaderMiddleware, guard=guard),
        Middleware(CompressionMiddleware),
    ]
    application = Starlette(routes=routes, middleware=middleware, lifespan=lifespan)
    application.router.redirect_slashes = False
    application.router.default = _NotFound(groups)
    return application


class _HeaderMiddleware:
    """Checks Host before anything else, and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, guard: HostGuard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        try:
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            host = self._guard.check_host(hosts)
            scope["regard.guard"], scope["regard.host"] = self._guard, host
            scope["regard.origins"] = (*self._guard.origins, f"{scope['scheme']}://{host}")
            scope["regard.origin"] = scope["regard.origins"][0]  # for links
        except RequestError as error:
            return await error_response(error)(scope, receive, _with_headers(send))
        await self._app(scope, receive, _with_headers(send))


DEFAULT_HEADERS = [
    (name.lower().encode(), value.encode())
    for name, value in {**SECURITY_HEADERS, "Cache-Control": "no-store"}.items()
]


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ())]
            present = {name.lower() for name, _ in headers}
            message["headers"] = [*headers, *(each for each in DEFAULT_HEADERS if each[0] not in present)]
        await send(message)

    return send_with_headers


class _NotFound:
    """Answers addresses without a route, in the shape of the group whose prefix they have."""

    def __init__(self, groups: Sequence[RouteGroup]) -> None:
        self._groups = sorted(groups, key=lambda group: len(group.prefix), reverse=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        matching = (group for group in self._groups if scope["path"].startswith(group.prefix))
        group = next(matching, RouteGroup({}))
        error = RequestError("not_found", "this address does not exist", HTTPStatus.NOT_FOUND)
        await group.error_response(error)(scope, receive, send)


class _Endpoint:
    """One path of a group."""

    def __init__(self, group: RouteGroup, handlers: Mapping[str, Handler], path: str) -> None:
        self._group, self._handlers, self._path = group, handlers, path
        methods = dict.fromkeys(each for name in handlers for each in (name, *(["HEAD"] * (name == "GET"))))
        self._methods = ", ".join(methods)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log_entry(scope).route = self._path
        origin: str | None = None
        try:
            request = Request(scope, self._limit_body(scope, receive))
            guard: HostGuard = scope["regard.guard"]
            if self._group.only_known_hosts and not guard.knows(scope["regard.host"]):
                raise guard.unknown_host(scope["regard.host"])
            own, others = scope["regard.origins"], self._group.allowed_origins
            origin = check_origin(request.headers.get("Origin"), own, others)
            response = await self._respond(request, origin)
        except Exception as error:
            response = self._group.error_response(to_request_error(error))
        if origin is not None:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers.add_vary_header("Origin")
        await response(scope, receive, send)

    async def _respond(self, request: Request, origin: str | None) -> Response:
        if request.method == "OPTIONS" and origin is not None:
            return _preflight_response(self._methods)
        handler = self._handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            message = f"this address accepts {self._methods}"
            status = HTTPStatus.METHOD_NOT_ALLOWED
            raise RequestError("method", message, status, headers={"Allow": self._methods})
        if request.method in ("GET", "HEAD") and not self._group.accepts_get_body and has_body(request):
            raise RequestError("bad_request", f"{request.method} has no body here")
        return await handler(request)

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` that raises once the body is larger than the group's limit."""
        limit, received = self._group.max_body_bytes, 0

        async def receive_within_limit() -> Message:
            nonlocal received
            if not received and content_length(scope) > limit:
                raise _too_large(limit)
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        return receive_within_limit


def has_body(request: Request) -> bool:
    """Return whether a request announces a body that is not empty."""
    return "Transfer-Encoding" in request.headers or content_length(request.scope) > 0


def content_length(scope: Scope) -> int:
    """Return the Content-Length, whose digits the parser has checked; 0 without one."""
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(value.lstrip(b"0") or 0)  # Python refuses thousands of zeros


def _too_large(limit: int) -> RequestError:
    message = f"the body is larger than {limit:,} bytes"
    return RequestError("too_large", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit)


def _preflight_response(methods: str) -> Response:
    headers = {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": "600",
    }
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)

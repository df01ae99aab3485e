"""HTTP foundation of every server: Starlette on uvicorn, with deadlines, limits and security checks.

**Add routes.** A handler is `async def handler(request: starlette.requests.Request) -> Response`. Routes
of one surface are a `RouteGroup`, and a server serves several:

    async def detect(request: Request) -> Response:
        document = await read_json_object(request)
        return json_response(await service.detect(document["q"]))

    group = RouteGroup({"/detect": {"POST": detect}}, error_response=libretranslate_error)
    with WebServer("127.0.0.1", 5000) as server:
        server.serve([group])

Paths may have Starlette's parameters (`/v2/document/{id}`, in `request.path_params`). GET answers HEAD, too.
Wrong methods (405), unknown addresses (404, by the group's `prefix`), bodies larger than `max_body_bytes`
(413, also while they arrive), bodies of GET unless `accepts_get_body`, and other sites' pages (403, unless in
`allowed_origins`) are answered before or while the handler runs.

**Read a request** (`request_body`): `read_query`, `read_json_body` and `read_json_object` (strict: no key
twice, no NaN, no lone surrogate), `convert_fields` to a `msgspec.Struct`, `read_form`, `read_multipart`
(files), `content_type` to choose between them. All raise `RequestError`.

**Answer errors** (`responses`): raise `RequestError(code, message, status, limit, headers)` anywhere. The
group's `error_response(error)` gives it the surface's shape; the default is `{"error": {"code", "message"}}`.
Other `RegardError`s become 422, anything else 500 with its traceback in the terminal only. Malformed HTTP and
a wrong Host are answered in the default shape, as no route is known.

**Answer** (`responses`): `json_response`, `bytes_response`, `lines_response` for a stream; or any Starlette
response. Security headers, `Cache-Control: no-store` and gzip are added to what does not have them.

**The client leaves.** The handler's task is cancelled at its next `await`; what runs in a thread goes on. Do
not hold the event loop: work of more than some milliseconds belongs in a thread or another process.

**Log** (`access_log`): `log_entry(request.scope).fields["characters"] = 42` adds a field; texts, queries and
keys never.

**Serve** (`web_server`): `WebServer` listens at once, `serve` returns after SIGTERM or SIGINT when requests
in progress are answered. `ConnectionLimits` has the deadlines. Nothing here imports torch.
"""

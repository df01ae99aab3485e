"""Compression of whole responses with gzip; streams are sent as they come."""

import asyncio
import gzip

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_COMPRESSED_BYTES = 1000
"""Smaller bodies are not compressed."""
THREAD_BYTES = 100_000
"""Larger bodies are compressed in a thread, so that other requests go on."""
COMPRESSIBLE_TYPES = (b"text/", b"application/json", b"image/svg+xml")


class CompressionMiddleware:
    """Compresses responses of texts to clients that accept gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding")
        sender = _CompressingSender(send, accepts_gzip(accepted.decode("latin-1")))
        await self._app(scope, receive, sender)


class _CompressingSender:
    """Holds the start of a response back until its first part of the body shows whether it is whole."""

    def __init__(self, send: Send, is_accepted: bool) -> None:
        self._send, self._is_accepted = send, is_accepted
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = dict(message.get("headers", ()))
            if b"content-length" in headers and _is_compressible(headers):
                self._start = message
                return
        elif self._start is not None:
            start, self._start = self._start, None
            headers = [*start["headers"], (b"vary", b"Accept-Encoding")]
            is_whole = not message.get("more_body", False)
            if self._is_accepted and is_whole and len(message["body"]) > MIN_COMPRESSED_BYTES:
                message["body"] = await _compress(message["body"])
                headers = [each for each in headers if each[0] != b"content-length"]
                headers.append((b"content-length", b"%d" % len(message["body"])))
                headers.append((b"content-encoding", b"gzip"))
            start["headers"] = headers
            await self._send(start)
        await self._send(message)


async def _compress(body: bytes) -> bytes:
    if len(body) < THREAD_BYTES:
        return gzip.compress(body, compresslevel=1, mtime=0)  # a higher level takes longer than sending
    return await asyncio.to_thread(gzip.compress, body, compresslevel=1, mtime=0)


def _is_compressible(headers: dict[bytes, bytes]) -> bool:
    return (
        headers.get(b"content-type", b"").startswith(COMPRESSIBLE_TYPES)
        and b"content-encoding" not in headers
    )


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header accepts gzip."""
    encodings = [encoding.replace(" ", "").lower() for encoding in header.split(",")]
    return any(
        encoding == "gzip" or (encoding.startswith("gzip;") and encoding != "gzip;q=0")
        for encoding in encodings
    )

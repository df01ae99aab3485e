"""Limits of a connection: deadlines, sizes and how many there may be."""

import resource
from dataclasses import dataclass

RESERVED_FILES = 64
"""File descriptors that are left for everything but connections."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Deadlines in seconds, sizes in bytes."""

    header_seconds: float = 10.0
    """From the connection, or from the first byte of a later request, to the end of its header."""
    body_seconds: float = 10.0
    """For a body; it gets one more second for every `min_bytes_per_second` that have arrived."""
    idle_seconds: float = 30.0
    """Between two requests of a connection."""
    stalled_write_seconds: float = 5.0
    """In this time a client takes `min_bytes_per_second` of what is ready for it, or is disconnected."""
    linger_seconds: float = 2.0
    """How long the rest of a rejected request is read and discarded, so that the client sees the answer."""
    min_bytes_per_second: int = 1000
    max_header_bytes: int = 32_768
    """Request line and header fields together."""
    max_headers: int = 100
    max_pipelined: int = 16
    """Requests that a client may send ahead of the answers."""
    max_connections: int = 1000
    """Beyond it, the slowest connection is closed for a new one."""

    def connection_cap(self) -> int:
        """Return the highest number of connections that the process has file descriptors for."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        unlimited = files == resource.RLIM_INFINITY
        return (
            self.max_connections if unlimited else max(1, min(self.max_connections, files - RESERVED_FILES))
        )

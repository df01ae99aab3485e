"""HTTP server of the explorer: security, limits, request queue, API."""

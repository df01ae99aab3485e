"""Addresses for whoever runs the server: liveness, readiness and metrics."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from regard.server.operations.server_metrics import PROMETHEUS_TYPE, HttpMetrics, prometheus_text
from regard.server.translation.requests import TranslationService
from regard.server.web.application import RouteTable
from regard.server.web.responses import bytes_response, json_response


def health_routes(service: TranslationService, http: HttpMetrics) -> RouteTable:
    """Return the routes `/livez`, `/readyz` and `/metrics`."""

    async def live(request: Request) -> Response:  # noqa: ARG001
        """Answer as long as the front process does: a restart would not help what it waits for."""
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:  # noqa: ARG001
        """Answer whether translations are possible now."""
        if service.ready:
            return json_response({"status": "ok"})
        waiting = service.state if service.state != "ready" else "the model process does not respond"
        return json_response({"status": waiting}, HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "2"})

    async def metrics(request: Request) -> Response:  # noqa: ARG001
        """Return the metrics for Prometheus."""
        return bytes_response(prometheus_text(service.metrics(), http).encode(), PROMETHEUS_TYPE)

    return {"/livez": {"GET": live}, "/readyz": {"GET": ready}, "/metrics": {"GET": metrics}}

"""The route groups of DeepL's API."""

from regard.server.surfaces.deepl.fields import STATUSES, deepl_error
from regard.server.surfaces.deepl.translate_text import text_routes
from regard.server.surfaces.surface import SurfaceContext, with_error_statuses
from regard.server.web.application import RouteGroup


def deepl_groups(context: SurfaceContext, allowed_origins: tuple[str, ...] = ()) -> list[RouteGroup]:
    """Return the routes of DeepL's API, versions 2 and 3."""
    return [
        RouteGroup(
            with_error_statuses(text_routes(context), STATUSES),
            prefix="/v2/",
            error_response=deepl_error,
            accepts_get_body=True,  # deepl-python sends the type of languages so
            allowed_origins=allowed_origins,
        ),
        RouteGroup({}, prefix="/v3/", error_response=deepl_error),
    ]

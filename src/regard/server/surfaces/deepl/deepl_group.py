"""The route groups of DeepL's API."""

from dataclasses import replace

from regard.server.surfaces.deepl.document_routes import document_routes
from regard.server.surfaces.deepl.glossaries import glossary_routes
from regard.server.surfaces.deepl.request_values import STATUSES, deepl_error
from regard.server.surfaces.deepl.translate_text import text_routes
from regard.server.surfaces.surface import SurfaceContext, with_error_statuses
from regard.server.web.application import MAX_BODY_BYTES, RouteGroup


def deepl_groups(context: SurfaceContext, allowed_origins: tuple[str, ...] = ()) -> list[RouteGroup]:
    """Return the routes of DeepL's API, versions 2 and 3; those of documents have a limit of their own."""
    routes = {**text_routes(context), **glossary_routes(context)}
    group = RouteGroup(
        with_error_statuses(routes, STATUSES),
        prefix="/v2/",
        error_response=deepl_error,
        accepts_get_body=True,  # deepl-python sends the type of languages so
        allowed_origins=allowed_origins,
    )
    groups = [group, replace(group, routes={}, prefix="/v3/")]
    documents = context.documents
    if documents is not None:
        routes = with_error_statuses(document_routes(context, documents), STATUSES)
        limit = documents.max_bytes + MAX_BODY_BYTES
        groups.append(replace(group, routes=routes, prefix="/v2/document", max_body_bytes=limit))
    return groups

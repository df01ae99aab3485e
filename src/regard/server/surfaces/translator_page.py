"""The translator page at `/`: a page for people, on the server's own API."""

from importlib.resources import files

from regard.server.web.application import RouteGroup
from regard.server.web.static_files import static_file_routes

INDEX = "translator.html"
FILES = ("css/translator.css", "js/translator/", "js/dom.js", "js/signals.js", "js/vendor/signals-core.js")
"""Files, and folders of them, that the page loads."""


def page_group() -> RouteGroup:
    """Return the routes of the page's files."""
    return RouteGroup(static_file_routes(files("regard") / "assets", INDEX, FILES))

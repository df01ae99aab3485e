"""The translation server: it listens first, loads its models after, and answers on every surface."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

from starlette.applications import Starlette

from regard.server.operations.health import health_routes
from regard.server.operations.key_access import KeyAccess
from regard.server.operations.model_reload import Report, reloading
from regard.server.operations.server_metrics import HttpMetrics
from regard.server.surfaces.deepl.deepl_group import deepl_groups
from regard.server.surfaces.libretranslate import libretranslate_groups
from regard.server.surfaces.native import native_group
from regard.server.surfaces.native_documents import native_document_groups
from regard.server.surfaces.surface import SurfaceContext
from regard.server.surfaces.translator_page import page_group
from regard.server.translation.document_jobs import DocumentJobs
from regard.server.translation.glossary_store import GlossaryStore
from regard.server.translation.requests import TranslationService
from regard.server.translation.serve_settings import ServeSettings
from regard.server.web.access_log import AccessLog, LogEntry
from regard.server.web.application import RouteGroup
from regard.server.web.web_server import WebServer

DRAIN_MARGIN = 2
"""Seconds that connections have beyond the drain time of the service, to send its last answers."""


def translation_groups(
    context: SurfaceContext, settings: ServeSettings, http: HttpMetrics
) -> list[RouteGroup]:
    """Return the route groups of all surfaces and of the page."""
    origins = settings.access.cors_origins
    return [
        *libretranslate_groups(context, origins),
        *deepl_groups(context, origins),
        native_group(context, origins),
        *native_document_groups(context, origins),
        RouteGroup(health_routes(context.service, http)),
        page_group(),
    ]


def run_translation_server(
    server: WebServer,
    service: TranslationService,
    settings: ServeSettings,
    *,
    access_log: AccessLog | None = None,
    on_ready: Callable[[], None] = lambda: None,
    report: Report = lambda _: None,
    more_groups: Sequence[RouteGroup] = (),
) -> None:
    """Serve until SIGTERM or SIGINT, then answer what was accepted; raise if a model cannot be loaded.

    `on_ready` is called once the models are loaded, `report` with a line about each reload
    and about a file of keys that cannot be written.
    """
    failures: list[BaseException] = []
    http = HttpMetrics()
    storage = settings.storage
    folder = None if storage.folder is None else Path(storage.folder)
    glossaries = GlossaryStore(folder, storage.dictionaries)
    documents = DocumentJobs(service, storage, settings.limits)
    access = KeyAccess(settings.access, report=report)
    context = SurfaceContext(service, settings.limits, access, glossaries, documents)

    def note_request(entry: LogEntry) -> None:
        http.observe(entry)
        if access_log is not None:
            with suppress(OSError):  # a full disk must not end the connection
                access_log(entry)

    async def start() -> None:
        try:
            await service.start()
            on_ready()
        except Exception as error:
            failures.append(error)
            server.stop()

    @asynccontextmanager
    async def run_service(_: Starlette) -> AsyncIterator[None]:
        starting = asyncio.create_task(start())
        try:
            async with (
                access.saving(),
                reloading(service, settings.limits.reload_seconds, report),
            ):
                yield
        finally:
            if not starting.done():
                starting.cancel()
                with suppress(asyncio.CancelledError):
                    await starting
            await service.drain()
            await documents.close()
            glossaries.close()

    with closing(access):
        server.serve(
            [*translation_groups(context, settings, http), *more_groups],
            drain_seconds=round(settings.limits.drain_seconds) + DRAIN_MARGIN,
            access_log=note_request,
            lifespan=run_service,
        )
    if failures:
        raise failures[0]

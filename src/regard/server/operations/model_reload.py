"""Reload of models: at SIGHUP, and when a model folder has changed."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from regard.errors import RegardError
from regard.server.translation.requests import ReloadResult, TranslationService

Report = Callable[[str], None]
LONGEST_PAUSE = 300.0
"""Seconds until a folder that could not be loaded is tried again, at most."""


@asynccontextmanager
async def reloading(service: TranslationService, seconds: float, report: Report) -> AsyncIterator[None]:
    """Reload changed models every so many seconds, 0 for never, and at SIGHUP, until the block ends."""
    hangup = asyncio.Event()
    loop = asyncio.get_running_loop()
    takes_signals = hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread()
    if takes_signals:
        loop.add_signal_handler(signal.SIGHUP, hangup.set)
    task = asyncio.create_task(_reload_on_change(service, seconds, hangup, report))
    try:
        yield
    finally:
        if takes_signals:
            loop.remove_signal_handler(signal.SIGHUP)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _reload_on_change(
    service: TranslationService, seconds: float, hangup: asyncio.Event, report: Report
) -> None:
    """Reload at each signal and after each pause, which doubles while a folder cannot be loaded."""
    pause = seconds
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(hangup.wait(), pause or None)
        is_requested = hangup.is_set()
        hangup.clear()
        if service.state != "ready":
            continue
        try:
            result = await service.reload()
        except (RegardError, OSError) as error:
            result = ReloadResult(failed={"reload": str(error)})
        pause = min(2 * pause, LONGEST_PAUSE) if result.failed else seconds
        for line in describe_reload(result, is_requested):
            report(line)


def describe_reload(result: ReloadResult, is_requested: bool) -> list[str]:
    """Return a line for each model that was replaced or could not be."""
    lines = [f"{name} was reloaded" for name in result.changed]
    lines += [f"{name} stays as it was: {reason}" for name, reason in result.failed.items()]
    if is_requested and not lines:
        lines = ["no model has changed"]
    return lines

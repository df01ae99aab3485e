"""A bar on the terminal while files are read; gone when they are."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from regard.text.compression import ChunkCallback


class FileProgressBar:
    """Counts the bytes of the files as they lie on disk, read once or several times."""

    def __init__(self, description: str, files: Iterable[Path], console: Console) -> None:
        self._bar = Progress(
            TextColumn("  {task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(
            description, total=sum(path.stat().st_size for path in files if path.is_file())
        )

    def __enter__(self) -> ChunkCallback:
        self._bar.start()
        return lambda piece: self._bar.advance(self._task, len(piece))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

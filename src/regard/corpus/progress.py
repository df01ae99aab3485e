"""Progress bar on the terminal while files are read."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from regard.text.compression import ChunkCallback


class FileProgressBar:
    """Counts the bytes of files as they are on disk; a file that is read twice is listed twice."""

    def __init__(self, description: str, files: Iterable[Path], console: Console) -> None:
        self._progress = Progress(
            TextColumn("  {task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(
            description, total=sum(path.stat().st_size for path in files if path.is_file())
        )

    def __enter__(self) -> ChunkCallback:
        self._progress.start()
        return lambda chunk: self._progress.advance(self._task, len(chunk))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

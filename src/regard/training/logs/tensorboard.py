"""TensorBoard output of the training metrics; needs the package tensorboard."""

from collections.abc import Callable
from pathlib import Path

from regard.errors import ConfigError
from regard.training.logs.metrics_file import MetricsRow

LOGGED_SCALARS = (
    "loss",
    "ppl",
    "lr",
    "grad_norm",
    "tokens_per_s",
    "pad_fraction",
    "memory_mb",
    "bleu",
    "chrf",
)


class TensorBoardWriter:
    """Writes the scalars of each row to a folder; a full disk does not end the training."""

    def __init__(self, folder: Path, notify: Callable[[str], None], resumed_step: int = 0) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            raise ConfigError(
                "train.tensorboard = true cannot work: it needs the package tensorboard: "
                'pip install "regard[tensorboard]"'
            ) from None
        self._writer = SummaryWriter(str(folder), purge_step=resumed_step + 1 if resumed_step else None)
        self._notify = notify
        self._has_failed = False

    def write(self, row: MetricsRow) -> None:
        for name in LOGGED_SCALARS:
            value = row.get(name)
            if isinstance(value, int | float):
                self._try(self._writer.add_scalar, f"{row['kind']}/{name}", value, row["step"])

    def close(self) -> None:
        self._try(self._writer.close)

    def _try(self, write: Callable[..., None], *args: object) -> None:
        if not self._has_failed:
            try:
                write(*args)
            except OSError as error:
                self._has_failed = True
                self._notify(
                    f"TensorBoard's files cannot be written: {error}; training continues without them"
                )

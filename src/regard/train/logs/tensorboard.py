"""The same figures for TensorBoard, where it is installed and asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path

from regard.errors import ConfigError

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
    """Writes the scalars of each event to `folder`; a full disk costs the board, not the training."""

    def __init__(self, folder: Path, notify: Callable[[str], None], resumed_step: int = 0) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            raise ConfigError(
                "train.tensorboard = true needs a package that is not here; "
                "pip install tensorboard, or set it to false"
            ) from None
        self._writer = SummaryWriter(str(folder), purge_step=resumed_step + 1 if resumed_step else None)
        self._say = notify
        self._broken = False

    def write(self, facts: Mapping[str, object]) -> None:
        for name in LOGGED_SCALARS:
            value = facts.get(name)
            if isinstance(value, int | float):
                self._try(self._writer.add_scalar, f"{facts['kind']}/{name}", value, facts["step"])

    def close(self) -> None:
        self._try(self._writer.close)

    def _try(self, write: Callable[..., None], *what: object) -> None:
        if not self._broken:
            try:
                write(*what)
            except OSError as error:
                self._broken = True
                self._say(f"TensorBoard's files cannot be written: {error}; training goes on without them")

"""Errors that a user can fix; the command line prints one line and exits with their exit code."""


class RegardError(Exception):
    """An error message that names the thing, what is wrong and what to do."""

    exit_code = 1


class ConfigError(RegardError):
    """A setting that is unknown, of the wrong type, or in conflict with others."""


def require_setting(condition: bool, setting: str, value: object, advice: str) -> None:
    """Raise `ConfigError` for a setting unless the condition holds."""
    if not condition:
        raise ConfigError(f"{setting} = {value} cannot work; {advice}")


class DataError(RegardError):
    """A text file that is missing, empty, misaligned or not UTF-8; a sentence that is too long."""


class NotFittedError(RegardError, ValueError, AttributeError):
    """A classifier that has not been trained; of the types that scikit-learn's error of this name has."""


class CheckpointError(RegardError):
    """A model folder that is missing or damaged, or a folder that is none."""


class FormatError(CheckpointError):
    """A model folder written by a later version of regard."""


class SaveError(CheckpointError):
    """A folder that could not be written: the disk is full or read-only."""

    exit_code = 3


class CommandStopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP: the command cleans up as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number

"""Mistakes that a user can put right; the command line prints them as one line and exits 1 (or as said)."""


class RegardError(Exception):
    """Says which thing, what is wrong with it, and what would be right."""

    exit_code = 1


class ConfigError(RegardError):
    """A setting that is unknown, of the wrong type, or that cannot work with the others."""


def require_setting(condition: bool, setting: str, value: object, advice: str) -> None:
    """Refuses a setting that cannot work, and says what would."""
    if not condition:
        raise ConfigError(f"{setting} = {value} cannot work; {advice}")


class DataError(RegardError):
    """A text file that is missing, empty, misaligned or not UTF-8; a sentence that is too long."""


class CheckpointError(RegardError):
    """A model folder that is missing, damaged, or not one."""


class FormatError(CheckpointError):
    """A model folder that a later regard wrote."""


class SaveError(CheckpointError):
    """A folder that could not be written: the disk is full, or may not be written to."""

    exit_code = 3

"""Mistakes that a user can put right; the command line prints them as one line and exits 1."""


class RegardError(Exception):
    """Says which thing, what is wrong with it, and what would be right."""


class ConfigError(RegardError):
    """A setting that is unknown, of the wrong type, or that cannot work with the others."""


def require(condition: bool, setting: str, value: object, right: str) -> None:
    """Refuses a setting that cannot work, and says what would."""
    if not condition:
        raise ConfigError(f"{setting} = {value} cannot work; {right}")


class DataError(RegardError):
    """A text file that is missing, empty, misaligned or not UTF-8; a sentence that is too long."""


class CheckpointError(RegardError):
    """A model folder that is missing, damaged, or not one."""

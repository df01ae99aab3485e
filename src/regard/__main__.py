"""Entry point of the command `regard` and of `python -m regard`."""

import signal
import sys

from regard.errors import CommandStopped


def start_command() -> None:
    """Import and run the command; a signal during the import exits as quietly as later."""
    try:
        _clean_up_on_stop_signals()
        from regard.cli.main import main
    except KeyboardInterrupt as stop:
        sys.exit(getattr(stop, "exit_code", 130))
    main()


def _clean_up_on_stop_signals() -> None:
    """Raise an error at the first SIGTERM or SIGHUP, which would end the process without any cleaning up.

    The second one does that. A training and the servers have handlers of their own.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _stop_command)


def _stop_command(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise CommandStopped(number)


if __name__ == "__main__":
    start_command()

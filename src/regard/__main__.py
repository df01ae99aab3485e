"""Entry point of the command `regard` and of `python -m regard`."""

import sys


def start_command() -> None:
    """Import and run the command; Ctrl-C during the import exits as quietly as later."""
    try:
        from regard.cli.main import main
    except KeyboardInterrupt:
        sys.exit(130)
    main()


if __name__ == "__main__":
    start_command()

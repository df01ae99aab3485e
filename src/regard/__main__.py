"""Entry point of `python -m regard`."""

from regard.cli.main import main

main()

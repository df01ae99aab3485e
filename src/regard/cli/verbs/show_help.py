"""`regard help`: the help of the command or of a verb."""

import argparse

EPILOG = """\
examples
  regard help
  regard help translate
"""


def add_help_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "help",
        help="show the help of a verb",
        description="Show the help of regard or of a verb, as --help does.",
        epilog=EPILOG,
    )
    parser.add_argument("verb", metavar="VERB", nargs="?", help="verb (default: the list of all)")
    parser.set_defaults(run=lambda options: _show_help(options, verbs))


def _show_help(
    options: argparse.Namespace, verbs: "argparse._SubParsersAction[argparse.ArgumentParser]"
) -> None:
    from regard.cli.main import main

    if options.verb is None:
        main([])
    elif options.verb in verbs.choices:
        verbs.choices[options.verb].print_help()
    else:
        main([options.verb])  # which says that there is no such verb

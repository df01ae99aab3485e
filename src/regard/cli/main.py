"""The command `regard VERB`: parse the arguments, run the verb, print an error as one line."""

import argparse
import errno
import io
import sys
from collections.abc import Sequence
from contextlib import suppress

from regard.cli.args.command_parser import CommandParser
from regard.cli.args.common_args import add_message_arguments
from regard.cli.args.number_args import check_numbers
from regard.cli.args.path_args import check_paths
from regard.cli.output import discard_stdout, ignore_zero_width, replace_closed_streams
from regard.cli.verbosity import message_level
from regard.cli.verbs import (
    check,
    classify,
    completion,
    demo,
    explore,
    forecast,
    info,
    keys,
    plot,
    score,
    serve,
    show_help,
    trace,
    train,
    translate,
    verify_resume,
)
from regard.errors import RegardError, SaveError
from regard.version import __version__

DESCRIPTION = """\
Train a Transformer on two text files, and translate with it; classify texts;
forecast time series; look inside.
"""

VERB_GROUPS = {
    "train": (
        demo.add_demo_parser,
        check.add_check_parser,
        train.add_train_parser,
        verify_resume.add_verify_resume_parser,
    ),
    "use": (
        translate.add_translate_parser,
        classify.add_classify_parser,
        forecast.add_forecast_parser,
        score.add_score_parser,
    ),
    "inspect": (
        info.add_info_parser,
        info.add_list_parser,
        plot.add_plot_parser,
        trace.add_look_parser,
        trace.add_trace_parser,
    ),
    "serve": (serve.add_serve_parser, keys.add_keys_parser, explore.add_explore_parser),
    "shell": (completion.add_completion_parser, show_help.add_help_parser),
}
"""The verbs by task, in the order of the help."""

EPILOG = """\
examples
  regard demo
  regard check --source en.txt --target fr.txt
  regard train --source en.txt --target fr.txt -o my
  regard train -o my                          resume, or go on
  regard translate my --text "A sentence."
  regard translate my new.txt -o new.fr.txt
  regard score my --source test.en --reference test.fr
  regard explore my
  regard serve my
  regard train --labelled train.tsv -o topics
  regard classify topics new.txt
  regard train --series load.csv -o load
  regard forecast load load.csv -o next.csv

in every verb
  -o FILE        where the output goes; - is stdout
  --json         the result as JSON, alone on stdout
  -q, --quiet    no progress and no notes, only errors
  -v, --verbose  versions, arguments, time and memory
  --debug        the traceback of an error

exit codes
  0    success
  1    error: stderr says what to change
  2    wrong arguments
  3    the disk is full or the output cannot be written; saved work is kept
  4    finished, but some lines could not be translated or classified
  129  ended because its terminal was closed
  130  interrupted with Ctrl-C
  143  ended by SIGTERM

`regard VERB --help` explains a verb.
"""
MAX_ERROR_LETTERS = 2000
UNWRITABLE_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)
"""A full disk, and a stdout that is closed."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with the code that `EPILOG` documents."""
    debug = False
    try:
        replace_closed_streams()
        ignore_zero_width()
        try:
            parser = _build_parser()
            if not (sys.argv[1:] if arguments is None else arguments):
                parser.print_help()
                return
            options = parser.parse_args(arguments)
            debug = options.debug
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, io.TextIOWrapper):  # a terminal may not be able to encode a character
                    stream.reconfigure(errors="replace")
            check_numbers(options.parser, options)
            check_paths(options.parser, options)
            with message_level(options):
                options.run(options)
        finally:
            sys.stdout.flush()
    except (SystemExit, GeneratorExit):
        raise
    except KeyboardInterrupt as stop:
        sys.exit(getattr(stop, "exit_code", 130))
    except BrokenPipeError:  # the reader of the output has closed it
        discard_stdout()
        sys.exit(1)
    except BaseException as error:  # a panic of a library in Rust is no Exception
        if debug:
            raise
        discard_stdout()
        with suppress(OSError):
            sys.stderr.write(_error_line(error) + "\n")
        sys.exit(_exit_code(error))


def _build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="regard", epilog=EPILOG)
    parser.add_argument("-V", "--version", action="version", version=f"regard {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, help=argparse.SUPPRESS)
    groups = []
    for title, functions in VERB_GROUPS.items():
        known = len(verbs._choices_actions)
        for add_parser in functions:
            add_parser(verbs)
        helps = verbs._choices_actions[known:]
        groups.append(f"{title}\n" + "".join(f"  {each.dest:<14} {each.help}\n" for each in helps))
    parser.description = "\n".join([DESCRIPTION, *groups])
    for verb in verbs.choices.values():
        add_message_arguments(verb)
        verb.set_defaults(parser=verb)
    return parser


def _exit_code(error: BaseException) -> int:
    if isinstance(error, RegardError):
        return error.exit_code
    is_unwritable = isinstance(error, OSError) and error.errno in UNWRITABLE_ERRNOS
    return SaveError.exit_code if is_unwritable else 1


def _error_line(error: BaseException) -> str:
    if isinstance(error, RegardError):
        message = str(error)
    elif isinstance(error, OSError) and error.errno in UNWRITABLE_ERRNOS:
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        message = f"{error.filename or 'stdout'} cannot be written: {reason}"
    elif isinstance(error, OSError):
        message = f"{error.filename or 'system error'}: {error.strerror or error}"
    elif type(error).__name__ == "OutOfMemoryError":  # of torch, which is not imported here
        message = "the GPU is out of memory; reduce data.batch_tokens or the size of the model"
    elif isinstance(error, MemoryError) or "DefaultCPUAllocator" in str(error):
        message = "the memory is not enough; reduce data.batch_tokens, --beam or the size of the model"
    else:
        message = (
            f"unexpected {type(error).__name__}: {str(error)[:200]}; this is a defect of regard: "
            "please report it with the traceback that --debug shows"
        )
    printable = "".join(letter if letter.isprintable() else " " for letter in message)
    line = f"regard: {' '.join(printable.split())}"
    return line if len(line) <= MAX_ERROR_LETTERS else f"{line[:MAX_ERROR_LETTERS]} ..."

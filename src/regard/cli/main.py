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
from regard.cli.messages import message_level
from regard.cli.output import discard_stdout, ignore_zero_width, replace_closed_streams
from regard.cli.verbs import (
    check,
    classify,
    completion,
    demo,
    explore,
    forecast,
    info,
    plot,
    score,
    trace,
    train,
    translate,
    verify_resume,
)
from regard.errors import RegardError, SaveError
from regard.version import __version__

DESCRIPTION = """\
Train a Transformer on two text files, and translate with it.

  regard demo                                        try it, in a few minutes
  regard check --source en.txt --target fr.txt       check a parallel corpus
  regard train --source en.txt --target fr.txt --out my     train a translator
  regard plot my -o curves.svg                       plot the training curves
  regard info my                                     languages, size, scores
  regard translate my < new.txt                      translate line by line
  regard score my --source test.en --reference test.fr      BLEU and chrF
  regard train --labelled train.tsv --out topics     train a text classifier
  regard classify topics < new.txt                   classify line by line
  regard train --series load.csv --out load          train a forecaster
  regard forecast load load.csv -o next.csv          forecast time series
  regard look my "A sentence."                       attention, in the terminal
  regard explore my                                  the same, in the browser
  regard trace my "A sentence." -o sentence.json     the same, as a file
"""

EPILOG = """\
exit codes
  0    success
  1    error: stderr says what to change; --debug shows a traceback
  2    wrong arguments
  3    the disk is full or the output cannot be written; saved work is kept
  4    finished, but some lines could not be translated or classified
  130  interrupted with Ctrl-C

regard VERB --help explains a verb.
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
    except KeyboardInterrupt:
        sys.exit(130)
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
    parser = CommandParser(
        prog="regard",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"regard {__version__}")
    _add_verbs(parser)
    return parser


def _add_verbs(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for add_parser in (
        *(
            check.add_check_parser,
            train.add_train_parser,
            plot.add_plot_parser,
            verify_resume.add_verify_resume_parser,
            translate.add_translate_parser,
            classify.add_classify_parser,
            forecast.add_forecast_parser,
        ),
        *(
            score.add_score_parser,
            trace.add_look_parser,
            explore.add_explore_parser,
            trace.add_trace_parser,
            info.add_info_parser,
            info.add_list_parser,
            demo.add_demo_parser,
            completion.add_completion_parser,
        ),
    ):
        add_parser(verbs)
    for verb in verbs.choices.values():
        add_message_arguments(verb)
        verb.set_defaults(parser=verb)


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

"""`regard VERB`: parse, call, and turn what went wrong into one line."""

import argparse
import io
import os
import sys
from collections.abc import Sequence

from regard.cli import (
    check,
    classify,
    demo,
    explore,
    forecast,
    plot,
    score,
    trace,
    train,
    translate,
    verify_resume,
)
from regard.errors import RegardError
from regard.version import __version__

DESCRIPTION = """\
Train a Transformer on two text files, and translate with it.

  regard demo                                             see it work, in a few minutes
  regard check --source en.txt --target fr.txt            what is wrong with your own pairs
  regard train --source en.txt --target fr.txt --out my   train on your own pairs
  regard plot my -o curves.svg                            see how the training went
  regard translate my < new.txt                           translate, one line in, one line out
  regard score my --source test.en --reference test.fr    how good it is
  regard train --labelled train.tsv --out topics          or: learn to label texts
  regard classify topics < new.txt                        and label new ones, one line in, one line out
  regard train --series load.csv --out load               or: learn the series of a table
  regard forecast load load.csv -o next.csv               and foretell what comes next
  regard look my "A sentence."                            how a translation came about, in the terminal
  regard explore my                                       look inside its translations, in the browser
  regard trace my "A sentence." -o sentence.json          the same as data, a page (.html) or a figure (.svg)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command and exits: 0 if it worked, 1 if the user can put something right, 130 on Ctrl-C.

    A training that stops because it cannot save exits with 3, for whoever starts it again by itself.
    """
    options = _build_parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a sentence may hold what the terminal cannot show
            stream.reconfigure(errors="replace")
    try:
        options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output has heard enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if options.debug:
            raise
        sys.stderr.write(_error_line(error) + "\n")
        sys.exit(error.exit_code if isinstance(error, RegardError) else 1)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="regard", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"regard {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for add in (
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
            demo.add_demo_parser,
        ),
    ):
        add(verbs)
    for verb in verbs.choices.values():
        verb.add_argument("--debug", action="store_true", help="show the traceback if something goes wrong")
    return parser


def _error_line(error: Exception) -> str:
    if isinstance(error, RegardError):
        said = str(error)
    elif isinstance(error, OSError):
        said = f"{error.filename or 'the system'}: {error.strerror or error}"
    elif type(error).__name__ == "OutOfMemoryError":  # torch's, which is not imported here
        said = "the GPU has too little memory; a smaller data.batch_tokens, or a smaller model, would fit"
    else:
        said = f"unexpected {type(error).__name__}: {str(error)[:200]}; --debug shows where it came from"
    printable = "".join(letter if letter.isprintable() else " " for letter in said)
    return f"regard: {' '.join(printable.split())}"

"""What can be asked of `regard translate`: flags in groups that teach, and the commission they make."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import (
    add_engine_arguments,
    add_search_arguments,
    apply_argument_defaults,
    reject_unused_flags,
    resolve_model_folder,
)
from regard.cli.documents import add_document_arguments
from regard.errors import require_setting
from regard.search.config import Sampling, SearchConfig

if TYPE_CHECKING:
    from regard.translation.line_worker import LineTranslator


def add_translate_arguments(parser: argparse.ArgumentParser) -> None:
    """All of them, in the order in which one wonders."""
    _add_file_arguments(parser)
    add_document_arguments(parser)
    _add_output_arguments(parser)
    _add_length_arguments(parser)
    _add_sampling_arguments(parser)
    _add_constraint_arguments(parser)
    _add_worker_arguments(parser)


def parse_search_config(options: argparse.Namespace) -> SearchConfig:
    """How to search; refused if it cannot work."""
    drawn = (options.temperature, options.top_k, options.top_p, options.seed)
    sampling = None
    if options.sample or any(value is not None for value in drawn):
        reject_unused_flags(options, ("beam",), "is for searching; what is drawn by chance has none")
        temperature = 1.0 if options.temperature is None else options.temperature
        sampling = Sampling(temperature, options.top_k, options.top_p, options.seed or 0)
    apply_argument_defaults(options)
    return SearchConfig(
        options.beam,
        options.alpha,
        options.n_best,
        options.min_length,
        options.max_length,
        sampling,
        options.no_repeat_ngram,
        allow_unknown=not options.no_unknown,
    )


def parse_line_translator(options: argparse.Namespace) -> "LineTranslator":
    """What translates, how, and in what form; what cannot work is said before the work."""
    search = parse_search_config(options)
    require_setting(
        options.workers is None or options.workers >= 1, "--workers", options.workers, "it must be at least 1"
    )
    from regard.checkpoint import WEIGHTS_FILE
    from regard.text.glossary import Glossary
    from regard.translation.engines import EngineOptions
    from regard.translation.line_worker import LineTranslator
    from regard.translation.model_folder import read_translation_folder
    from regard.translation.options import TranslateOptions
    from regard.translation.result import RowFormat

    asked = TranslateOptions(
        options.long,
        options.prefix,
        tuple(options.require),
        tuple(options.forbid),
        Glossary() if options.glossary is None else Glossary.read(options.glossary),
        options.alignments,
        options.confidences,
        tuple(resolve_model_folder(path) for path in options.ensemble),
        options.deterministic,
    )
    return LineTranslator(
        read_translation_folder(resolve_model_folder(options.model), size_only=[WEIGHTS_FILE]),
        EngineOptions(options.device, options.engine, options.precision, options.threads),
        search,
        asked,
        RowFormat(options.n_best > 1, options.scores, options.alignments, options.confidences, options.json),
    )


def _add_file_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "what to read and to write",
        "A pipe is answered as it goes. From a large file to a file, finished parts are kept\n"
        "beside the output until it is whole: after a kill or Ctrl-C the same command goes on.",
    )
    group.add_argument(
        "--input",
        metavar="FILE",
        type=Path,
        help="text to translate: plain, .gz, .xz or .zst, or a pipe (default: stdin)",
    )
    group.add_argument("--output", metavar="FILE", type=Path, help="where to write it (default: stdout)")
    group.add_argument(
        "--restart", action="store_true", help="forget unfinished work in OUTPUT.parts, and begin again"
    )
    group.add_argument(
        "--long",
        choices=("split", "cut", "skip"),
        default="split",
        help="a line too long for the model is translated sentence by sentence, "
        "cut off, or left empty (default: split)",
    )
    group.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        help="each line in trouble as JSON: its number, and what is wrong",
    )


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "what to write of each translation",
        "Without these its text alone. With them columns, tabs between: the source line's\n"
        "number (--n-best), score, text, alignment.",
    )
    group.add_argument(
        "--n-best",
        metavar="N",
        type=int,
        default=1,
        help="the N best, a line each (default: 1); at most the beam",
    )
    group.add_argument("--scores", action="store_true", help="the score: log-probability over length penalty")
    group.add_argument(
        "--alignments", action="store_true", help="which words belong together, as 0-0 1-2: source-target"
    )
    group.add_argument("--confidences", action="store_true", help="with --json: how sure it is of each word")
    group.add_argument(
        "--json", action="store_true", help="one JSON object for each line, with all that is known"
    )


def _add_length_arguments(parser: argparse.ArgumentParser) -> None:
    group = add_search_arguments(parser)
    group.add_argument(
        "--min-length", metavar="N", type=int, default=0, help="pieces it has at least (default: 0)"
    )
    group.add_argument(
        "--max-length", metavar="N", type=int, help="pieces it has at most (default: 50 more than the source)"
    )
    group.add_argument(
        "--no-repeat-ngram", metavar="N", type=int, help="no run of N pieces occurs twice (default: any may)"
    )
    group.add_argument(
        "--no-unknown",
        action="store_true",
        help="no characters that the vocabulary lacks (default: written byte by byte)",
    )


def _add_sampling_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("drawing by chance", "Instead of searching; any of these asks for it.")
    group.add_argument(
        "--sample", action="store_true", help="draw each piece as often as the model finds it likely"
    )
    group.add_argument(
        "--temperature", metavar="T", type=float, help="below 1 bolder, above 1 wilder (default: 1)"
    )
    group.add_argument("--top-k", metavar="K", type=int, help="only from the K likeliest pieces")
    group.add_argument(
        "--top-p", metavar="P", type=float, help="only from the likeliest that have probability P"
    )
    group.add_argument("--seed", metavar="N", type=int, help="another seed draws others (default: 0)")


def _add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what must be in it", "These hold inside the search.")
    group.add_argument("--prefix", metavar="TEXT", default="", help="how each translation begins")
    group.add_argument(
        "--glossary",
        metavar="FILE",
        type=Path,
        help="a phrase, a tab and its translation on each line: required where the phrase occurs",
    )
    group.add_argument(
        "--require",
        metavar="PHRASE",
        action="append",
        default=[],
        help="must be in each translation; may be repeated",
    )
    group.add_argument(
        "--forbid", metavar="PHRASE", action="append", default=[], help="must be in none; may be repeated"
    )


def _add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    group = add_engine_arguments(parser)
    group.add_argument(
        "--ensemble",
        metavar="MODEL",
        type=Path,
        action="append",
        default=[],
        help="another model with the same pieces: both write together; may be repeated",
    )
    group.add_argument(
        "--workers",
        metavar="N",
        type=int,
        help="processes that translate at once, each with the model (default: 1; with torch on a CPU one for "
        "each core for a large file)",
    )
    group.add_argument(
        "--deterministic",
        action="store_true",
        help="each sentence by itself: no neighbour changes even the last bit of a score; slower",
    )

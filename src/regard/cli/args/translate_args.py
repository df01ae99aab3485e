"""Arguments of `regard translate`, and the `LineTranslator` they describe."""

import argparse
from typing import TYPE_CHECKING

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.input_args import add_input_arguments
from regard.cli.args.model_args import (
    add_engine_arguments,
    add_search_arguments,
    apply_argument_defaults,
    reject_unused_flags,
    resolve_model_folder,
)
from regard.cli.args.number_args import NumberArgument, setting_argument
from regard.cli.args.path_args import INPUT_PATH, OUTPUT_FILE, OUTPUT_OF_DOCUMENTS
from regard.cli.documents import add_document_arguments
from regard.runtime import max_parallel
from regard.search.config import Sampling, SearchConfig

if TYPE_CHECKING:
    from regard.text.glossary import Glossary
    from regard.translation.line_worker import LineTranslator


def add_translate_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all arguments in groups."""
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    _add_file_arguments(parser)
    add_document_arguments(parser)
    _add_output_arguments(parser)
    _add_length_arguments(parser)
    _add_sampling_arguments(parser)
    _add_constraint_arguments(parser)
    _add_worker_arguments(parser)


def parse_search_config(options: argparse.Namespace) -> SearchConfig:
    """Return the search settings; raise an error if they are invalid."""
    sampling_flags = (options.temperature, options.top_k, options.top_p, options.seed)
    sampling = None
    if options.sample or any(value is not None for value in sampling_flags):
        reject_unused_flags(options, ("beam",), "is for beam search, not for sampling")
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
    """Return the worker of the translation job; raise an error for invalid options before loading a model."""
    search = parse_search_config(options)
    from regard.checkpoint import WEIGHTS_FILE
    from regard.translation.engines import EngineOptions
    from regard.translation.line_worker import LineTranslator
    from regard.translation.model_folder import read_translation_folder
    from regard.translation.options import TranslateOptions
    from regard.translation.result import RowFormat

    translate_options = TranslateOptions(
        options.long,
        options.prefix,
        tuple(options.require),
        tuple(options.forbid),
        _read_glossary(options),
        options.alignments,
        options.confidences,
        tuple(resolve_model_folder(path) for path in options.ensemble),
        options.deterministic,
    )
    return LineTranslator(
        read_translation_folder(resolve_model_folder(options.model), size_only=[WEIGHTS_FILE]),
        EngineOptions(options.device, options.engine, options.precision, options.threads),
        search,
        translate_options,
        RowFormat(options.n_best > 1, options.scores, options.alignments, options.confidences, options.json),
    )


def _read_glossary(options: argparse.Namespace) -> "Glossary":
    from regard.text.glossary import EMPTY_GLOSSARY, Glossary

    if options.glossary is None:
        reject_unused_flags(options, ("glossary_inflected", "source_language"), "needs --glossary FILE")
        return EMPTY_GLOSSARY
    languages = options.source_language, options.target_language
    return Glossary.read(options.glossary, languages, inflected=options.glossary_inflected)


def _add_file_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "input and output",
        "A pipe is translated as it arrives. From a large file to a file, finished\n"
        "parts are kept in OUT.parts: after a kill or Ctrl-C the same command\n"
        "resumes.",
    )
    add_input_arguments(
        parser,
        group,
        "text or documents to translate, text also as .gz, .xz or .zst, or a pipe (default: stdin)",
        "translate this text instead of a file; repeatable",
    )
    add_output_argument(
        group, "output file, or a folder for the outputs of the files (default: stdout)", OUTPUT_OF_DOCUMENTS
    )
    group.add_argument(
        "--restart", action="store_true", help="discard unfinished work in OUT.parts and start over"
    )
    group.add_argument(
        "--long",
        choices=("split", "cut", "skip"),
        default="split",
        help="a line too long for the model: translate it sentence by sentence, cut it off, or leave it "
        "empty (default: split)",
    )
    group.add_argument(
        "--report",
        metavar="FILE",
        type=OUTPUT_FILE,
        help="write each line with an issue as JSON: line number, kind, message",
    )


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "output format",
        "By default the translation alone. Otherwise tab-separated columns: number of\n"
        "the source line (with --n-best), score, text, alignment.",
    )
    group.add_argument(
        "--n-best",
        metavar="N",
        type=setting_argument(SearchConfig, "n_best"),
        default=1,
        help="write the N best translations, one per line (default: 1); at most the beam size",
    )
    group.add_argument(
        "--scores", action="store_true", help="score: log-probability divided by the length penalty"
    )
    group.add_argument(
        "--alignments", action="store_true", help="word alignment in Pharaoh format: 0-0 1-2, source-target"
    )
    group.add_argument("--confidences", action="store_true", help="with --json: the probability of each word")
    add_json_argument(group, "write one JSON object per line, with all details")


def _add_length_arguments(parser: argparse.ArgumentParser) -> None:
    group = add_search_arguments(parser)
    group.add_argument(
        "--min-length",
        metavar="N",
        type=setting_argument(SearchConfig, "min_length"),
        default=0,
        help="minimum length in tokens, %(type)s (default: 0)",
    )
    group.add_argument(
        "--max-length",
        metavar="N",
        type=setting_argument(SearchConfig, "max_length"),
        help="maximum length in tokens, %(type)s (default: source length + 50)",
    )
    group.add_argument(
        "--no-repeat-ngram",
        metavar="N",
        type=setting_argument(SearchConfig, "no_repeat_ngram"),
        help="never repeat an n-gram of N tokens, %(type)s (default: off)",
    )
    group.add_argument(
        "--no-unknown",
        action="store_true",
        help="never write characters outside the vocabulary (default: byte by byte)",
    )


def _add_sampling_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sampling", "Instead of beam search; each of these flags turns it on.")
    group.add_argument(
        "--sample", action="store_true", help="sample each token from the model's distribution"
    )
    group.add_argument(
        "--temperature",
        metavar="T",
        type=setting_argument(Sampling, "temperature"),
        help="%(type)s: below 1 more conservative, above 1 more varied (default: 1)",
    )
    group.add_argument(
        "--top-k",
        metavar="K",
        type=setting_argument(Sampling, "top_k"),
        help="sample from the K most probable tokens only, %(type)s",
    )
    group.add_argument(
        "--top-p",
        metavar="P",
        type=NumberArgument(float, 0, 1),
        help="sample from the most probable tokens with total probability P only (nucleus sampling)",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=setting_argument(Sampling, "seed"),
        help="random seed, %(type)s (default: 0)",
    )


def _add_constraint_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "constraints",
        "Required phrases and prefixes are enforced by constrained beam search.\n"
        "A translation with a forbidden phrase is searched again without it. If no\n"
        "translation satisfies all constraints, the line is left empty and reported.\n"
        "A glossary term takes the place of the word that the model would write for\n"
        "the phrase; a line where it cannot is reported.",
    )
    group.add_argument("--prefix", metavar="TEXT", default="", help="beginning of each translation")
    group.add_argument(
        "--glossary",
        metavar="FILE",
        type=INPUT_PATH,
        help="terms for phrases of the source: phrase<TAB>term per line, or a .csv or .tbx file",
    )
    group.add_argument(
        "--glossary-inflected",
        action="store_true",
        help="apply the glossary to other forms of its phrases, too: houses for house",
    )
    group.add_argument(
        "--source-language",
        metavar="CODE",
        help="language of the phrases in a glossary with several; --target-language is that of the terms",
    )
    group.add_argument(
        "--require",
        metavar="PHRASE",
        action="append",
        default=[],
        help="phrase that each translation must contain; repeatable",
    )
    group.add_argument(
        "--forbid",
        metavar="PHRASE",
        action="append",
        default=[],
        help="phrase that no translation may contain; repeatable",
    )


def _add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    group = add_engine_arguments(parser)
    group.add_argument(
        "--ensemble",
        metavar="MODEL",
        type=INPUT_PATH,
        action="append",
        default=[],
        help="another model with the same vocabulary; probabilities are averaged; repeatable",
    )
    group.add_argument(
        "--workers",
        metavar="N",
        type=NumberArgument(int, 1, max_parallel()),
        help="processes that translate in parallel, %(type)s, each with its own model (default: 1; with "
        "torch on a CPU one per core for a large file)",
    )
    group.add_argument(
        "--deterministic",
        action="store_true",
        help="translate each sentence on its own, so that no other sentence changes the last bit of a "
        "score; slower",
    )

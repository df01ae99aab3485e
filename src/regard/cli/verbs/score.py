"""`regard score`: BLEU, chrF and TER of translations; other modules score references, labels and series."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.file_advice import reject_files_as_models
from regard.cli.args.model_args import (
    ARGUMENT_DEFAULTS,
    add_engine_arguments,
    add_search_arguments,
    apply_argument_defaults,
    load_translator,
    reject_unused_flags,
    translate_with_progress,
)
from regard.cli.args.path_args import INPUT_NAME, INPUT_PATH, OUTPUT_FILE
from regard.cli.args.train_args import add_label_column_arguments
from regard.cli.comparison.scoring import (
    DEFAULT_METRICS,
    METRIC_TITLES,
    SHORT_TITLES,
    SIGNIFICANCE_LEVEL,
    TestSet,
    TestSetLines,
    format_score,
    parse_metrics,
)
from regard.cli.comparison.systems import System, list_systems, score_systems, write_system_scores
from regard.cli.output import format_json, write_output
from regard.cli.score_labels import run_score_labels
from regard.cli.score_references import check_score_references, run_score_references
from regard.cli.score_series import run_score_series
from regard.errors import RegardError
from regard.runtime import keep_freed_memory

if TYPE_CHECKING:
    from regard.metrics.comet import CometScore
    from regard.metrics.compare import MetricComparison
    from regard.metrics.translation import TranslationScore
    from regard.translation.engines import EngineInfo


MODEL_FLAGS = (*ARGUMENT_DEFAULTS, "threads")
SCORE_PRECISION = "fp32"
"""A score is of the model that was trained: int8 changes one line in twenty."""

EPILOG = """\
output
  BLEU, chrF and TER by sacreBLEU, with the signatures to report; `brevity` is
  the brevity penalty in BLEU. Tokenised lower-case BLEU is the figure of papers
  on Multi30k; it needs pip install "regard[moses]". A MODEL translates in fp32
  unless --precision says otherwise. See docs/scores.md.
  With --score-references: the log-probability and perplexity of each reference,
  tab-separated; with --json also its tokens, word confidences and alignment.

examples
  regard score runs/en-de --source test.en --reference test.de
  regard score runs/en-de --source test.en.gz --reference test.de.gz --json
  regard score --hypotheses mine.de --reference test.de --baseline theirs.de
  regard score runs/a runs/b --source test.en --reference test.de
  regard score runs/a --source test.en --reference test.de --comet wmt22-comet-da
  regard score runs/seeds --source test.en --reference test.de   mean over seeds
  regard score runs/de --score-references --source test.en --reference test.de
  regard score runs/trec --labelled test.tsv           accuracy, F1, calibration
  regard score runs/trec --labelled test.tsv --confusion-matrix confusion.svg
  regard score runs/load --series load.csv             backtest with baselines
"""


def add_score_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "score",
        help="evaluate a model, or translations in a file",
        description="Evaluate a translator, a file of translations, a classifier or a forecaster.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=INPUT_PATH,
        nargs="*",
        help="run or model folder of `regard train`; several translators are compared with the first",
    )
    _add_translation_arguments(parser)
    labelled = parser.add_argument_group("classifiers")
    labelled.add_argument("--labelled", metavar="FILE", type=INPUT_PATH, help="labelled test set")
    add_label_column_arguments(labelled)
    labelled.add_argument(
        "--confusion-matrix",
        metavar="FILE",
        type=OUTPUT_FILE,
        help="draw the confusion matrix to NAME.svg, .pdf or .png",
    )
    series = parser.add_argument_group("forecasters")
    series.add_argument("--series", metavar="FILE", type=INPUT_NAME, help="table to backtest on")
    series.add_argument("--all-rows", action="store_true", help="use all rows, including training rows")
    add_json_argument(parser, "print one JSON object")
    add_search_arguments(parser)
    add_engine_arguments(parser, default_precision=f"{SCORE_PRECISION}; auto: the one of the engine")
    parser.set_defaults(run=run_score)


def _add_translation_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "translations", "MODEL translates --source; or --hypotheses holds translations, without a MODEL."
    )
    group.add_argument("--source", metavar="FILE", type=INPUT_PATH, help="sentences that MODEL translates")
    group.add_argument(
        "--reference",
        metavar="FILE",
        type=INPUT_PATH,
        action="append",
        help="reference translations; repeatable, for several references of each sentence",
    )
    group.add_argument(
        "--hypotheses",
        metavar="FILE",
        type=INPUT_PATH,
        action="append",
        help="translations to evaluate, instead of MODEL or to compare with it; repeatable",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        type=INPUT_PATH,
        help="translations of another system: tests whether the difference is significant",
    )
    add_output_argument(group, "write the translations of MODEL to this file")
    group.add_argument(
        "--metrics",
        metavar="NAMES",
        type=parse_metrics,
        help=f"metrics with commas between them (default: {','.join(DEFAULT_METRICS)})",
    )
    group.add_argument(
        "--target-language",
        metavar="CODE",
        help="language of tokenised BLEU: de, fr, ... (default: the suffix of the --reference file)",
    )
    group.add_argument(
        "--comet",
        metavar="FOLDER",
        type=INPUT_PATH,
        help="also compute COMET, with the model in this folder; needs the package unbabel-comet",
    )
    group.add_argument(
        "--comet-python",
        metavar="PYTHON",
        help="the Python that has unbabel-comet (default: this one)",
    )
    group.add_argument(
        "--score-references",
        action="store_true",
        help="score the references by forced decoding instead of translating",
    )


def run_score(options: argparse.Namespace) -> None:
    keep_freed_memory()
    reject_files_as_models(options)
    models, files = options.model, options.hypotheses or []
    systems = list_systems(models, files)
    if len(systems) > 1:
        _score_several(options, systems)
        return
    options.model = systems[0].path if models else None
    options.hypotheses = files[0] if files else None
    if options.labelled is not None:
        run_score_labels(options)
        return
    reject_unused_flags(
        options,
        ("confusion_matrix", "text_column", "label_column"),
        "is for a classifier; give --labelled FILE",
    )
    if options.series is not None:
        run_score_series(options)
        return
    if options.reference is None:
        raise RegardError("there is no test set; give --reference FILE, or --labelled FILE, or --series FILE")
    if options.score_references:
        check_score_references(options)
        run_score_references(options)
        return
    _check_translation_flags(options)
    with _open_test_set(options) as (test_set, length):
        baseline = None if options.baseline is None else length.read_matching(options.baseline)
        hypotheses, engine = _hypotheses(options, length)
        scores, differences = test_set.score(
            [hypotheses] if baseline is None else [baseline, hypotheses], score_first=baseline is None
        )
    evaluation = _Evaluation(engine, length.lines, scores[-1], differences[-1])
    format_scores = _scores_as_json if options.json else _scores_as_table
    sys.stdout.write(format_scores(options, evaluation) + "\n")


def _score_several(options: argparse.Namespace, systems: Sequence[System]) -> None:
    """Score several systems on one test set, and compare them with the first."""
    for name in (
        "labelled",
        "series",
        "score_references",
        "baseline",
        "output",
        "confusion_matrix",
        "all_rows",
    ):
        reject_unused_flags(options, (name,), "is for a single MODEL; several are compared as translators")
    if options.reference is None:
        raise RegardError("there is no test set to compare on; give --reference FILE")
    _check_source_and_model_flags(options, any(system.is_model for system in systems))
    with _open_test_set(options) as (test_set, length):
        translations, engines = [], []
        for system in systems:
            which = {"model": system.path} if system.is_model else {"model": None, "hypotheses": system.path}
            texts, engine = _hypotheses(argparse.Namespace(**{**vars(options), **which}), length)
            translations.append(texts)
            engines.append(engine)
        results = score_systems(systems, engines, translations, test_set)
    write_system_scores(options, length.lines, results)


def _check_translation_flags(options: argparse.Namespace) -> None:
    if (options.model is None) == (options.hypotheses is None):
        raise RegardError("give either a MODEL to translate with, or --hypotheses FILE")
    if options.output is not None and options.model is None:
        raise RegardError("--out is for the translations of a MODEL; --hypotheses are already in a file")
    _check_source_and_model_flags(options, options.model is not None)


def _check_source_and_model_flags(options: argparse.Namespace, has_model: bool) -> None:
    if options.comet is None:
        reject_unused_flags(options, ("comet_python",), "is for --comet FOLDER")
        if has_model != (options.source is not None):
            raise RegardError("MODEL and --source FILE belong together; give both or neither")
    elif options.source is None:
        raise RegardError("COMET compares translations with their source, too; give --source FILE")
    if not has_model:
        flags = tuple(name for name in MODEL_FLAGS if options.comet is None or name != "device")
        reject_unused_flags(options, flags, "is for translating; --hypotheses are already translated")
    options.precision = options.precision or SCORE_PRECISION
    options.metrics = options.metrics or DEFAULT_METRICS
    apply_argument_defaults(options)


@contextmanager
def _open_test_set(options: argparse.Namespace) -> Iterator[tuple[TestSet, TestSetLines]]:
    """Read the references, and load what the metrics need, before anything is translated."""
    from regard.text.corpus_files import read_sentences

    language = _bleu_language(options)
    first, *others = options.reference
    references = [read_sentences(first)]
    length = TestSetLines(first, len(references[0]))
    references += [length.read_matching(path) for path in others]
    test_set = TestSet(references, language, options.metrics)
    if options.comet is None:
        yield test_set, length
        return
    from regard.metrics.comet import CometModel

    sources = length.read_matching(options.source)
    with CometModel(options.comet, options.comet_python, sys.stderr.isatty()) as comet:
        yield test_set._replace(comet=comet, sources=sources, device=options.device), length


def _bleu_language(options: argparse.Namespace) -> str | None:
    """Return the language of tokenised BLEU; print a note if it is unknown."""
    from regard.metrics.translation import SACREMOSES_MISSING, moses_languages, moses_tokenizer
    from regard.text.compression import COMPRESSED_SUFFIXES

    if "bleu" not in options.metrics:
        reject_unused_flags(options, ("target_language",), "is for BLEU, which --metrics leaves out")
        return None
    if options.target_language is not None:
        moses_tokenizer(options.target_language)  # check the language before translating
        return options.target_language
    name = options.reference[0]
    suffix = (name.with_suffix("") if name.suffix in COMPRESSED_SUFFIXES else name).suffix.removeprefix(".")
    known = moses_languages()
    if suffix in known:
        return suffix
    sys.stderr.write(
        "tokenised BLEU is omitted; it needs --target-language\n" if known else f"{SACREMOSES_MISSING}\n"
    )
    return None


def _hypotheses(options: argparse.Namespace, length: TestSetLines) -> "tuple[list[str], EngineInfo | None]":
    """Return the translations, with the engine if a model made them."""
    if options.model is None:
        return length.read_matching(options.hypotheses), None
    sources = length.read_matching(options.source)
    translator = load_translator(options)
    translations = translate_with_progress(translator, sources, options)
    if options.output is not None:
        write_output(options.output, "".join(line + "\n" for line in translations).encode("utf-8"))
    return translations, translator.engine_info


class _Evaluation(NamedTuple):
    """The scores of translations, with the differences from a baseline if there is one."""

    engine: "EngineInfo | None"
    sentences: int
    scores: "Mapping[str, TranslationScore | CometScore]"
    differences: "Mapping[str, MetricComparison]"


def _scores_as_json(options: argparse.Namespace, evaluation: _Evaluation) -> str:
    engine, sentences, scores, differences = evaluation
    files = ("model", "source", "hypotheses", "baseline")
    report: dict[str, Any] = {
        name: str(getattr(options, name)) for name in files if getattr(options, name) is not None
    }
    report["references"] = list(map(str, options.reference))
    if engine is not None:
        report |= {"beam": options.beam, "alpha": options.alpha, **engine._asdict()}
    report |= {"sentences": sentences, "scores": {name: asdict(score) for name, score in scores.items()}}
    if differences:
        report["against_baseline"] = {name: asdict(difference) for name, difference in differences.items()}
    return format_json(report)


def _scores_as_table(options: argparse.Namespace, evaluation: _Evaluation) -> str:
    engine, sentences, scores, differences = evaluation
    search = "" if engine is None else f", beam {options.beam}, alpha {options.alpha:g}, {' '.join(engine)}"
    lines = [
        f"{options.model or options.hypotheses} against {_join_paths(options.reference)}: "
        f"{sentences:,} sentences{search}",
        f"{'':26}  score  brevity  tokens  reference  signature",
    ]
    lines += [
        f"{METRIC_TITLES[name]:26} {format_score(name, score.score):>6}  {_bleu_lengths(score):26}  "
        f"{score.signature}"
        for name, score in scores.items()
    ]
    for name, difference in differences.items():
        verdict = "significant" if difference.p_value < SIGNIFICANCE_LEVEL else "not significant"
        lines.append(
            f"{SHORT_TITLES[name]} {format_score(name, difference.score - difference.baseline, '+')} "
            f"over {options.baseline}, which has {format_score(name, difference.baseline)}: {verdict}, "
            f"p = {difference.p_value:.3f} ({difference.signature})"
        )
    return "\n".join(lines)


def _join_paths(paths: Sequence[Path]) -> str:
    return " and ".join(map(str, paths))


def _bleu_lengths(score: "TranslationScore | CometScore") -> str:
    """Return the columns that only BLEU has."""
    from regard.metrics.translation import BleuScore

    if not isinstance(score, BleuScore):
        return ""
    return f"{score.brevity_penalty:7.3f}  {score.hypothesis_length:6}  {score.reference_length:9}"

"""`regard score --score-references`: how likely a model holds translations to be that others have made."""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.model_args import (
    ARGUMENT_DEFAULTS,
    add_engine_arguments,
    add_search_arguments,
    apply_argument_defaults,
    load_translator,
    reject_unused_flags,
    resolve_model_folder,
    translate_with_progress,
)
from regard.cli.output import reject_unwritable, write_output
from regard.cli.score_labels import run_score_labels
from regard.cli.score_series import run_score_series
from regard.errors import DataError, RegardError
from regard.runtime import keep_freed_memory

if TYPE_CHECKING:
    from regard.metrics.compare import MetricComparison
    from regard.metrics.translation import BleuScore, ChrfScore
    from regard.translation.engines import EngineInfo
    from regard.translation.force_decode import ForcedTranslation


COMPARISON_FLAGS = ("hypotheses", "baseline", "output", "target_language")
TRANSLATION_FLAGS = ("beam", "alpha", "engine", "precision")


def check_score_references(options: argparse.Namespace) -> None:
    """What does not go with it is said before the work."""
    if options.model is None or options.source is None:
        raise RegardError(
            "--score-references needs a MODEL and --source FILE: which model, and what was translated"
        )
    reject_unused_flags(
        options, COMPARISON_FLAGS, "is for comparing; --score-references compares with nothing"
    )
    reject_unused_flags(
        options,
        TRANSLATION_FLAGS,
        "is for translating; --score-references translates nothing, and reads in fp32",
    )
    apply_argument_defaults(options)


def run_score_references(options: argparse.Namespace) -> None:
    import torch
    from rich.console import Console
    from rich.progress import Progress

    from regard.text.corpus_files import read_texts
    from regard.train.device import choose_device
    from regard.translation.force_decode import force_decode_texts
    from regard.translation.model_folder import load_translation_model

    sources, targets = read_texts(options.source), read_texts(options.reference)
    if len(sources) != len(targets):
        raise DataError(
            f"{options.source} has {len(sources)} lines and {options.reference} {len(targets)}; "
            "they must match line by line"
        )
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    model = load_translation_model(resolve_model_folder(options.model))
    transformer = model.transformer.to(choose_device(options.device))
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("reading", total=len(sources))
        given = force_decode_texts(
            transformer, model.tokenizer, sources, targets, lambda done: progress.advance(bar, done)
        )
    if options.json:
        sys.stdout.write(_references_as_json(options, given) + "\n")
        return
    sys.stdout.write("".join(f"{one.log_probability:.4f}\t{one.perplexity:.4f}\n" for one in given))
    tokens, log_probability, perplexity = _corpus_totals(given)
    sys.stderr.write(
        f"{len(given):,} translations, {tokens:,} pieces and ends: "
        f"log-probability {log_probability:.2f}, perplexity {perplexity:.4f}\n"
    )


def _corpus_totals(given: "list[ForcedTranslation]") -> tuple[int, float, float]:
    tokens = sum(len(one.log_probabilities) for one in given)
    log_probability = math.fsum(one.log_probability for one in given)
    return tokens, log_probability, math.exp(-log_probability / max(tokens, 1))


def _references_as_json(options: argparse.Namespace, given: "list[ForcedTranslation]") -> str:
    from regard.inference.alignment import format_pharaoh

    tokens, log_probability, perplexity = _corpus_totals(given)
    found = {
        "model": str(options.model),
        "source": str(options.source),
        "reference": str(options.reference),
        "sentences": len(given),
        "tokens": tokens,
        "log_probability": log_probability,
        "perplexity": perplexity,
        "given": [asdict(one) | {"alignment": format_pharaoh(one.alignment)} for one in given],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


METRIC_TITLES = {
    "bleu": "BLEU",
    "bleu_lower": "BLEU, lower-case",
    "chrf": "chrF",
    "chrf_lower": "chrF, lower-case",
    "bleu_tokenised_lower": "BLEU, tokenised lower-case",
}
SIGNIFICANCE_LEVEL = 0.05
MODEL_FLAGS = (*ARGUMENT_DEFAULTS, "threads")

EPILOG = """\
what it prints
  BLEU and chrF by sacreBLEU, each with the signature that belongs beside it in print; `brevity` is
  what BLEU was multiplied by because the translations are short. Tokenised lower-case BLEU is the
  figure of papers on Multi30k; it needs pip install "regard[moses]". docs/scores.md says more.
  With --score-references: for each reference its log-probability and its perplexity, a tab between them; with
  --json also each piece, each word's confidence, and which source word it goes back to.

examples
  regard score runs/en-de --source test.en --reference test.de
  regard score runs/en-de --source test.en.gz --reference test.de.gz --beam 5 --alpha 1 --json
  regard score --hypotheses mine.de --reference test.de --baseline theirs.de
  regard score runs/trec --labelled test.tsv             accuracy, F1 and calibration of a classifier
  regard score runs/trec --labelled test.tsv --confusion-matrix confusion.svg
  regard score runs/load --series load.csv             errors of a forecaster, beside baselines
  regard score runs/en-de --score-references --source test.en --reference test.de > likely.tsv
"""


def add_score_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "score",
        help="BLEU and chrF of a model, or of translations in a file; errors of a forecaster",
        description="Translate a test set with a model, or take translations from a file, and score them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=Path, nargs="?", help="folder that `regard train` wrote"
    )
    for flag, said in (
        ("--source", "with MODEL: the sentences to translate"),
        ("--hypotheses", "instead of MODEL: translations to score"),
        ("--baseline", "translations by another system: is the difference more than luck?"),
        ("--output", "with MODEL: write its translations there"),
    ):
        parser.add_argument(flag, metavar="FILE", type=Path, help=said)
    parser.add_argument("--reference", metavar="FILE", type=Path, help="what they should be")
    parser.add_argument(
        "--labelled", metavar="FILE", type=Path, help="with a classifier for MODEL: texts and their labels"
    )
    parser.add_argument(
        "--confusion-matrix",
        metavar="FILE.svg",
        type=Path,
        help="with --labelled: draw what is taken for what",
    )
    parser.add_argument(
        "--series", metavar="FILE", help="with a forecaster for MODEL: score it on this table"
    )
    parser.add_argument(
        "--all-rows", action="store_true", help="with --series: on all rows, learnt from or not"
    )
    parser.add_argument(
        "--target-language",
        metavar="CODE",
        help="how to tokenise for tokenised BLEU: de, fr, ... (default: the ending of the reference's name)",
    )
    parser.add_argument(
        "--score-references",
        action="store_true",
        help="translate nothing: how likely does MODEL hold the references to be?",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_search_arguments(parser)
    add_engine_arguments(parser)
    parser.set_defaults(run=run_score)


def run_score(options: argparse.Namespace) -> None:
    keep_freed_memory()
    if options.labelled is not None:
        run_score_labels(options)
        return
    reject_unused_flags(
        options, ("confusion_matrix",), "is for --labelled FILE, on which a classifier is measured"
    )
    if options.series is not None:
        run_score_series(options)
        return
    if options.reference is None:
        raise RegardError(
            "there is nothing to compare with; give --reference FILE, or --labelled FILE, or --series FILE"
        )
    if options.score_references:
        check_score_references(options)
        run_score_references(options)
        return
    _check_translation_flags(options)
    from regard.metrics.compare import compare_translations
    from regard.metrics.translation import score_translations
    from regard.text.corpus_files import read_texts

    language = _bleu_language(options)
    references = read_texts(options.reference)
    baseline = (
        None
        if options.baseline is None
        else _read_matching_lines(options.baseline, options.reference, references)
    )
    hypotheses, how = _hypotheses(options, references)
    scores = score_translations(hypotheses, references, language)
    differences = {} if baseline is None else compare_translations(hypotheses, baseline, references)
    show = _scores_as_json if options.json else _scores_as_table
    sys.stdout.write(show(options, how, len(references), scores, differences) + "\n")


def _check_translation_flags(options: argparse.Namespace) -> None:
    if (options.model is None) == (options.hypotheses is None):
        raise RegardError("give a MODEL to translate with, or --hypotheses FILE: one of the two")
    if (options.model is None) != (options.source is None):
        raise RegardError("MODEL and --source FILE go together: what to translate with, and what")
    if options.output is not None:
        if options.model is None:
            raise RegardError("--output is for what a MODEL translates; --hypotheses are in a file already")
        reject_unwritable(options.output)
    if options.model is None:
        reject_unused_flags(options, MODEL_FLAGS, "is for translating; --hypotheses are translated already")
    apply_argument_defaults(options)


def _bleu_language(options: argparse.Namespace) -> str | None:
    """As asked for, or by the name of the reference; says so where neither tells."""
    from regard.metrics.translation import SACREMOSES_MISSING, moses_languages, moses_tokenizer
    from regard.text.compression import COMPRESSED_SUFFIXES

    if options.target_language is not None:
        moses_tokenizer(options.target_language)  # what cannot work is said before the work
        return options.target_language
    name = options.reference
    ending = (name.with_suffix("") if name.suffix in COMPRESSED_SUFFIXES else name).suffix.removeprefix(".")
    known = moses_languages()
    if ending in known:
        return ending
    sys.stderr.write(
        "tokenised BLEU is left out; --target-language would allow it\n"
        if known
        else f"{SACREMOSES_MISSING}\n"
    )
    return None


def _hypotheses(
    options: argparse.Namespace, references: Sequence[str]
) -> "tuple[list[str], EngineInfo | None]":
    """The translations, and what made them where that was a model."""
    if options.model is None:
        return _read_matching_lines(options.hypotheses, options.reference, references), None
    sources = _read_matching_lines(options.source, options.reference, references)
    translator = load_translator(options)
    found = translate_with_progress(translator, sources, options)
    if options.output is not None:
        write_output(options.output, "".join(line + "\n" for line in found).encode("utf-8"))
    return found, translator.engine_info


def _read_matching_lines(path: Path, reference: Path, references: Sequence[str]) -> list[str]:
    """The lines of a file that must have one for each reference."""
    from regard.text.corpus_files import read_texts

    lines = read_texts(path)
    if len(lines) != len(references):
        raise DataError(
            f"{path} has {len(lines)} lines and {reference} {len(references)}; they must match line by line"
        )
    return lines


def _scores_as_json(
    options: argparse.Namespace,
    how: "EngineInfo | None",
    sentences: int,
    scores: "Mapping[str, BleuScore | ChrfScore]",
    differences: "Mapping[str, MetricComparison]",
) -> str:
    files = ("model", "source", "hypotheses", "reference", "baseline")
    found: dict[str, Any] = {
        name: str(getattr(options, name)) for name in files if getattr(options, name) is not None
    }
    if how is not None:
        found |= {"beam": options.beam, "alpha": options.alpha, **how._asdict()}
    found |= {"sentences": sentences, "scores": {name: asdict(score) for name, score in scores.items()}}
    if differences:
        found["against_baseline"] = {name: asdict(found) for name, found in differences.items()}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _scores_as_table(
    options: argparse.Namespace,
    how: "EngineInfo | None",
    sentences: int,
    scores: "Mapping[str, BleuScore | ChrfScore]",
    differences: "Mapping[str, MetricComparison]",
) -> str:
    by = "" if how is None else f", beam {options.beam}, alpha {options.alpha:g}, {' '.join(how)}"
    lines = [
        f"{options.model or options.hypotheses} against {options.reference}: {sentences:,} sentences{by}",
        f"{'':26}  score  brevity  tokens  reference  signature",
    ]
    lines += [
        f"{METRIC_TITLES[name]:26}  {score.score:5.2f}  {_bleu_lengths(score):26}  {score.signature}"
        for name, score in scores.items()
    ]
    for name, found in differences.items():
        verdict = "more than luck" if found.p_value < SIGNIFICANCE_LEVEL else "may be luck"
        lines.append(
            f"{METRIC_TITLES[name]} {found.score - found.baseline:+.2f} on {options.baseline}, "
            f"which has {found.baseline:.2f}: {verdict}, p = {found.p_value:.3f} ({found.signature})"
        )
    return "\n".join(lines)


def _bleu_lengths(score: "BleuScore | ChrfScore") -> str:
    """The columns that only BLEU has."""
    from regard.metrics.translation import BleuScore

    if not isinstance(score, BleuScore):
        return ""
    return f"{score.brevity_penalty:7.3f}  {score.hypothesis_length:6}  {score.reference_length:9}"

"""`regard score MODEL --score-references`: the probabilities of references under a model."""

import argparse
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from regard.cli.args.model_args import apply_argument_defaults, reject_unused_flags, resolve_model_folder
from regard.cli.comparison.scoring import TestSetLines
from regard.cli.output import format_json
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.translation.force_decode import ForcedTranslation

COMPARISON_FLAGS = ("hypotheses", "baseline", "output", "target_language", "metrics", "comet", "comet_python")
TRANSLATION_FLAGS = ("beam", "alpha", "engine", "precision")


def check_score_references(options: argparse.Namespace) -> None:
    """Reject flags that conflict with --score-references."""
    if options.model is None or options.source is None:
        raise RegardError("--score-references needs a MODEL and --source FILE")
    if len(options.reference) > 1:
        raise RegardError("--score-references scores one file of references; give --reference once")
    reject_unused_flags(
        options, COMPARISON_FLAGS, "is for comparing translations, not for --score-references"
    )
    reject_unused_flags(
        options,
        TRANSLATION_FLAGS,
        "is for translating; --score-references decodes the references in fp32",
    )
    apply_argument_defaults(options)


def run_score_references(options: argparse.Namespace) -> None:
    import torch
    from rich.console import Console
    from rich.progress import Progress

    from regard.text.corpus_files import read_sentences
    from regard.training.device import choose_device
    from regard.translation.force_decode import force_decode_texts
    from regard.translation.model_folder import load_translation_model

    (reference,) = options.reference
    sources = read_sentences(options.source)
    targets = TestSetLines(options.source, len(sources)).read_matching(reference)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    model = load_translation_model(resolve_model_folder(options.model))
    transformer = model.transformer.to(choose_device(options.device))
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("scoring", total=len(sources))
        references = force_decode_texts(
            transformer, model.tokenizer, sources, targets, lambda done: progress.advance(bar, done)
        )
    if options.json:
        sys.stdout.write(_references_as_json(options, references) + "\n")
        return
    sys.stdout.write("".join(f"{each.log_probability:.4f}\t{each.perplexity:.4f}\n" for each in references))
    tokens, log_probability, perplexity = _corpus_totals(references)
    sys.stderr.write(
        f"{len(references):,} references, {tokens:,} tokens including end tokens: "
        f"log-probability {log_probability:.2f}, perplexity {perplexity:.4f}\n"
    )


def _corpus_totals(references: "list[ForcedTranslation]") -> tuple[int, float, float]:
    tokens = sum(len(each.log_probabilities) for each in references)
    log_probability = math.fsum(each.log_probability for each in references)
    return tokens, log_probability, math.exp(-log_probability / max(tokens, 1))


def _references_as_json(options: argparse.Namespace, references: "list[ForcedTranslation]") -> str:
    from regard.inference.alignment import format_pharaoh

    tokens, log_probability, perplexity = _corpus_totals(references)
    report = {
        "model": str(options.model),
        "source": str(options.source),
        "reference": str(options.reference[0]),
        "sentences": len(references),
        "tokens": tokens,
        "log_probability": log_probability,
        "perplexity": perplexity,
        "references": [asdict(each) | {"alignment": format_pharaoh(each.alignment)} for each in references],
    }
    return format_json(report)

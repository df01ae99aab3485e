"""`regard score --given`: how likely a model holds translations to be that others have made."""

import argparse
import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from regard.cli.translator import model_folder, settle
from regard.cli.unused import refuse_unused
from regard.errors import DataError, RegardError

if TYPE_CHECKING:
    from regard.tasks.given import Given

COMPARING = ("hypotheses", "baseline", "output", "target_language")
SEARCHING = ("beam", "alpha", "engine", "precision")


def check_given(options: argparse.Namespace) -> None:
    """What does not go with it is said before the work."""
    if options.model is None or options.source is None:
        raise RegardError("--given needs a MODEL and --source FILE: which model, and what was translated")
    refuse_unused(options, COMPARING, "is for comparing; --given compares with nothing")
    refuse_unused(options, SEARCHING, "is for translating; --given translates nothing, and reads in fp32")
    settle(options)


def run_given(options: argparse.Namespace) -> None:
    import torch
    from rich.console import Console
    from rich.progress import Progress

    from regard.tasks.folder import load_model
    from regard.tasks.given import read_given
    from regard.text.corpus import read_texts
    from regard.train.device import choose_device

    sources, targets = read_texts(options.source), read_texts(options.reference)
    if len(sources) != len(targets):
        raise DataError(
            f"{options.source} has {len(sources)} lines and {options.reference} {len(targets)}; "
            "they must match line by line"
        )
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    model = load_model(model_folder(options.model))
    transformer = model.transformer.to(choose_device(options.device))
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("reading", total=len(sources))
        given = read_given(
            transformer, model.tokenizer, sources, targets, lambda done: progress.advance(bar, done)
        )
    if options.json:
        sys.stdout.write(_as_json(options, given) + "\n")
        return
    sys.stdout.write("".join(f"{one.log_probability:.4f}\t{one.perplexity:.4f}\n" for one in given))
    tokens, log_probability, perplexity = _together(given)
    sys.stderr.write(
        f"{len(given):,} translations, {tokens:,} pieces and ends: "
        f"log-probability {log_probability:.2f}, perplexity {perplexity:.4f}\n"
    )


def _together(given: "list[Given]") -> tuple[int, float, float]:
    tokens = sum(len(one.log_probabilities) for one in given)
    log_probability = math.fsum(one.log_probability for one in given)
    return tokens, log_probability, math.exp(-log_probability / max(tokens, 1))


def _as_json(options: argparse.Namespace, given: "list[Given]") -> str:
    from regard.engine.reading import pharaoh

    tokens, log_probability, perplexity = _together(given)
    found = {
        "model": str(options.model),
        "source": str(options.source),
        "reference": str(options.reference),
        "sentences": len(given),
        "tokens": tokens,
        "log_probability": log_probability,
        "perplexity": perplexity,
        "given": [asdict(one) | {"alignment": pharaoh(one.alignment)} for one in given],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)

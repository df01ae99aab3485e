"""`regard demo`: train a small translator on the built-in phrasebook, and evaluate it."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.common_args import add_json_argument, add_output_argument
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import RUN_FOLDER
from regard.cli.output import command_name, print_json
from regard.cli.verbosity import progress_console

if TYPE_CHECKING:
    from rich.console import Console

    from regard.demo.phrasebook.corpus import Phrasebook, PhrasePair
    from regard.translation.run import TranslationRun

SHOWN_SENTENCES = 8
MAX_PAIRS, MAX_STEPS = 2_000_000, 10**6
TRACE_PAGE = "translation.html"

DESCRIPTION = """\
The demo generates an English-French phrasebook from a grammar, trains a small
Transformer on it, translates unseen sentences, prints how many are correct,
and writes a page with the trace of one translation. No network is needed. A
second run skips the training and evaluates the existing model.
"""

EPILOG = """\
examples
  regard demo
  regard demo --out /tmp/demo --pairs 20000 --steps 200       a short one
"""


def add_demo_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "demo",
        help="train and evaluate a translator on the built-in phrasebook",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_output_argument(
        parser, "run folder (default: runs/demo)", RUN_FOLDER, "DIR", "out", default=Path("runs/demo")
    )
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=NumberArgument(int, 1, MAX_PAIRS),
        default=300_000,
        help="training pairs, %(type)s (default: 300,000)",
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=NumberArgument(int, 1, MAX_STEPS),
        default=2000,
        help="training steps, %(type)s (default: 2,000)",
    )
    add_json_argument(parser, "print the scores as one JSON object, the progress on stderr")
    parser.set_defaults(run=run_demo)


def run_demo(options: argparse.Namespace) -> None:
    console = progress_console(options)
    if (options.out / "model").is_dir():
        console.print(f"{options.out / 'model'} exists; delete {options.out} to train again")
    elif not _train_demo(options, console):
        console.print("Stopped early. Run the demo again to resume the training.")
        return
    document = _print_results(options.out, console)
    if options.json:
        print_json(document)


def _train_demo(options: argparse.Namespace, console: "Console") -> bool:
    """Train the model; return whether the training finished."""
    from regard.demo.phrasebook.corpus import phrasebook
    from regard.plots.curves_page import render_model_card_svg
    from regard.runtime import keep_freed_memory
    from regard.training.run_folder import reject_unusable_folder
    from regard.translation.task import train_translation

    out: Path = options.out
    text = out.parent / f"{out.resolve().name}-text"
    run = demo_settings(text, options.steps)
    reject_unusable_folder(out)
    keep_freed_memory()
    with console.status("writing the phrasebook"):
        write_phrasebook(phrasebook(train=options.pairs), text)
    console.print(f"Training on {options.pairs:,} pairs of the phrasebook, written to {text}")
    return train_translation(run, out, console, render_curves=render_model_card_svg).stop_reason == "steps"


def demo_settings(text: Path, steps: int) -> "TranslationRun":
    """Return settings that learn the phrasebook in a few minutes on two CPU cores.

    Its sentences are short and plentiful, so batches are small and dropout is off.
    """
    from regard.data.config import DataConfig
    from regard.model.config import TINY
    from regard.training.loop import TrainConfig
    from regard.training.optimizer import OptimizerConfig
    from regard.translation.run import TranslationRun

    return TranslationRun(
        model=replace(TINY, encoder_layers=2, decoder_layers=2, d_ff=512, dropout=0.0, vocab_size=2000),
        data=DataConfig(
            source=(str(text / "train.en"),),
            target=(str(text / "train.fr"),),
            valid_source=str(text / "valid.en"),
            valid_target=str(text / "valid.fr"),
            batch_tokens=1024,
            bleu_pairs=200,
        ),
        optimizer=OptimizerConfig(peak=0.003, warmup=300, cooldown=max(1, steps // 2)),
        train=TrainConfig(steps=steps, save_every=500),
    )


def write_phrasebook(book: "Phrasebook", folder: Path) -> None:
    """Write the splits of the phrasebook as the files that `regard train` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid", "test"):
        pairs: list[PhrasePair] = getattr(book, part)
        for language, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", "utf-8", newline="\n")


def _print_results(out: Path, console: "Console") -> dict[str, Any]:
    """Print the scores on unseen sentences and what to try next; return the scores as a document."""
    from regard.demo.phrasebook.corpus import phrasebook
    from regard.metrics.translation import corpus_bleu
    from regard.translation.translator import Translator

    sources, references = (list(side) for side in zip(*phrasebook(train=0, valid=0).test, strict=True))
    translator = Translator.load(out)
    with console.status(f"translating {len(sources):,} unseen sentences"):
        translations = translator.translate(sources, beam=1)
    correct = sum(a == b for a, b in zip(translations, references, strict=True))
    score = corpus_bleu(translations, references)
    console.print(
        f"\n{len(sources):,} unseen sentences: BLEU {score.score:.1f}, "
        f"{correct / len(sources):.1%} exactly correct\n  ({score.signature})\n"
    )
    for i in range(0, len(sources), len(sources) // SHOWN_SENTENCES):  # the first is the example of the docs
        console.print(f"  {sources[i]}\n    {translations[i]}")
    folder, page = shlex.quote(str(out)), out / TRACE_PAGE
    translator.trace(sources[0]).save(page)
    console.print(
        f"\nOpen {page} in a browser to see the trace of the first translation; no network is needed:\n"
        f"  {page.resolve().as_uri()}\n"
        f"The model is in {out / 'model'}. Next:\n"
        f"  {command_name()} explore {folder}\n"
        f'  echo "{sources[0]}" | {command_name()} translate {folder}\n'
        f"  {command_name()} train --source YOUR.en --target YOUR.fr --out runs/mine"
    )
    return {
        "model": str(out / "model"),
        "page": str(page),
        "sentences": len(sources),
        "correct": correct,
        "bleu": score.score,
        "signature": score.signature,
    }

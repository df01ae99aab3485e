"""`regard demo`: from nothing to a translator, on the phrasebook that ships."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.program import program

if TYPE_CHECKING:
    from rich.console import Console

    from regard.tasks.translation import TranslationRun
    from regard.text.phrasebook.corpus import Pair, Phrasebook

PAIRS = 300_000
SHOWN = 8

EPILOG = """\
The demo writes an English-French phrasebook from a grammar of its own, trains a small Transformer
on it, translates sentences it has never seen, and says how many it got right. No network is
needed. Run again, it skips the training and shows the model that is there.
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "demo",
        help="train on the phrasebook that ships, and translate with the result",
        description=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("runs/demo"),
        help="where to train (default: runs/demo)",
    )
    parser.set_defaults(run=run_demo)


def run_demo(options: argparse.Namespace) -> None:
    from rich.console import Console

    from regard.text.phrasebook.corpus import phrasebook

    console = Console(highlight=False, markup=False, soft_wrap=True)
    with console.status("writing the phrasebook"):
        book = phrasebook(train=PAIRS)
    if (options.out / "model").is_dir():
        console.print(f"{options.out / 'model'} is there already; delete {options.out} to train again")
    else:
        _train(book, options.out, console)
    _show(book, options.out, console)


def _train(book: "Phrasebook", out: Path, console: "Console") -> None:
    from regard.tasks.translation import refuse_unusable, train_translation
    from regard.train.device import keep_freed_memory

    refuse_unusable(out)
    keep_freed_memory()
    text = out.with_name(out.name + "-text")
    write_text(book, text)
    console.print(f"Training on {len(book.train):,} pairs of the phrasebook, written to {text}")
    train_translation(demo_run(text), out, console)


def demo_run(text: Path) -> "TranslationRun":
    """Settings that learn the phrasebook in a few minutes of two CPU cores.

    Its sentences are short and never run out, so batches are small and nothing is dropped.
    """
    from regard.data.config import DataConfig
    from regard.model.config import TINY
    from regard.tasks.translation import TranslationRun
    from regard.train.loop import TrainConfig
    from regard.train.optimizer import OptimizerConfig

    steps = 2000
    return TranslationRun(
        model=replace(TINY, encoder_layers=2, decoder_layers=2, d_ff=512, dropout=0.0, vocab_size=2000),
        data=DataConfig(
            source=str(text / "train.en"),
            target=str(text / "train.fr"),
            valid_source=str(text / "valid.en"),
            valid_target=str(text / "valid.fr"),
            batch_tokens=1024,
            bleu_pairs=200,
        ),
        optimizer=OptimizerConfig(peak=0.003, warmup=300, cooldown=steps // 2),
        train=TrainConfig(steps=steps, save_every=500),
    )


def write_text(book: "Phrasebook", folder: Path) -> None:
    """The parts of the phrasebook as the files `regard train` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid", "test"):
        pairs: list[Pair] = getattr(book, part)
        for language, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", "utf-8", newline="\n")


def _show(book: "Phrasebook", out: Path, console: "Console") -> None:
    from regard.metrics.bleu import bleu
    from regard.tasks.translator import Translator

    sources = [pair.english for pair in book.test]
    references = [pair.french for pair in book.test]
    translator = Translator.load(out)
    with console.status(f"translating {len(sources):,} unseen sentences"):
        found = translator.translate(sources)
    right = sum(a == b for a, b in zip(found, references, strict=True))
    score = bleu(found, references)
    console.print(
        f"\n{len(sources):,} sentences it has never seen: BLEU {score.score:.1f}, "
        f"{right / len(sources):.1%} exactly right\n  ({score.signature})\n"
    )
    for source, translation in _handful(sources, found):
        console.print(f"  {source}\n    {translation}")
    console.print(
        f"\nThe model is in {out / 'model'}. Type next:\n"
        f'  echo "{sources[0]}" | {program()} translate {out}\n'
        f"  {program()} train --source YOUR.en --target YOUR.fr --out runs/mine"
    )


def _handful(sources: list[str], found: list[str]) -> list[tuple[str, str]]:
    """Jane first, then some of different lengths."""
    jane = next(i for i, source in enumerate(sources) if source.startswith("Jane visits Africa in September"))
    others = [i for i in range(0, len(sources), len(sources) // SHOWN) if i != jane]
    return [(sources[i], found[i]) for i in [jane, *others[: SHOWN - 1]]]

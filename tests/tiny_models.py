"""A working folder as a user has it: data files, and a tiny run of each task, trained for a few steps."""

from collections.abc import Iterable
from pathlib import Path

from regard.cli.main import main

TINY_MODEL = ["d_model=16", "heads=2", "d_ff=16", "encoder_layers=1"]
SENTENCES = [
    (f"the {thing} number {number} is {state}", f"le {french} numéro {number} est {etat}")
    for number in range(15)
    for thing, french in (("cat", "chat"), ("train", "train"), ("book", "livre"))
    for state, etat in (("here", "là"), ("big", "grand"))
]


def write_user_files(folder: Path) -> None:
    """Write parallel text, labelled texts and a table of monthly values, with the names a user gives them."""
    write_lines(folder / "train.en", (source for source, _ in SENTENCES))
    write_lines(folder / "train.fr", (target for _, target in SENTENCES))
    write_lines(folder / "test.en", (source for source, _ in SENTENCES[3:80:9]))
    write_lines(folder / "test.fr", (target for _, target in SENTENCES[3:80:9]))
    write_lines(folder / "new.en", ["the cat is here", "the book is big"])
    write_lines(
        folder / "reviews.tsv",
        (f"{'good' if n % 2 else 'bad'}\t{'tasty' if n % 2 else 'cold'} food, visit {n}" for n in range(60)),
    )
    write_lines(folder / "new.txt", ["tasty food", "cold soup"])
    months = [f"{2012 + n // 12}-{n % 12 + 1:02}" for n in range(144)]
    rows = (f"{month},{100 + n + 30 * (n % 12 > 5)}" for n, month in enumerate(months))
    write_lines(folder / "sales.csv", ["month,sales", *rows])


def train_user_models(folder: Path) -> None:
    """Train `en-fr`, `reviews` and `sales` beside the files of `write_user_files`."""
    sizes = {
        "en-fr": [*TINY_MODEL, "decoder_layers=1", "vocab_size=320"],
        "reviews": [*TINY_MODEL, "vocab_size=320"],
        "sales": TINY_MODEL,
    }
    inputs = {
        "en-fr": [
            "--source",
            folder / "train.en",
            "--target",
            folder / "train.fr",
            "--set=data.bleu_pairs=2",
        ],
        "reviews": ["--labelled", folder / "reviews.tsv"],
        "sales": ["--series", folder / "sales.csv", "--horizon", "12", "--set=model.history=24"],
    }
    for name, sizes_of_model in sizes.items():
        settings = [f"--set=model.{size}" for size in sizes_of_model]
        words = ["train", *inputs[name], "-o", folder / name, "--steps", "2", "--quiet", *settings]
        main(list(map(str, words)))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")

"""Training from TMX, XLIFF, PO, CSV, JSON lines and Parquet: the same model as from two text files.

    python benchmarks/corpus_formats.py --data DIR --work /tmp/corpus-formats

DIR has train.en.gz, train.de.gz, test_2016_flickr.en.gz and test_2016_flickr.de.gz of Multi30k. The pairs
are written in every format by translate-toolkit, pandas and pyarrow. From each file a model is trained with
an empty cache; it translates the test set and is scored by the commands. Writes corpus-formats.md to
benchmarks/results, and fails if any weight, BLEU or chrF differs.
"""

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

Pairs = Sequence[tuple[str, str]]
SETTINGS = (
    *("model.encoder_layers=2", "model.decoder_layers=2", "model.dropout=0.0", "model.vocab_size=2000"),
    *("model.max_length=100", "optimizer.peak=0.003", "data.batch_tokens=1024", "data.bleu_pairs=20"),
    "train.save_every=1000",
)
TEST_SENTENCES = 200
RESULTS = Path(__file__).parent / "results" / "corpus-formats.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the files of Multi30k")
    parser.add_argument("--work", type=Path, required=True, help="folder for corpora, caches and runs")
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs to train on (default: 10,000)")
    parser.add_argument("--steps", type=int, default=60, help="training steps (default: 60)")
    parser.add_argument("--formats", nargs="+", choices=WRITERS, default=list(WRITERS))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(options.data / "train", options.pairs)
    test = options.work / "test"
    write_text(test, read_pairs(options.data / "test_2016_flickr", TEST_SENTENCES))
    rows = {}
    for name in options.formats:
        flags = WRITERS[name](options.work / f"corpus-{name}", pairs)
        rows[name] = train_and_score(options.work / name, flags, options.steps, test)
        print(f"{name:16} {rows[name]}", flush=True)
    results = {json.dumps({**row, "seconds": 0}) for row in rows.values()}
    page = render_page(rows, len(pairs), options.steps, len(results) == 1)
    print(page)
    if len(results) > 1:
        sys.exit("the formats do not give the same model")
    RESULTS.write_text(page, encoding="utf-8")


def read_pairs(prefix: Path, count: int) -> list[tuple[str, str]]:
    """Read the first pairs; the tab in one of them would be the end of a column in a .tsv."""
    sides = []
    for side in ("en", "de"):
        with gzip.open(f"{prefix}.{side}.gz", "rt", encoding="utf-8", newline="\n") as file:
            sides.append([line.replace("\t", " ").strip() for line in file.read().split("\n")[:-1]])
    return list(zip(*sides, strict=True))[:count]


def train_and_score(work: Path, flags: list[str], steps: int, test: Path) -> dict[str, object]:
    """Train from these files with a cache of its own; return the hash of the weights, and the scores."""
    started = time.monotonic()
    command = ["train", *flags, "--out", str(work / "run"), "--preset", "tiny", "--steps", str(steps)]
    command += [f"--set={setting}" for setting in SETTINGS]
    command += ["--set=compute.device=cpu", f"--set=data.cache={work / 'cache'}"]
    run_regard(*command)
    seconds = time.monotonic() - started
    translation = work / "test.de"
    run_regard(
        "translate", str(work / "run"), "--input", f"{test}.en", "--output", str(translation), "--beam", "1"
    )
    score = run_regard("score", "--hypotheses", str(translation), "--reference", f"{test}.de", "--json")
    bleu, chrf = (json.loads(score)["scores"][metric]["score"] for metric in ("bleu", "chrf"))
    weights = hashlib.sha256((work / "run" / "model" / "model.safetensors").read_bytes()).hexdigest()
    return {"weights": weights[:16], "bleu": bleu, "chrf": chrf, "seconds": round(seconds)}


def run_regard(*arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "regard", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment, text=True).stdout


def render_page(rows: dict[str, dict[str, object]], pairs: int, steps: int, is_same: bool) -> str:
    import torch

    verdict = "Weights, BLEU and chrF are equal." if is_same else "THE FORMATS DIFFER."
    lines = [
        "# Training from files of translators and data sets",
        "",
        f"python benchmarks/corpus_formats.py --data DIR --work DIR --pairs {pairs} --steps {steps} "
        f"(one CPU core, torch {torch.__version__})",
        "",
        f"{pairs:,} pairs of Multi30k, English to German; {steps} steps of a small model, from an empty "
        f"cache; scored on the first {TEST_SENTENCES} sentences of test_2016_flickr. The models "
        "are equal, not good. The formats are written by translate-toolkit, pandas and pyarrow.",
        "",
        "| format | SHA-256 of the weights | BLEU | chrF | training, s |",
        "| --- | --- | ---: | ---: | ---: |",
        *(
            f"| {name} | `{row['weights']}` | {row['bleu']} | {row['chrf']} | {row['seconds']} |"
            for name, row in rows.items()
        ),
        "",
        verdict,
    ]
    return "\n".join(lines) + "\n"


LANGUAGES = ["--source-language", "en", "--target-language", "de"]


def write_text(path: Path, pairs: Pairs) -> list[str]:
    for side, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        Path(f"{path}.{side}").write_bytes("".join(f"{text}\n" for text in texts).encode())
    return ["--source", f"{path}.en", "--target", f"{path}.de"]


def write_tsv(path: Path, pairs: Pairs) -> list[str]:
    with gzip.open(f"{path}.tsv.gz", "wt", encoding="utf-8", newline="\n") as file:
        file.write("".join(f"{source}\t{target}\n" for source, target in pairs))
    return ["--pairs", f"{path}.tsv.gz", *LANGUAGES]


def write_csv(path: Path, pairs: Pairs) -> list[str]:
    """Write a table by pandas, with quoted cells and another column."""
    frame = _frame(pairs)
    frame.insert(0, "id", range(len(frame)))
    frame.to_csv(f"{path}.csv", index=False)
    return ["--pairs", f"{path}.csv", *LANGUAGES]


def write_json_lines(path: Path, pairs: Pairs) -> list[str]:
    _frame(pairs).rename(columns={"en": "source", "de": "target"}).to_json(
        f"{path}.jsonl", orient="records", lines=True
    )
    return ["--pairs", f"{path}.jsonl", *LANGUAGES]


def write_parquet(path: Path, pairs: Pairs) -> list[str]:
    """Write two columns by pandas, in row groups of a thousand."""
    frame = _frame(pairs).rename(columns={"en": "source", "de": "target"})
    frame.to_parquet(f"{path}.parquet", row_group_size=1000)
    return ["--pairs", f"{path}.parquet", *LANGUAGES]


def write_struct(path: Path, pairs: Pairs) -> list[str]:
    """Write the column `translation` of data sets on the Hugging Face hub."""
    import pyarrow
    import pyarrow.parquet

    rows = [{"de": target, "en": source} for source, target in pairs]
    pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), f"{path}.parquet")
    return ["--pairs", f"{path}.parquet", *LANGUAGES]


def write_tmx(path: Path, pairs: Pairs) -> list[str]:
    from translate.storage.tmx import tmxfile

    memory = tmxfile(sourcelanguage="de", targetlanguage="en")
    for source, target in pairs:
        memory.addtranslation(target, "de", source, "en")
    Path(f"{path}.tmx").write_bytes(bytes(memory))
    return ["--pairs", f"{path}.tmx", *LANGUAGES]


EMPTY_XLIFF = """\
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="NoName" datatype="plaintext" source-language="en" target-language="de"><body/></file>
</xliff>
"""


def write_xliff_1(path: Path, pairs: Pairs) -> list[str]:
    from translate.storage.xliff import Xliff1File

    file = Xliff1File.parsestring(EMPTY_XLIFF.encode())
    for source, target in pairs:
        file.addsourceunit(source).target = target
    Path(f"{path}.xliff").write_bytes(bytes(file))
    return ["--pairs", f"{path}.xliff"]


def write_xliff_2(path: Path, pairs: Pairs) -> list[str]:
    from translate.storage.xliff2 import Xliff2File

    file = Xliff2File(sourcelanguage="en", targetlanguage="de")
    for source, target in pairs:
        file.addsourceunit(source).target = target
    Path(f"{path}.xlf").write_bytes(bytes(file))
    return ["--pairs", f"{path}.xlf"]


def write_po(path: Path, pairs: Pairs) -> list[str]:
    from translate.storage.pypo import pofile, pounit, quoteforpo

    file = pofile()
    file.updateheader(add=True, Content_Type="text/plain; charset=UTF-8", Language="de")
    for number, (source, target) in enumerate(pairs):
        unit = pounit(source)
        unit.msgctxt = quoteforpo(str(number))  # repeated messages are errors in a file without contexts
        unit.target = target
        file.addunit(unit)
    Path(f"{path}.po").write_bytes(bytes(file))
    return ["--pairs", f"{path}.po", "--source-language", "en"]


def _frame(pairs: Pairs):
    import pandas

    return pandas.DataFrame(pairs, columns=["en", "de"])


WRITERS: dict[str, Callable[[Path, Pairs], list[str]]] = {
    "text": write_text,
    "tsv-gz": write_tsv,
    "csv": write_csv,
    "jsonl": write_json_lines,
    "parquet": write_parquet,
    "parquet-struct": write_struct,
    "tmx": write_tmx,
    "xliff-1.2": write_xliff_1,
    "xliff-2.0": write_xliff_2,
    "po": write_po,
}
"""Each writes the pairs to a file whose name begins with the path, and returns the flags that read it."""

if __name__ == "__main__":
    main()

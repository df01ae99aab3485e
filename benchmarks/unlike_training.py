"""Does a model notice text unlike its training text? Compares its own test set with foreign texts.

    python benchmarks/unlike_training.py MODEL --own test.en [--foreign news.en reviews.tsv ...]

The model must be calibrated (`regard train` does it). Prints one JSON line for each foreign file: the
AUROC of the log-probability per token, and the share of texts that are flagged on either side. Of a .tsv,
the last column is read.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.text.corpus_files import read_texts
from regard.translation.result import Translation
from regard.translation.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--own", type=Path, required=True)
    parser.add_argument("--foreign", type=Path, nargs="+", required=True)
    parser.add_argument(
        "--lines", type=int, default=1000, help="lines read of each file (default: %(default)s)"
    )
    options = parser.parse_args()
    translator = Translator.load(options.model)
    own = translate(translator, options.own, options.lines)
    for path in options.foreign:
        foreign = translate(translator, path, options.lines)
        report = {
            "benchmark": "unlike_training",
            "model": options.model.name,
            "own": options.own.name,
            "foreign": path.name,
            "texts": len(foreign),
            "auroc": round(auroc(log_probabilities(foreign), log_probabilities(own)), 4),
            "flagged_own": round(flagged_share(own), 4),
            "flagged_foreign": round(flagged_share(foreign), 4),
        }
        print(json.dumps(report), flush=True)


def translate(translator: Translator, path: Path, lines: int) -> list[Translation]:
    texts = [text.rpartition("\t")[2] for text in read_texts(path)[:lines]]
    return [each for each in translator.translate_detailed(texts) if each.tokens and each.status == "whole"]


def log_probabilities(translations: Sequence[Translation]) -> np.ndarray:
    return np.array([each.log_probability / (len(each.tokens) + 1) for each in translations])


def flagged_share(translations: Sequence[Translation]) -> float:
    return sum(bool(each.unlike_training) for each in translations) / len(translations)


def auroc(lower: np.ndarray, higher: np.ndarray) -> float:
    """Return the probability that a value of `lower` is below one of `higher` (ties count half)."""
    wins = (lower[:, None] < higher).mean() + (lower[:, None] == higher).mean() / 2
    return float(wins)


if __name__ == "__main__":
    main()

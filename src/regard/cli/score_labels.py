"""`regard score MODEL --labelled FILE`: how often a classifier is right, and whether it knows."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import UNSAID, model_folder, refuse_unused
from regard.cli.output import refuse_unwritable, write_output
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.classification.evaluation import LabelScores

WIDEST = 12
"""Letters of a label that a table has room for."""
MOST = 20
"""Labels up to which a confusion matrix fits a terminal."""
IDLE = (
    *("source", "hypotheses", "baseline", "output", "reference", "target_language", "given"),
    *(name for name in UNSAID if name != "device"),
)
"""Flags of translations."""


def run_score_labels(options: argparse.Namespace) -> None:
    if options.model is None:
        raise RegardError("give a MODEL to measure on --labelled FILE")
    refuse_unused(options, IDLE, "is for translations, and --labelled for a classifier")
    refuse_unused(options, ("series", "all"), "is for a forecaster, and --labelled for a classifier")
    if options.confusion is not None:
        if options.confusion.suffix != ".svg":
            raise RegardError(f"{options.confusion} is not a picture's name; end it in .svg")
        refuse_unwritable(options.confusion)
    folder = model_folder(options.model)
    from regard.classification.classifier import Classifier
    from regard.classification.corpus import read_labelled
    from regard.classification.evaluation import score_labels
    from regard.text.corpus_files import LabelledFiles

    classifier = Classifier.load(folder, options.device or "auto", threads=options.threads)
    texts, unusable = read_labelled(LabelledFiles(options.labelled), classifier.labels)
    for why, number in unusable.items():
        sys.stderr.write(f"{options.labelled}: left out: {why} ({number:,})\n")
    scores = score_labels(classifier, texts)
    if options.confusion is not None:
        from regard.plots.confusion_matrix import draw

        write_output(options.confusion, draw(scores.labels, scores.matrix).encode("utf-8"))
    if options.json:
        files = {"model": str(options.model), "labelled": str(options.labelled)}
        sys.stdout.write(json.dumps({**files, **scores.as_document()}, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_as_table(options.model, options.labelled, scores) + "\n")


def _as_table(model: Path, file: Path, scores: "LabelScores") -> str:
    found = scores.found
    lines = [
        f"{model} on {file}: {scores.matrix.sum():,} texts, {len(scores.labels)} labels",
        f"  accuracy           {found.accuracy:7.2%}",
        f"  macro F1           {found.macro_f1:7.2%}",
        f"  calibration error  {scores.calibrated_error:7.2%}, with the temperature {scores.temperature:.2f} "
        f"that validation asked for; {scores.calibration_error:.2%} without",
        "",
        f"  {'label':<{WIDEST}}  precision  recall     F1  texts",
    ]
    lines += [
        f"  {_short(label):<{WIDEST}}  {one.precision:9.2%}  {one.recall:6.1%}  {one.f1:5.1%}  {one.texts:5,}"
        for label, one in zip(scores.labels, found.classes, strict=True)
    ]
    return "\n".join([*lines, "", *_confusion(scores)])


def _confusion(scores: "LabelScores") -> list[str]:
    """Rows are what texts are, columns the labels that they were given."""
    labels = [_short(label) for label in scores.labels]
    if len(labels) > MOST:
        return ["  --confusion FILE.svg draws what is taken for what; so many labels do not fit here"]
    width = max(5, *(len(label) + 1 for label in labels))
    head = "".join(f"{label:>{width}}" for label in labels)
    rows = [
        f"  {label:<{WIDEST}}" + "".join(f"{number or '.':>{width}}" for number in row)
        for label, row in zip(labels, scores.matrix.tolist(), strict=True)
    ]
    return [f"  {'is → given':<{WIDEST}}" + head, *rows]


def _short(label: str) -> str:
    from regard.text.unicode import printable

    label = printable(label)
    return label if len(label) <= WIDEST else label[: WIDEST - 1] + "…"

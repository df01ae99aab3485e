"""`regard score MODEL --labelled FILE`: accuracy, F1, calibration and confusion matrix of a classifier."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import ARGUMENT_DEFAULTS, reject_unused_flags, resolve_model_folder
from regard.cli.figures import write_figure
from regard.cli.output import format_json
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.classification.evaluation import ClassificationReport

LABEL_WIDTH = 12
"""Characters of a label in a table."""
MAX_CONFUSION_LABELS = 20
"""Number of labels up to which a confusion matrix fits a terminal."""
UNUSED_BY_CLASSIFIER = (
    *(
        "source",
        "hypotheses",
        "baseline",
        "output",
        "reference",
        "target_language",
        "metrics",
        "comet",
        "score_references",
    ),
    *(name for name in ARGUMENT_DEFAULTS if name != "device"),
)
"""Flags that apply to translations only."""


def run_score_labels(options: argparse.Namespace) -> None:
    if options.model is None:
        raise RegardError("there is no model; give the classifier to evaluate on --labelled FILE")
    reject_unused_flags(
        options, UNUSED_BY_CLASSIFIER, "is for translations; --labelled FILE is for a classifier"
    )
    reject_unused_flags(
        options, ("series", "all_rows"), "is for a forecaster; --labelled FILE is for a classifier"
    )
    if options.confusion_matrix is not None:
        from regard.plots.figure_file import check_figure_suffix

        check_figure_suffix(options.confusion_matrix)
    folder = resolve_model_folder(options.model)
    from regard.classification.corpus import read_labelled_texts
    from regard.classification.evaluation import evaluate_classifier
    from regard.classification.label_predictor import LabelPredictor
    from regard.text.labelled_files import LabelledFiles

    classifier = LabelPredictor.load(folder, options.device or "auto", threads=options.threads)
    files = LabelledFiles(options.labelled, None, options.text_column, options.label_column)
    texts, unusable = read_labelled_texts(files, classifier.labels)
    if unusable:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in unusable.items())
        sys.stderr.write(
            f"{options.labelled}: {sum(unusable.values()):,} lines are left out of the scores: {reasons}\n"
        )
    scores = evaluate_classifier(classifier, texts)
    if options.confusion_matrix is not None:
        from regard.plots.confusion_matrix import draw_confusion_matrix

        write_figure(options.confusion_matrix, draw_confusion_matrix(scores.labels, scores.confusion_matrix))
    if options.json:
        files = {"model": str(options.model), "labelled": str(options.labelled)}
        sys.stdout.write(format_json({**files, **scores.to_dict()}) + "\n")
    else:
        sys.stdout.write(_as_table(options.model, options.labelled, scores) + "\n")


def _as_table(model: Path, file: Path, scores: "ClassificationReport") -> str:
    metrics = scores.scores
    lines = [
        f"{model} on {file}: {scores.confusion_matrix.sum():,} texts, {len(scores.labels)} labels",
        f"  accuracy           {metrics.accuracy:7.2%}",
        f"  macro F1           {metrics.macro_f1:7.2%}",
        f"  calibration error  {scores.calibrated_error:7.2%} with temperature {scores.temperature:.2f}, "
        f"fitted in validation; {scores.calibration_error:.2%} without",
        "",
        f"  {'label':<{LABEL_WIDTH}}  precision  recall     F1  texts",
    ]
    lines += [
        f"  {_truncate_label(label):<{LABEL_WIDTH}}  {each.precision:9.2%}  {each.recall:6.1%}"
        f"  {each.f1:5.1%}  {each.texts:5,}"
        for label, each in zip(scores.labels, metrics.classes, strict=True)
    ]
    return "\n".join([*lines, "", *_confusion_table(scores)])


def _confusion_table(scores: "ClassificationReport") -> list[str]:
    """Return the confusion matrix as lines: rows are true labels, columns predicted labels."""
    labels = [_truncate_label(label) for label in scores.labels]
    if len(labels) > MAX_CONFUSION_LABELS:
        return ["  too many labels to print the confusion matrix; --confusion-matrix FILE draws it"]
    width = max(5, *(len(label) + 1 for label in labels))
    head = "".join(f"{label:>{width}}" for label in labels)
    rows = [
        f"  {label:<{LABEL_WIDTH}}" + "".join(f"{number or '.':>{width}}" for number in row)
        for label, row in zip(labels, scores.confusion_matrix.tolist(), strict=True)
    ]
    return [f"  {'true → pred.':<{LABEL_WIDTH}}" + head, *rows]


def _truncate_label(label: str) -> str:
    from regard.text.unicode import sanitize_for_display

    label = sanitize_for_display(label)
    return label if len(label) <= LABEL_WIDTH else label[: LABEL_WIDTH - 1] + "…"

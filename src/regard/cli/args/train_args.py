"""Arguments of `regard train`, which other commands that train share."""

import argparse
from typing import TYPE_CHECKING

from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import INPUT_NAME, INPUT_PATH

if TYPE_CHECKING:
    from regard.api.training_request import TrainingRequest

PRESETS = ("tiny", "small", "base", "big")


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `read_training_request` reads; all commands that train share them."""
    pairs = parser.add_argument_group("parallel text, for a translation model")
    pairs.add_argument(
        "--source", metavar="FILE", type=INPUT_NAME, action="append", help="source sentences, one per line"
    )
    pairs.add_argument(
        "--target", metavar="FILE", type=INPUT_NAME, action="append", help="their translations, line by line"
    )
    pairs.add_argument(
        "--pairs",
        metavar="FILE",
        type=INPUT_NAME,
        nargs="+",
        action="extend",
        help="files with both sides: .tsv, .csv, .jsonl, .parquet, .tmx, .xliff, .po; all are repeatable",
    )
    add_pair_arguments(pairs)
    pairs.add_argument(
        "--valid-source",
        metavar="FILE",
        type=INPUT_NAME,
        help="validation set (default: held out of the corpus)",
    )
    pairs.add_argument("--valid-target", metavar="FILE", type=INPUT_NAME, help="its translations")
    pairs.add_argument("--valid-pairs", metavar="FILE", type=INPUT_NAME, help="validation set in one file")
    labelled = parser.add_argument_group("labelled texts, for a classifier")
    labelled.add_argument(
        "--labelled",
        metavar="FILE",
        type=INPUT_NAME,
        action="append",
        help="for a classifier: label and text per line (.tsv, .csv or .jsonl); repeatable",
    )
    add_label_column_arguments(labelled)
    labelled.add_argument(
        "--texts",
        metavar="FILE",
        type=INPUT_NAME,
        action="append",
        help="labelled texts in two files: the texts",
    )
    labelled.add_argument(
        "--labels", metavar="FILE", type=INPUT_NAME, action="append", help="and the labels, line by line"
    )
    labelled.add_argument(
        "--valid-labelled",
        metavar="FILE",
        type=INPUT_NAME,
        help="validation set (default: held out of the corpus)",
    )
    labelled.add_argument(
        "--valid-texts", metavar="FILE", type=INPUT_NAME, help="validation set in two files: the texts"
    )
    labelled.add_argument("--valid-labels", metavar="FILE", type=INPUT_NAME, help="and the labels")
    series = parser.add_argument_group("time series, for a forecaster")
    series.add_argument(
        "--series",
        metavar="FILE",
        type=INPUT_NAME,
        help="for a forecaster: CSV or Parquet table with a time column",
    )
    series.add_argument("--time", metavar="COLUMN", help="time column (default: detected)")
    series.add_argument(
        "--columns",
        metavar="COLUMN",
        nargs="+",
        action="extend",
        help="series columns (default: all others)",
    )
    series.add_argument("--horizon", metavar="N", type=NumberArgument(int), help="forecast horizon in steps")
    settings = parser.add_argument_group("model and settings")
    settings.add_argument(
        "--strict", action="store_true", default=None, help="reject a corpus with bad lines"
    )
    settings.add_argument(
        "--preset", choices=PRESETS, help="size of the model (default: configured automatically)"
    )
    settings.add_argument(
        "--from",
        dest="model",
        metavar="MODEL",
        type=INPUT_NAME,
        help="fine-tune this model, with its vocabulary",
    )
    settings.add_argument(
        "--extend-vocabulary",
        metavar="N",
        type=NumberArgument(int),
        help="with --from: add up to N new tokens",
    )
    settings.add_argument(
        "--recipe",
        choices=("paper",),
        help="paper: base model (or --preset big) and all settings of the paper",
    )
    settings.add_argument(
        "--memory",
        metavar="GIB",
        help="memory limit of a training step: GiB, auto (free memory, the default) or any (no limit); "
        "batches are split to fit",
    )
    settings.add_argument("--config", metavar="run.toml", type=INPUT_PATH, help="settings file with sections")
    settings.add_argument(
        "--set", metavar="section.key=value", action="append", default=[], help="one setting; repeatable"
    )


def add_length_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a training, and its seed."""
    group = parser.add_argument_group(
        "length",
        "The first limit reached ends the training. Warm-up, cooldown, validations and EMA are\n"
        "fitted to it, unless you set them. The same flags make an existing run longer.",
    )
    group.add_argument(
        "--minutes", metavar="M", type=NumberArgument(float), help="time of the training, after preparation"
    )
    group.add_argument("--steps", metavar="N", type=NumberArgument(int), help="optimizer steps")
    group.add_argument(
        "--epochs", metavar="E", type=NumberArgument(float), help="passes over the training data"
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=NumberArgument(int),
        help="seed of initial weights, dropout and order (default: 1)",
    )


def add_pair_arguments(parser: "argparse._ActionsContainer") -> None:
    """Add what chooses the sides in files of pairs, which train and check share."""
    parser.add_argument(
        "--source-language",
        metavar="CODE",
        help="language of the source: chooses it in --pairs files with several, and is noted in the model",
    )
    parser.add_argument("--target-language", metavar="CODE", help="language of the target, likewise")
    parser.add_argument(
        "--source-column",
        metavar="COLUMN",
        help="name or number of the source column of --pairs files (default: by the header, or the first)",
    )
    parser.add_argument("--target-column", metavar="COLUMN", help="and of the target column (or the second)")


def add_label_column_arguments(parser: "argparse._ActionsContainer") -> None:
    """Add the columns of labelled texts, which train, check and score share."""
    parser.add_argument(
        "--text-column",
        metavar="COLUMN",
        help="name or number of the text column of labelled texts (default: by the header, or the second)",
    )
    parser.add_argument("--label-column", metavar="COLUMN", help="and of the label column (or the first)")


def read_training_request(options: argparse.Namespace) -> "TrainingRequest":
    """Return the training that the parsed arguments ask for."""
    from regard.api.run_settings import argument_keys
    from regard.api.training_request import TrainingRequest
    from regard.config import parse_assignments

    memory = [] if options.memory is None else [f"compute.memory={options.memory}"]
    arguments = {key: getattr(options, key, None) for key in argument_keys()}
    return TrainingRequest(
        {key: value for key, value in arguments.items() if value is not None},
        parse_assignments([*options.set, *memory]),
        options.config,
        options.preset,
        options.recipe,
    )

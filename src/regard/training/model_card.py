"""Model card: README.md of a published model, with its scores, training data, cost and settings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from regard.config import run_traits
from regard.errors import RegardError
from regard.text.unicode import sanitize_for_display
from regard.training.logs.metrics_file import METRICS_FILE, find_validation
from regard.training.task import ValidationSample

CurvesRenderer = Callable[[Path], str]
"""Renders the training curves of a run folder as SVG; given by a layer above."""
SettingChange = tuple[str, str, str]
"""A setting that is not at its default: name, value, default."""
CARD_FILE, CURVES_FILE = "README.md", "curves.svg"
MARKDOWN_SPECIALS = re.compile(r"([\\`*_\[\]|~$])")


@dataclass(frozen=True)
class CardText:
    """The words of a task in its model cards."""

    task_verb: str
    """What the model does, as in "a Transformer trained to translate"."""
    unit: str
    """What is counted, in the text and in the manifest: pairs, texts, rows."""
    usage_command: str
    evaluation: str
    """How the scores were computed."""
    score_names: Mapping[str, str]
    """Display names of the metrics."""
    score_digits: int = 2
    """Digits after the decimal point of a score."""


@dataclass(frozen=True)
class TrainingCost:
    """Steps, time and hardware of a training."""

    steps: int
    seconds: float
    device: str
    precision: str


def build_card_files(
    run_folder: Path,
    manifest: Mapping[str, Any],
    changed_settings: Sequence[SettingChange],
    cost: TrainingCost,
    text: CardText,
    render_curves: CurvesRenderer | None,
) -> dict[str, str]:
    """Return the card and, if there are any, the training curves, by file name."""
    curves = {}
    if render_curves is not None:
        with suppress(RegardError):  # on a full disk no metrics were recorded
            curves = {CURVES_FILE: render_curves(run_folder)}
    return {
        CARD_FILE: render_model_card(
            manifest, _read_samples(run_folder, manifest), changed_settings, cost, text, bool(curves)
        ),
        **curves,
    }


def render_model_card(
    manifest: Mapping[str, Any],
    samples: Sequence[ValidationSample],
    changed_settings: Sequence[SettingChange],
    cost: TrainingCost,
    text: CardText,
    has_curves: bool,
) -> str:
    """Render the card as Markdown from the manifest. With `has_curves`, it shows the curves beside it."""
    title = " → ".join([_file_name(path) for path in manifest.get("trained_on", {}).get("files", {})][:2])
    paragraphs = [
        f"# {_escape_text(title)}",
        f"A Transformer trained to {text.task_verb} on `{_escape_code(title)}`. "
        "Expect such scores only on data like its training data.",
        f"```sh\n{text.usage_command}\n```",
        "## Evaluation",
        *_score_section(manifest, text),
        *([f"![Loss and scores over the training]({CURVES_FILE})"] if has_curves else []),
        *_sample_section(samples),
        "## Training data",
        *_data_section(manifest, text.unit),
        "## Training procedure",
        _training_section(manifest, cost),
        *_settings_section(changed_settings),
    ]
    return "\n\n".join(paragraphs) + "\n"


def find_changed_settings(run: object, default: object) -> list[SettingChange]:
    """Return the settings of a run that differ from `default`, without paths, which the card omits."""
    changes = []
    for name, traits in run_traits(run).items():
        value, default_value = (attrgetter(name)(settings) for settings in (run, default))
        if value != default_value and not traits.is_path and name != "train.planned":
            changes.append((name, _format_setting(value), _format_setting(default_value)))
    return changes


def _score_section(manifest: Mapping[str, Any], text: CardText) -> Iterator[str]:
    metrics = manifest.get("metrics", {})
    part = manifest.get("validated_on", {})
    yield (
        f"On {part.get(text.unit, 0):,} {text.unit} not used in training, at step "
        f"{manifest.get('step', 0):,} ({text.evaluation}):"
    )
    figures = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    rows = [
        f"| {text.score_names.get(name, name)} | {value:.{text.score_digits}f} |"
        for name, value in sorted(figures.items())
    ]
    yield "\n".join(["| score | |", "| --- | --- |", *rows])
    if calibration := manifest.get("likelihood_calibration"):
        yield (
            f"Translations of {calibration['texts']:,} of them have a mean log-probability of "
            f"{calibration['mean']:.2f} nats per token. A text whose translation is less probable than 99 % "
            "of those is reported as unlike the training text."
        )
    signatures = [(name, value) for name, value in metrics.items() if isinstance(value, str)]
    if signatures:
        yield "\n".join(
            f"- {_escape_text(name.replace('_', ' '))}: `{_escape_code(value)}`" for name, value in signatures
        )


def _read_samples(run: Path, manifest: Mapping[str, Any]) -> list[ValidationSample]:
    """Return the validation samples recorded for this very model, if there are any."""
    if not (run / METRICS_FILE).is_file():
        return []
    validation = find_validation(run / METRICS_FILE, manifest.get("step", 0))
    if validation.get("loss") != manifest.get("metrics", {}).get("loss"):  # of averaged checkpoints
        return []
    return [ValidationSample(**sample) for sample in validation.get("samples", [])]


def _sample_section(samples: Sequence[ValidationSample]) -> Iterator[str]:
    if samples:
        rows = ["| source | reference | this model |", "| --- | --- | --- |"]
        for sample in samples:
            texts = (sample.source, sample.reference, sample.hypothesis)
            rows.append(f"| {' | '.join(map(_escape_text, texts))} |")
        yield "\n".join(rows)


def _data_section(manifest: Mapping[str, Any], unit: str) -> Iterator[str]:
    rows = [f"| | {unit} | file | SHA-256 |", "| --- | --- | --- | --- |"]
    left_out = []
    trained = manifest.get("trained_on", {}).get("files")
    for title, name in (("training", "trained_on"), ("validation", "validated_on")):
        part = manifest.get(name, {})
        left_out += [
            f"- {why}: {count:,} {unit} of {title}" for why, count in part.get("left_out", {}).items()
        ]
        if name == "validated_on" and part.get("files") == trained is not None:
            rows.append(f"| {title} | {part.get(unit, 0):,} | held out of the files above | |")
            continue
        for index, (path, digest) in enumerate(part.get("files", {}).items()):
            first = f"{title} | {part.get(unit, 0):,}" if index == 0 else " | "
            rows.append(f"| {first} | {_escape_text(_file_name(path))} | `{_escape_code(digest)}` |")
    yield "\n".join(rows)
    if left_out:
        yield "Left out:\n\n" + "\n".join(left_out)


def _training_section(manifest: Mapping[str, Any], cost: TrainingCost) -> str:
    minutes = cost.seconds / 60
    duration = f"{minutes:.0f} minutes" if minutes >= 2 else f"{cost.seconds:.0f} seconds"
    return (
        f"{manifest.get('parameters', 0):,} parameters; {cost.steps:,} steps in {duration} on "
        f"{_escape_text(cost.device)} in {cost.precision}, "
        f"by regard {_escape_text(str(manifest.get('regard', '')))}. {_parent_sentence(manifest)}"
        "`config.toml` has every setting, `manifest.json` the SHA-256 of each file."
    )


def _parent_sentence(manifest: Mapping[str, Any]) -> str:
    """Return which model was fine-tuned, if one was."""
    if not (parent := manifest.get("from")):
        return ""
    return f"It was fine-tuned from the weights with the SHA-256 `{_escape_code(parent['weights'])}`. "


def _settings_section(changed: Sequence[SettingChange]) -> Iterator[str]:
    if changed:
        rows = [
            f"| `{name}` | {_escape_text(value)} | {_escape_text(default_value)} |"
            for name, value, default_value in changed
        ]
        yield "\n".join(["| setting | here | default |", "| --- | --- | --- |", *rows])


def _file_name(path: str) -> str:
    """Return the file name without its folders, which are private."""
    return path.replace("\\", "/").rpartition("/")[2]


def _format_setting(value: object) -> str:
    """Format a value as in a run file."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _escape_text(text: str) -> str:
    """Escape Markdown and HTML in a text."""
    return (
        MARKDOWN_SPECIALS.sub(r"\\\1", sanitize_for_display(text)).replace("&", "&amp;").replace("<", "&lt;")
    )


def _escape_code(text: str) -> str:
    return sanitize_for_display(text).replace("`", "'")

"""The model card: what a model is and where it comes from, for whoever is handed the folder."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.text.unicode import sanitize_for_display
from regard.train.logs.metrics_file import METRICS_FILE, find_validation
from regard.train.task import ValidationSample

CurvesRenderer = Callable[[Path], str]
"""The curves of a run folder as SVG; how they are drawn, a layer above knows."""
SettingChange = tuple[str, str, str]
"""A setting that is not the default one: its name, its value and the default."""
PATH_SETTINGS = (
    *("data.source", "data.target", "data.pairs", "data.valid_source", "data.valid_target"),
    *("data.valid_pairs", "data.cache", "start.model"),
    *("data.labelled", "data.texts", "data.labels"),
    *("data.valid_labelled", "data.valid_texts", "data.valid_labels"),
    "data.series",
)
"""Settings that name places on one machine."""
CARD_FILE, CURVES_FILE = "README.md", "curves.svg"
MARKDOWN_SPECIALS = re.compile(r"([\\`*_\[\]|~$])")


@dataclass(frozen=True)
class CardText:
    """What a task calls things."""

    task_verb: str
    """To do what, as in "a Transformer that learnt to translate"."""
    unit: str
    """What it learns from, and how the manifest counts it: pairs, texts, rows."""
    usage_command: str
    """How to use it."""
    evaluation: str
    """How the scores came about."""
    score_names: Mapping[str, str]
    """Their names, for people."""
    score_digits: int = 2
    """That mean something behind the point of a score."""


@dataclass(frozen=True)
class TrainingCost:
    """What the training took."""

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
    """What is published with a model of the run in that folder for people to read, by file name.

    A picture that cannot be drawn (nothing was recorded, on a full disk) costs the picture.
    """
    curves = {}
    if render_curves is not None:
        with suppress(RegardError):
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
    """The card as Markdown, from what the folder says of itself.

    `curves` is whether their picture lies beside the card.
    """
    title = " → ".join([_file_name(path) for path in manifest.get("trained_on", {}).get("files", {})][:2])
    paragraphs = [
        f"# {_escape_text(title)}",
        f"A Transformer that learnt to {text.task_verb} from `{_escape_code(title)}`. "
        "It is as good as what it learnt from, and for data of that kind.",
        f"```sh\n{text.usage_command}\n```",
        "## How good it is",
        *_score_section(manifest, text),
        *([f"![Loss and scores over the training]({CURVES_FILE})"] if has_curves else []),
        *_sample_section(samples),
        "## What it learnt from",
        *_data_section(manifest, text.unit),
        "## How it was trained",
        _training_section(manifest, cost),
        *_settings_section(changed_settings),
    ]
    return "\n\n".join(paragraphs) + "\n"


def find_changed_settings(run: Any, default: Any) -> list[SettingChange]:
    """The settings of a run that are not those of `default`; the files are named elsewhere."""
    found = []
    for section in fields(run):
        mine, theirs = getattr(run, section.name), getattr(default, section.name)
        for key in fields(mine):
            value, usual = getattr(mine, key.name), getattr(theirs, key.name)
            name = f"{section.name}.{key.name}"
            if value != usual and name not in PATH_SETTINGS:
                found.append((name, _format_setting(value), _format_setting(usual)))
    return found


def _score_section(manifest: Mapping[str, Any], words: CardText) -> Iterator[str]:
    metrics = manifest.get("metrics", {})
    part = manifest.get("validated_on", {})
    yield (
        f"On {part.get(words.unit, 0):,} {words.unit} it did not learn from, at step "
        f"{manifest.get('step', 0):,} ({words.evaluation}):"
    )
    figures = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    rows = [
        f"| {words.score_names.get(name, name)} | {value:.{words.score_digits}f} |"
        for name, value in sorted(figures.items())
    ]
    yield "\n".join(["| score | |", "| --- | --- |", *rows])
    signatures = [(name, value) for name, value in metrics.items() if isinstance(value, str)]
    if signatures:
        yield "\n".join(
            f"- {_escape_text(name.replace('_', ' '))}: `{_escape_code(value)}`" for name, value in signatures
        )


def _read_samples(run: Path, manifest: Mapping[str, Any]) -> list[ValidationSample]:
    """How the model that was judged so translated the watched sentences, if that was recorded."""
    if not (run / METRICS_FILE).is_file():
        return []
    recorded = find_validation(run / METRICS_FILE, manifest.get("step", 0))
    same = recorded.get("loss") == manifest.get("metrics", {}).get("loss")
    return [ValidationSample(**sample) for sample in recorded.get("samples", [])] if same else []


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
        for place, (path, digest) in enumerate(part.get("files", {}).items()):
            first = f"{title} | {part.get(unit, 0):,}" if place == 0 else " | "
            rows.append(f"| {first} | {_escape_text(_file_name(path))} | `{_escape_code(digest)}` |")
    yield "\n".join(rows)
    if left_out:
        yield "Left out:\n\n" + "\n".join(left_out)


def _training_section(manifest: Mapping[str, Any], spent: TrainingCost) -> str:
    minutes = spent.seconds / 60
    took = f"{minutes:.0f} minutes" if minutes >= 2 else f"{spent.seconds:.0f} seconds"
    return (
        f"{manifest.get('parameters', 0):,} parameters; {spent.steps:,} steps in {took} on "
        f"{_escape_text(spent.device)} in {spent.precision}, by regard {_escape_text(str(manifest.get('regard', '')))}. "
        f"{_parent_sentence(manifest)}`config.toml` has every setting, `manifest.json` the SHA-256 of each file."
    )


def _parent_sentence(manifest: Mapping[str, Any]) -> str:
    """What it was before it was fine-tuned."""
    if not (parent := manifest.get("from")):
        return ""
    return f"It went on from the weights with the SHA-256 `{_escape_code(parent['weights'])}`. "


def _settings_section(changed: Sequence[SettingChange]) -> Iterator[str]:
    if changed:
        rows = [
            f"| `{name}` | {_escape_text(value)} | {_escape_text(usual)} |" for name, value, usual in changed
        ]
        yield "\n".join(["| setting | here | default |", "| --- | --- | --- |", *rows])


def _file_name(path: str) -> str:
    """A file's name without its folders, which are nobody else's business."""
    return path.replace("\\", "/").rpartition("/")[2]


def _format_setting(value: object) -> str:
    """As it is written in a run file."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _escape_text(text: str) -> str:
    """As it is, in Markdown: a sentence may hold a table's bars, or a page's tags."""
    return (
        MARKDOWN_SPECIALS.sub(r"\\\1", sanitize_for_display(text)).replace("&", "&amp;").replace("<", "&lt;")
    )


def _escape_code(text: str) -> str:
    return sanitize_for_display(text).replace("`", "'")

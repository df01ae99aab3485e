"""The model card: what a model is and where it comes from, for whoever is handed the folder."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.text.unicode import printable
from regard.train.logs.metrics_file import validation_at
from regard.train.run_folder import METRICS
from regard.train.task import Sample

Draw = Callable[[Path], str]
"""The curves of a run folder as SVG; how they are drawn, a layer above knows."""
Change = tuple[str, str, str]
"""A setting that is not the default one: its name, its value and the default."""
PATHS = (
    *("data.source", "data.target", "data.pairs", "data.valid_source", "data.valid_target"),
    *("data.valid_pairs", "data.cache", "start.model"),
    *("data.labelled", "data.texts", "data.labels"),
    *("data.valid_labelled", "data.valid_texts", "data.valid_labels"),
    "data.series",
)
"""Settings that name places on one machine."""
CARD, CURVES = "README.md", "curves.svg"
MARKUP = re.compile(r"([\\`*_\[\]|~$])")


@dataclass(frozen=True)
class Words:
    """What a task calls things."""

    learnt: str
    """To do what, as in "a Transformer that learnt to translate"."""
    unit: str
    """What it learns from, and how the manifest counts it: pairs, texts, rows."""
    command: str
    """How to use it."""
    judged: str
    """How the scores came about."""
    scores: Mapping[str, str]
    """Their names, for people."""
    digits: int = 2
    """That mean something behind the point of a score."""


@dataclass(frozen=True)
class Spent:
    """What the training took."""

    steps: int
    seconds: float
    device: str
    precision: str


def papers(
    run: Path,
    manifest: Mapping[str, Any],
    changed: Sequence[Change],
    spent: Spent,
    words: Words,
    draw: Draw | None,
) -> dict[str, str]:
    """What is published with a model of the run in that folder for people to read, by file name.

    A picture that cannot be drawn (nothing was recorded, on a full disk) costs the picture.
    """
    curves = {}
    if draw is not None:
        with suppress(RegardError):
            curves = {CURVES: draw(run)}
    return {CARD: card(manifest, _watched(run, manifest), changed, spent, words, bool(curves)), **curves}


def card(
    manifest: Mapping[str, Any],
    samples: Sequence[Sample],
    changed: Sequence[Change],
    spent: Spent,
    words: Words,
    curves: bool,
) -> str:
    """The card as Markdown, from what the folder says of itself.

    `curves` is whether their picture lies beside the card.
    """
    title = " → ".join([_name(path) for path in manifest.get("trained_on", {}).get("files", {})][:2])
    paragraphs = [
        f"# {_text(title)}",
        f"A Transformer that learnt to {words.learnt} from `{_code(title)}`. "
        "It is as good as what it learnt from, and for data of that kind.",
        f"```sh\n{words.command}\n```",
        "## How good it is",
        *_scores(manifest, words),
        *([f"![Loss and scores over the training]({CURVES})"] if curves else []),
        *_samples(samples),
        "## What it learnt from",
        *_data(manifest, words.unit),
        "## How it was trained",
        _training(manifest, spent),
        *_settings(changed),
    ]
    return "\n\n".join(paragraphs) + "\n"


def differences(run: Any, default: Any) -> list[Change]:
    """The settings of a run that are not those of `default`; the files are named elsewhere."""
    found = []
    for section in fields(run):
        mine, theirs = getattr(run, section.name), getattr(default, section.name)
        for key in fields(mine):
            value, usual = getattr(mine, key.name), getattr(theirs, key.name)
            name = f"{section.name}.{key.name}"
            if value != usual and name not in PATHS:
                found.append((name, _setting(value), _setting(usual)))
    return found


def _scores(manifest: Mapping[str, Any], words: Words) -> Iterator[str]:
    metrics = manifest.get("metrics", {})
    part = manifest.get("validated_on", {})
    yield (
        f"On {part.get(words.unit, 0):,} {words.unit} it did not learn from, at step "
        f"{manifest.get('step', 0):,} ({words.judged}):"
    )
    figures = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    rows = [
        f"| {words.scores.get(name, name)} | {value:.{words.digits}f} |"
        for name, value in sorted(figures.items())
    ]
    yield "\n".join(["| score | |", "| --- | --- |", *rows])
    signatures = [(name, value) for name, value in metrics.items() if isinstance(value, str)]
    if signatures:
        yield "\n".join(f"- {_text(name.replace('_', ' '))}: `{_code(value)}`" for name, value in signatures)


def _watched(run: Path, manifest: Mapping[str, Any]) -> list[Sample]:
    """How the model that was judged so translated the watched sentences, if that was recorded."""
    if not (run / METRICS).is_file():
        return []
    recorded = validation_at(run / METRICS, manifest.get("step", 0))
    same = recorded.get("loss") == manifest.get("metrics", {}).get("loss")
    return [Sample(**sample) for sample in recorded.get("samples", [])] if same else []


def _samples(samples: Sequence[Sample]) -> Iterator[str]:
    if samples:
        rows = ["| source | reference | this model |", "| --- | --- | --- |"]
        for sample in samples:
            texts = (sample.source, sample.reference, sample.hypothesis)
            rows.append(f"| {' | '.join(map(_text, texts))} |")
        yield "\n".join(rows)


def _data(manifest: Mapping[str, Any], unit: str) -> Iterator[str]:
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
            rows.append(f"| {first} | {_text(_name(path))} | `{_code(digest)}` |")
    yield "\n".join(rows)
    if left_out:
        yield "Left out:\n\n" + "\n".join(left_out)


def _training(manifest: Mapping[str, Any], spent: Spent) -> str:
    minutes = spent.seconds / 60
    took = f"{minutes:.0f} minutes" if minutes >= 2 else f"{spent.seconds:.0f} seconds"
    return (
        f"{manifest.get('parameters', 0):,} parameters; {spent.steps:,} steps in {took} on "
        f"{_text(spent.device)} in {spent.precision}, by regard {_text(str(manifest.get('regard', '')))}. "
        f"{_parent(manifest)}`config.toml` has every setting, `manifest.json` the SHA-256 of each file."
    )


def _parent(manifest: Mapping[str, Any]) -> str:
    """What it was before it was fine-tuned."""
    if not (parent := manifest.get("from")):
        return ""
    return f"It went on from the weights with the SHA-256 `{_code(parent['weights'])}`. "


def _settings(changed: Sequence[Change]) -> Iterator[str]:
    if changed:
        rows = [f"| `{name}` | {_text(value)} | {_text(usual)} |" for name, value, usual in changed]
        yield "\n".join(["| setting | here | default |", "| --- | --- | --- |", *rows])


def _name(path: str) -> str:
    """A file's name without its folders, which are nobody else's business."""
    return path.replace("\\", "/").rpartition("/")[2]


def _setting(value: object) -> str:
    """As it is written in a run file."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _text(text: str) -> str:
    """As it is, in Markdown: a sentence may hold a table's bars, or a page's tags."""
    return MARKUP.sub(r"\\\1", printable(text)).replace("&", "&amp;").replace("<", "&lt;")


def _code(text: str) -> str:
    return printable(text).replace("`", "'")

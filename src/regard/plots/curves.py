"""The curves of one training or of several: which charts there are, and what makes each useful."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float64

from regard.plots.chart import Chart, Level, Line, Spot
from regard.plots.downsample import Series, smooth
from regard.plots.history import Axis, Events, History, learnt_from, numbers, outline, read_histories

Kind = Literal["train", "valid", "other", "mean"]
LABELS = {"step": "step", "tokens": "target tokens seen", "hours": "hours"}
MEAN = 3
"""The shape of its mark, whatever colour its run has."""
SCORES = {"bleu": "BLEU", "chrf": "chrF"}
"""What is drawn of a run whose task names no other two."""
SETTLING = 30
"""The part of a training, one in so many, over which the loss falls too steeply to scale the rest by."""


class Curves:
    """The charts of some runs over one axis; those without data are left out."""

    def __init__(self, runs: Sequence[History], axis: Axis) -> None:
        self.runs = runs
        self._axis: Axis = axis
        self._several = len(runs) > 1
        ends = [run.along(axis, events).max(initial=0.0) for run in runs for events in (run.train, run.valid)]
        self._minutes = axis == "hours" and max(ends) < 2
        self._label = "minutes" if self._minutes else LABELS[axis]

    def charts(self) -> list[Chart]:
        every = [self.loss(), self.scores(), self.rate(), self.speed(), self.norm(), self.padding()]
        every += [self.memory(), self.lengths(), self.by_length()]
        return [chart for chart in every if any(_tells(line.y, chart) for line in chart.lines)]

    def loss(self) -> Chart:
        """The floor that label smoothing sets is dotted, so that nobody waits for 0."""
        lines, levels, spots = [], [], []
        for place, run in enumerate(self.runs):
            lines += self._noisy(place, run, "loss", "training", settling=SETTLING)
            lines.append(self._line(place, run, "loss", "validation", "valid"))
            floor = float(run.facts.get("loss_floor") or 0)
            if floor and floor not in [level.y for level in levels]:
                levels.append(Level(floor, f"training cannot go below {floor:.2f}", place, "left"))
            if run.best is not None:
                x, y = float(self._x(run, run.valid)[run.best]), float(run.valid["loss"][run.best])
                label = "" if self._several else f"best {y:.3f}"  # or they would lie over one another
                spots.append(Spot(x, y, label, self._tone(place, "valid")))
        lines += self._means("loss")
        smoothed = any(run.facts.get("label_smoothing") for run in self.runs)
        caption = "validation is without label smoothing" if smoothed else ""
        title = str(self.runs[0].facts.get("loss_title", "Loss, nats per target token"))
        return self._chart("loss", title, lines, levels, spots, caption=caption)

    def scores(self) -> Chart:
        lines, signatures = [], set()
        named = self.runs[0].facts.get("scores") or SCORES
        (first, first_said), (second, second_said) = named.items()
        for place, run in enumerate(self.runs):
            lines.append(self._line(place, run, first, first_said, "valid"))
            lines.append(
                replace(self._line(place, run, second, second_said, "other"), marks=not self._several)
            )
            signatures |= {
                row["signature"] for row in run.valid.rows if isinstance(row.get("signature"), str)
            }
        caption = " / ".join(sorted(signatures))
        lines += self._means(first)
        title = f"{first_said} and {second_said} of the validation part"
        return self._chart("scores", title, lines, caption=caption)

    def rate(self) -> Chart:
        lines, spots = [], []
        for place, run in enumerate(self.runs):
            lines.append(self._line(place, run, "lr", "actual"))
            if self._axis == "step":
                planned = _pairs(run.facts.get("planned"))
                tone = place if self._several else -1
                lines.append(Line(planned[:, 0], planned[:, 1], tone, "planned", "fine"))
                warmup, end = run.facts.get("warmup"), max(line.x.max(initial=0.0) for line in lines)
                if warmup and warmup <= end and not self._several:
                    spots.append(Spot(float(warmup), None, "warm-up ends"))
        return self._chart("rate", "Learning rate", lines, spots=spots, from_zero=True)

    def speed(self) -> Chart:
        lines = [
            line
            for place, run in enumerate(self.runs)
            for line in self._noisy(place, run, "tokens_per_s", "tokens/s")
        ]
        bands = [] if self._several else list(self._pauses(self.runs[0]))
        caption = "grey: validations" if bands else ""
        title = "Source and target tokens a second, without padding"
        return self._chart("speed", title, lines, bands=bands, from_zero=True, caption=caption)

    def padding(self) -> Chart:
        lines = [
            line
            for place, run in enumerate(self.runs)
            for line in self._noisy(place, run, "pad_fraction", "padding", factor=100.0)
        ]
        return self._chart("padding", "Padding, % of what is computed", lines, from_zero=True)

    def norm(self) -> Chart:
        lines, levels = [], []
        for place, run in enumerate(self.runs):
            lines += self._noisy(place, run, "grad_norm", "norm", settling=SETTLING)
            clip = float(run.facts.get("clip") or 0)
            if clip and clip not in [level.y for level in levels]:
                levels.append(Level(clip, f"clipped at {clip:g}", place))
        return self._chart("norm", "Length of the gradient", lines, levels, from_zero=True)

    def memory(self) -> Chart:
        lines = [
            self._line(place, run, "memory_mb", "memory", factor=1 / 1024)
            for place, run in enumerate(self.runs)
        ]
        return self._chart("memory", "Most memory in use, GiB", lines, from_zero=True)

    def lengths(self) -> Chart:
        """How long the sentences are that were learnt from: as outlines, to lie over one another."""
        lines = []
        for place, run in enumerate(self.runs):
            sides = run.data.get("lengths")
            source, target = (
                outline(sides.get(side) if isinstance(sides, dict) else None) for side in ("source", "target")
            )
            lines.append(Line(*source, self._tone(place, "train"), "source"))
            lines.append(Line(*target, self._tone(place, "valid"), "target", dash=1))
        caption = "" if self._several else learnt_from(self.runs[0].data)
        chart = self._chart("lengths", "Sentences by length", lines, from_zero=True, caption=caption)
        return replace(chart, x_label="pieces")

    def by_length(self) -> Chart:
        """Whether long sentences are translated worse: of the validation that was the best."""
        lines, captions = [], []
        for place, run in enumerate(self.runs):
            row = {} if run.best is None else run.valid.rows[run.best]
            lines.append(
                Line(*outline(row.get("bleu_by_length"), "bleu"), self._tone(place, "valid"), "BLEU")
            )
            captions.append(f"validation at step {row['step']:,}" if row else "")
        caption = "" if self._several else captions[0]
        chart = self._chart(
            "by-length", "BLEU by the length of the source", lines, from_zero=True, caption=caption
        )
        return replace(chart, x_label="pieces in the source")

    def _means(self, column: str) -> Iterator[Line]:
        """The mean of the last checkpoints is a mark of its own: at no step was the model like it."""
        for place, run in enumerate(self.runs):
            if not len(run.means):
                continue
            x, y = self._x(run, run.means)[-1:], run.means[column][-1:]
            label = (
                "mean" if self._several else f"mean of {run.means.rows[-1].get('checkpoints')} checkpoints"
            )
            yield Line(x, y, self._tone(place, "mean"), label, marks=True, shape=MEAN)

    def _chart(
        self,
        name: str,
        title: str,
        lines: Sequence[Line],
        levels: Sequence[Level] = (),
        spots: Sequence[Spot] = (),
        bands: Sequence[tuple[float, float]] = (),
        from_zero: bool = False,
        caption: str = "",
    ) -> Chart:
        several = self._several
        return Chart(name, title, self._label, lines, levels, spots, bands, from_zero, caption, several)

    def _line(
        self, place: int, run: History, column: str, label: str, kind: Kind = "train", factor: float = 1.0
    ) -> Line:
        events = run.train if kind == "train" else run.valid
        dash = place if self._several else 0
        x, y = self._x(run, events), events[column] * factor
        return Line(x, y, self._tone(place, kind), label, dash=dash, marks=kind != "train")

    def _noisy(
        self,
        place: int,
        run: History,
        column: str,
        label: str,
        factor: float = 1.0,
        settling: int | None = None,
    ) -> Iterator[Line]:
        """Raw and thin (of one run only: several would hide each other), smooth and thick.

        With `settling`, neither noise nor the start scales the axis.
        """
        line = self._line(place, run, column, label, factor=factor)
        points = len(line.y)
        if not self._several:
            yield replace(line, label=f"{label}, raw", weight="thin", unscaled=points if settling else 0)
        yield replace(line, y=smooth(line.y), unscaled=points // settling if settling else 0)

    def _tone(self, place: int, kind: Kind) -> int:
        """A colour for each run; where there is one run only, for each kind of line."""
        return place if self._several else ("train", "valid", "other", "mean").index(kind)

    def _x(self, run: History, events: Events) -> Series:
        return run.along(self._axis, events) * (60 if self._minutes else 1)

    def _pauses(self, run: History) -> Iterator[tuple[float, float]]:
        """From the last step before each validation to its end."""
        steps, x = run.train["step"], self._x(run, run.train)
        for step, end in zip(run.valid["step"].tolist(), self._x(run, run.valid).tolist(), strict=True):
            before = int(np.searchsorted(steps, step, side="right")) - 1
            if before >= 0:
                yield float(x[before]), end


def small_curves(folder: Path) -> list[Chart]:
    """The two charts that say most of one run, for its model card."""
    curves = Curves(read_histories([folder]), "step")
    return [chart for chart in curves.charts() if chart.name in ("loss", "scores")]


def _tells(y: Series, chart: Chart) -> bool:
    """Whether there is anything to see: packed batches have no padding at all."""
    return bool(np.isfinite(y).any()) and (chart.name != "padding" or bool(np.nanmax(y) > 0))


def _pairs(planned: object) -> Float64[np.ndarray, "points 2"]:
    """The planned rate as two columns; none if it is not that."""
    pairs = numbers(planned)
    return pairs if pairs.ndim == 2 and pairs.shape[1] == 2 else np.zeros((0, 2))

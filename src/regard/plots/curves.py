"""The curves of one training or of several: which charts there are, and what makes each useful."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float64

from regard.plots.chart import ChartAnnotation, ChartLine, LineChart, ReferenceLine
from regard.plots.downsample import PlotSeries, centered_moving_average
from regard.plots.history import (
    CurveAxis,
    EventTable,
    TrainingHistory,
    describe_training_data,
    histogram_outline,
    read_histories,
    to_float_array,
)

CurveKind = Literal["train", "valid", "other", "mean"]
AXIS_LABELS = {"step": "step", "tokens": "target tokens seen", "hours": "hours"}
AVERAGE_MARKER = 3
"""The shape of its mark, whatever colour its run has."""
DEFAULT_SCORES = {"bleu": "BLEU", "chrf": "chrF"}
"""What is drawn of a run whose task names no other two."""
INITIAL_FRACTION = 30
"""The part of a training, one in so many, over which the loss falls too steeply to scale the rest by."""


class TrainingCurves:
    """The charts of some runs over one axis; those without data are left out."""

    def __init__(self, runs: Sequence[TrainingHistory], axis: CurveAxis) -> None:
        self.runs = runs
        self._axis: CurveAxis = axis
        self._compares_runs = len(runs) > 1
        ends = [
            run.x_values(axis, events).max(initial=0.0) for run in runs for events in (run.train, run.valid)
        ]
        self._minutes = axis == "hours" and max(ends) < 2
        self._x_label = "minutes" if self._minutes else AXIS_LABELS[axis]

    def charts(self) -> list[LineChart]:
        every = [
            self.loss_chart(),
            self.scores_chart(),
            self.learning_rate_chart(),
            self.speed_chart(),
            self.gradient_norm_chart(),
            self.padding_chart(),
        ]
        every += [self.memory_chart(), self.length_histogram_chart(), self.score_by_length_chart()]
        return [chart for chart in every if any(_has_data(line.y, chart) for line in chart.lines)]

    def loss_chart(self) -> LineChart:
        """The floor that label smoothing sets is dotted, so that nobody waits for 0."""
        lines, levels, spots = [], [], []
        for place, run in enumerate(self.runs):
            lines += self._raw_and_smoothed(place, run, "loss", "training", settling=INITIAL_FRACTION)
            lines.append(self._line(place, run, "loss", "validation", "valid"))
            floor = float(run.run_event.get("loss_floor") or 0)
            if floor and floor not in [level.y for level in levels]:
                levels.append(ReferenceLine(floor, f"training cannot go below {floor:.2f}", place, "left"))
            if run.best_validation is not None:
                x, y = (
                    float(self._x_values(run, run.valid)[run.best_validation]),
                    float(run.valid["loss"][run.best_validation]),
                )
                label = "" if self._compares_runs else f"best {y:.3f}"  # or they would lie over one another
                spots.append(ChartAnnotation(x, y, label, self._color(place, "valid")))
        lines += self._checkpoint_averages("loss")
        smoothed = any(run.run_event.get("label_smoothing") for run in self.runs)
        caption = "validation is without label smoothing" if smoothed else ""
        title = str(self.runs[0].run_event.get("loss_title", "Loss, nats per target token"))
        return self._chart("loss", title, lines, levels, spots, caption=caption)

    def scores_chart(self) -> LineChart:
        lines, signatures = [], set()
        named = self.runs[0].run_event.get("scores") or DEFAULT_SCORES
        (first, first_said), (second, second_said) = named.items()
        for place, run in enumerate(self.runs):
            lines.append(self._line(place, run, first, first_said, "valid"))
            lines.append(
                replace(
                    self._line(place, run, second, second_said, "other"), show_markers=not self._compares_runs
                )
            )
            signatures |= {
                row["signature"] for row in run.valid.rows if isinstance(row.get("signature"), str)
            }
        caption = " / ".join(sorted(signatures))
        lines += self._checkpoint_averages(first)
        title = f"{first_said} and {second_said} of the validation part"
        return self._chart("scores", title, lines, caption=caption)

    def learning_rate_chart(self) -> LineChart:
        lines, spots = [], []
        for place, run in enumerate(self.runs):
            lines.append(self._line(place, run, "lr", "actual"))
            if self._axis == "step":
                planned = _planned_rate(run.run_event.get("planned"))
                tone = place if self._compares_runs else -1
                lines.append(ChartLine(planned[:, 0], planned[:, 1], tone, "planned", "fine"))
                warmup, end = run.run_event.get("warmup"), max(line.x.max(initial=0.0) for line in lines)
                if warmup and warmup <= end and not self._compares_runs:
                    spots.append(ChartAnnotation(float(warmup), None, "warm-up ends"))
        return self._chart("rate", "Learning rate", lines, spots=spots, from_zero=True)

    def speed_chart(self) -> LineChart:
        lines = [
            line
            for place, run in enumerate(self.runs)
            for line in self._raw_and_smoothed(place, run, "tokens_per_s", "tokens/s")
        ]
        bands = [] if self._compares_runs else list(self._validation_intervals(self.runs[0]))
        caption = "grey: validations" if bands else ""
        title = "Source and target tokens a second, without padding"
        return self._chart("speed", title, lines, bands=bands, from_zero=True, caption=caption)

    def padding_chart(self) -> LineChart:
        lines = [
            line
            for place, run in enumerate(self.runs)
            for line in self._raw_and_smoothed(place, run, "pad_fraction", "padding", factor=100.0)
        ]
        return self._chart("padding", "Padding, % of what is computed", lines, from_zero=True)

    def gradient_norm_chart(self) -> LineChart:
        lines, levels = [], []
        for place, run in enumerate(self.runs):
            lines += self._raw_and_smoothed(place, run, "grad_norm", "norm", settling=INITIAL_FRACTION)
            clip = float(run.run_event.get("clip") or 0)
            if clip and clip not in [level.y for level in levels]:
                levels.append(ReferenceLine(clip, f"clipped at {clip:g}", place))
        return self._chart("norm", "Length of the gradient", lines, levels, from_zero=True)

    def memory_chart(self) -> LineChart:
        lines = [
            self._line(place, run, "memory_mb", "memory", factor=1 / 1024)
            for place, run in enumerate(self.runs)
        ]
        return self._chart("memory", "Most memory in use, GiB", lines, from_zero=True)

    def length_histogram_chart(self) -> LineChart:
        """How long the sentences are that were learnt from: as outlines, to lie over one another."""
        lines = []
        for place, run in enumerate(self.runs):
            sides = run.data.get("lengths")
            source, target = (
                histogram_outline(sides.get(side) if isinstance(sides, dict) else None)
                for side in ("source", "target")
            )
            lines.append(ChartLine(*source, self._color(place, "train"), "source"))
            lines.append(ChartLine(*target, self._color(place, "valid"), "target", dash=1))
        caption = "" if self._compares_runs else describe_training_data(self.runs[0].data)
        chart = self._chart("lengths", "Sentences by length", lines, from_zero=True, caption=caption)
        return replace(chart, x_label="pieces")

    def score_by_length_chart(self) -> LineChart:
        """Whether long sentences are translated worse: of the validation that was the best."""
        lines, captions = [], []
        for place, run in enumerate(self.runs):
            row = {} if run.best_validation is None else run.valid.rows[run.best_validation]
            lines.append(
                ChartLine(
                    *histogram_outline(row.get("bleu_by_length"), "bleu"), self._color(place, "valid"), "BLEU"
                )
            )
            captions.append(f"validation at step {row['step']:,}" if row else "")
        caption = "" if self._compares_runs else captions[0]
        chart = self._chart(
            "by-length", "BLEU by the length of the source", lines, from_zero=True, caption=caption
        )
        return replace(chart, x_label="pieces in the source")

    def _checkpoint_averages(self, column: str) -> Iterator[ChartLine]:
        """The mean of the last checkpoints is a mark of its own: at no step was the model like it."""
        for place, run in enumerate(self.runs):
            if not len(run.checkpoint_averages):
                continue
            x, y = self._x_values(run, run.checkpoint_averages)[-1:], run.checkpoint_averages[column][-1:]
            label = (
                "mean"
                if self._compares_runs
                else f"mean of {run.checkpoint_averages.rows[-1].get('checkpoints')} checkpoints"
            )
            yield ChartLine(x, y, self._color(place, "mean"), label, show_markers=True, marker=AVERAGE_MARKER)

    def _chart(
        self,
        name: str,
        title: str,
        lines: Sequence[ChartLine],
        levels: Sequence[ReferenceLine] = (),
        spots: Sequence[ChartAnnotation] = (),
        bands: Sequence[tuple[float, float]] = (),
        from_zero: bool = False,
        caption: str = "",
    ) -> LineChart:
        several = self._compares_runs
        return LineChart(name, title, self._x_label, lines, levels, spots, bands, from_zero, caption, several)

    def _line(
        self,
        place: int,
        run: TrainingHistory,
        column: str,
        label: str,
        kind: CurveKind = "train",
        factor: float = 1.0,
    ) -> ChartLine:
        events = run.train if kind == "train" else run.valid
        dash = place if self._compares_runs else 0
        x, y = self._x_values(run, events), events[column] * factor
        return ChartLine(x, y, self._color(place, kind), label, dash=dash, show_markers=kind != "train")

    def _raw_and_smoothed(
        self,
        place: int,
        run: TrainingHistory,
        column: str,
        label: str,
        factor: float = 1.0,
        settling: int | None = None,
    ) -> Iterator[ChartLine]:
        """Raw and thin (of one run only: several would hide each other), smooth and thick.

        With `settling`, neither noise nor the start scales the axis.
        """
        line = self._line(place, run, column, label, factor=factor)
        points = len(line.y)
        if not self._compares_runs:
            yield replace(
                line, label=f"{label}, raw", stroke="thin", points_outside_scale=points if settling else 0
            )
        yield replace(
            line,
            y=centered_moving_average(line.y),
            points_outside_scale=points // settling if settling else 0,
        )

    def _color(self, place: int, kind: CurveKind) -> int:
        """A colour for each run; where there is one run only, for each kind of line."""
        return place if self._compares_runs else ("train", "valid", "other", "mean").index(kind)

    def _x_values(self, run: TrainingHistory, events: EventTable) -> PlotSeries:
        return run.x_values(self._axis, events) * (60 if self._minutes else 1)

    def _validation_intervals(self, run: TrainingHistory) -> Iterator[tuple[float, float]]:
        """From the last step before each validation to its end."""
        steps, x = run.train["step"], self._x_values(run, run.train)
        for step, end in zip(
            run.valid["step"].tolist(), self._x_values(run, run.valid).tolist(), strict=True
        ):
            before = int(np.searchsorted(steps, step, side="right")) - 1
            if before >= 0:
                yield float(x[before]), end


def model_card_charts(folder: Path) -> list[LineChart]:
    """The two charts that say most of one run, for its model card."""
    curves = TrainingCurves(read_histories([folder]), "step")
    return [chart for chart in curves.charts() if chart.name in ("loss", "scores")]


def _has_data(y: PlotSeries, chart: LineChart) -> bool:
    """Whether there is anything to see: packed batches have no padding at all."""
    return bool(np.isfinite(y).any()) and (chart.name != "padding" or bool(np.nanmax(y) > 0))


def _planned_rate(planned: object) -> Float64[np.ndarray, "points 2"]:
    """The planned rate as two columns; none if it is not that."""
    pairs = to_float_array(planned)
    return pairs if pairs.ndim == 2 and pairs.shape[1] == 2 else np.zeros((0, 2))

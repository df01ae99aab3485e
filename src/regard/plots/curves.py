"""Training curves: the line charts of one run or of several."""

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
"""Index of its marker shape, the same for every run."""
DEFAULT_SCORES = {"bleu": "BLEU", "chrf": "chrF"}
"""The two scores drawn for a run that names no others."""
INITIAL_FRACTION = 30
"""The first 1/30 of a training does not scale the loss axis: the loss falls too steeply there."""


class TrainingCurves:
    """The charts of one or several runs over a common x axis."""

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
        """Return all charts that have data."""
        charts = [
            self.loss_chart(),
            self.scores_chart(),
            self.learning_rate_chart(),
            self.speed_chart(),
            self.gradient_norm_chart(),
            self.padding_chart(),
        ]
        charts += [self.memory_chart(), self.length_histogram_chart(), self.score_by_length_chart()]
        return [chart for chart in charts if any(_has_data(line.y, chart) for line in chart.lines)]

    def loss_chart(self) -> LineChart:
        """Draw the loss, with the lowest training loss that label smoothing allows as a dotted line."""
        lines, reference_lines, annotations = [], [], []
        for index, run in enumerate(self.runs):
            lines += self._raw_and_smoothed(index, run, "loss", "training", initial_fraction=INITIAL_FRACTION)
            lines.append(self._line(index, run, "loss", "validation", "valid"))
            floor = float(run.run_event.get("loss_floor") or 0)
            if floor and floor not in [level.y for level in reference_lines]:
                reference_lines.append(
                    ReferenceLine(floor, f"training cannot go below {floor:.2f}", index, "left")
                )
            if run.best_validation is not None:
                x = float(self._x_values(run, run.valid)[run.best_validation])
                y = float(run.valid["loss"][run.best_validation])
                label = "" if self._compares_runs else f"best {y:.3f}"  # labels of several runs would overlap
                annotations.append(ChartAnnotation(x, y, label, self._color(index, "valid")))
        lines += self._checkpoint_averages("loss")
        is_smoothed = any(run.run_event.get("label_smoothing") for run in self.runs)
        caption = "validation is without label smoothing" if is_smoothed else ""
        title = str(self.runs[0].run_event.get("loss_title", "Loss, nats per target token"))
        return self._chart("loss", title, lines, reference_lines, annotations, caption=caption)

    def scores_chart(self) -> LineChart:
        lines, signatures = [], set()
        score_names = self.runs[0].run_event.get("scores") or DEFAULT_SCORES
        (first, first_label), (second, second_label) = score_names.items()
        for index, run in enumerate(self.runs):
            lines.append(self._line(index, run, first, first_label, "valid"))
            lines.append(
                replace(
                    self._line(index, run, second, second_label, "other"),
                    show_markers=not self._compares_runs,
                )
            )
            signatures |= {
                row["signature"] for row in run.valid.rows if isinstance(row.get("signature"), str)
            }
        caption = " / ".join(sorted(signatures))
        lines += self._checkpoint_averages(first)
        title = f"{first_label} and {second_label} on the validation data"
        return self._chart("scores", title, lines, caption=caption)

    def learning_rate_chart(self) -> LineChart:
        lines, annotations = [], []
        for index, run in enumerate(self.runs):
            lines.append(self._line(index, run, "lr", "actual"))
            if self._axis == "step":
                planned = _planned_rate(run.run_event.get("planned"))
                color = index if self._compares_runs else -1
                lines.append(ChartLine(planned[:, 0], planned[:, 1], color, "planned", "fine"))
                warmup, end = run.run_event.get("warmup"), max(line.x.max(initial=0.0) for line in lines)
                if warmup and warmup <= end and not self._compares_runs:
                    annotations.append(ChartAnnotation(float(warmup), None, "warm-up ends"))
        return self._chart("rate", "Learning rate", lines, annotations=annotations, include_zero=True)

    def speed_chart(self) -> LineChart:
        lines = [
            line
            for index, run in enumerate(self.runs)
            for line in self._raw_and_smoothed(index, run, "tokens_per_s", "tokens/s")
        ]
        bands = [] if self._compares_runs else list(self._validation_intervals(self.runs[0]))
        caption = "grey: validations" if bands else ""
        title = "Source and target tokens per second, without padding"
        return self._chart("speed", title, lines, bands=bands, include_zero=True, caption=caption)

    def padding_chart(self) -> LineChart:
        lines = [
            line
            for index, run in enumerate(self.runs)
            for line in self._raw_and_smoothed(index, run, "pad_fraction", "padding", factor=100.0)
        ]
        return self._chart("padding", "Padding, % of computed tokens", lines, include_zero=True)

    def gradient_norm_chart(self) -> LineChart:
        lines, reference_lines = [], []
        for index, run in enumerate(self.runs):
            lines += self._raw_and_smoothed(
                index, run, "grad_norm", "norm", initial_fraction=INITIAL_FRACTION
            )
            clip = float(run.run_event.get("clip") or 0)
            if clip and clip not in [level.y for level in reference_lines]:
                reference_lines.append(ReferenceLine(clip, f"clipped at {clip:g}", index))
        return self._chart("norm", "Gradient norm", lines, reference_lines, include_zero=True)

    def memory_chart(self) -> LineChart:
        lines = [
            self._line(index, run, "memory_mb", "memory", factor=1 / 1024)
            for index, run in enumerate(self.runs)
        ]
        return self._chart("memory", "Peak memory, GiB", lines, include_zero=True)

    def length_histogram_chart(self) -> LineChart:
        """Draw the sentence lengths of the training data as histogram outlines."""
        lines = []
        for index, run in enumerate(self.runs):
            sides = run.data.get("lengths")
            source, target = (
                histogram_outline(sides.get(side) if isinstance(sides, dict) else None)
                for side in ("source", "target")
            )
            lines.append(ChartLine(*source, self._color(index, "train"), "source"))
            lines.append(ChartLine(*target, self._color(index, "valid"), "target", dash=1))
        caption = "" if self._compares_runs else describe_training_data(self.runs[0].data)
        chart = self._chart("lengths", "Sentences by length", lines, include_zero=True, caption=caption)
        return replace(chart, x_label="tokens")

    def score_by_length_chart(self) -> LineChart:
        """Draw BLEU by source length at the best validation."""
        lines, captions = [], []
        for index, run in enumerate(self.runs):
            row = {} if run.best_validation is None else run.valid.rows[run.best_validation]
            lines.append(
                ChartLine(
                    *histogram_outline(row.get("bleu_by_length"), "bleu"), self._color(index, "valid"), "BLEU"
                )
            )
            captions.append(f"validation at step {row['step']:,}" if row else "")
        caption = "" if self._compares_runs else captions[0]
        chart = self._chart("by-length", "BLEU by source length", lines, include_zero=True, caption=caption)
        return replace(chart, x_label="source tokens")

    def _checkpoint_averages(self, column: str) -> Iterator[ChartLine]:
        """Yield the average of the last checkpoints as a marker: it is not the model of any step."""
        for index, run in enumerate(self.runs):
            if not len(run.checkpoint_averages):
                continue
            averages = run.checkpoint_averages
            x, y = self._x_values(run, averages)[-1:], averages[column][-1:]
            count = averages.rows[-1].get("checkpoints")
            label = "average" if self._compares_runs else f"average of {count} checkpoints"
            yield ChartLine(x, y, self._color(index, "mean"), label, show_markers=True, marker=AVERAGE_MARKER)

    def _chart(
        self,
        name: str,
        title: str,
        lines: Sequence[ChartLine],
        reference_lines: Sequence[ReferenceLine] = (),
        annotations: Sequence[ChartAnnotation] = (),
        bands: Sequence[tuple[float, float]] = (),
        include_zero: bool = False,
        caption: str = "",
    ) -> LineChart:
        return LineChart(
            name,
            title,
            self._x_label,
            lines,
            reference_lines,
            annotations,
            bands,
            include_zero,
            caption,
            self._compares_runs,
        )

    def _line(
        self,
        index: int,
        run: TrainingHistory,
        column: str,
        label: str,
        kind: CurveKind = "train",
        factor: float = 1.0,
    ) -> ChartLine:
        events = run.train if kind == "train" else run.valid
        dash = index if self._compares_runs else 0
        x, y = self._x_values(run, events), events[column] * factor
        return ChartLine(x, y, self._color(index, kind), label, dash=dash, show_markers=kind != "train")

    def _raw_and_smoothed(
        self,
        index: int,
        run: TrainingHistory,
        column: str,
        label: str,
        factor: float = 1.0,
        initial_fraction: int | None = None,
    ) -> Iterator[ChartLine]:
        """Yield the raw values as a thin line (of a single run only) and the moving average as a thick one.

        With `initial_fraction`, neither the raw values nor the first 1 / initial_fraction scale the axis.
        """
        line = self._line(index, run, column, label, factor=factor)
        points = len(line.y)
        if not self._compares_runs:
            yield replace(
                line,
                label=f"{label}, raw",
                stroke="thin",
                points_outside_scale=points if initial_fraction else 0,
            )
        yield replace(
            line,
            y=centered_moving_average(line.y),
            points_outside_scale=points // initial_fraction if initial_fraction else 0,
        )

    def _color(self, index: int, kind: CurveKind) -> int:
        """Return a colour per run, or per kind of line for a single run."""
        return index if self._compares_runs else ("train", "valid", "other", "mean").index(kind)

    def _x_values(self, run: TrainingHistory, events: EventTable) -> PlotSeries:
        return run.x_values(self._axis, events) * (60 if self._minutes else 1)

    def _validation_intervals(self, run: TrainingHistory) -> Iterator[tuple[float, float]]:
        """Yield the interval from the last step before each validation to the end of it."""
        steps, x = run.train["step"], self._x_values(run, run.train)
        for step, end in zip(
            run.valid["step"].tolist(), self._x_values(run, run.valid).tolist(), strict=True
        ):
            before = int(np.searchsorted(steps, step, side="right")) - 1
            if before >= 0:
                yield float(x[before]), end


def model_card_charts(folder: Path) -> list[LineChart]:
    """Return the charts of the model card: loss and scores."""
    curves = TrainingCurves(read_histories([folder]), "step")
    return [chart for chart in curves.charts() if chart.name in ("loss", "scores")]


def _has_data(y: PlotSeries, chart: LineChart) -> bool:
    """Return whether there are values to draw; packed batches have no padding."""
    return bool(np.isfinite(y).any()) and (chart.name != "padding" or bool(np.nanmax(y) > 0))


def _planned_rate(planned: object) -> Float64[np.ndarray, "points 2"]:
    """Return the planned learning rate as columns of step and rate; empty if it is malformed."""
    pairs = to_float_array(planned)
    return pairs if pairs.ndim == 2 and pairs.shape[1] == 2 else np.zeros((0, 2))

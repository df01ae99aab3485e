"""The last window of a table as a forecaster reads it, and when each of its patches is: to look inside."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from regard.data.series.calendar import calendar
from regard.data.series.clock import Step, Times
from regard.data.series.table import Table
from regard.errors import DataError
from regard.model.visible import Visible
from regard.tasks.forecaster import Forecaster

DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class LastWindow:
    """What enters encoder and decoder when the steps after the last row are foretold, patch by patch."""

    series: str
    seen: tuple[str, ...]
    """When each patch of the past is, from its first step to its last: the places of the encoder."""
    foretold: tuple[str, ...]
    """When each patch to come is: the places of the decoder."""
    source: Float[Tensor, "1 source d_model"]
    asked: Float[Tensor, "1 target d_model"]
    visible: Visible
    """What a patch to come may see of the others; of the past each sees everything."""
    values: Float64[np.ndarray, " horizon"]
    """The mean that comes out, in the series' own units."""


@torch.inference_mode()
def last_window(forecaster: Forecaster, table: Table, series: str | None = None) -> LastWindow:
    """Of one series, the first if none is named; a model that reads all at once has one window for all.

    Step by step each patch reads the mean that was foretold for those before it, all in one pass.
    """
    config, known, network = forecaster.config, forecaster.known, forecaster.network
    table = forecaster.fitting(table)
    name = table.columns[0] if series is None else series
    if name not in table.columns:
        raise DataError(f"the model knows no series {name!r}; it has {', '.join(table.columns)}")
    number = table.columns.index(name)
    recent, _ = forecaster.recent(table)
    times = np.concatenate([table.times[-config.history :], table.future(config.foretold * config.patch)])
    dates = calendar(times, known.cycles)
    rows = recent[:, [number]] if config.channels == 1 else recent
    history, past, future = (
        torch.from_numpy(np.ascontiguousarray(each))[None].to(network.device)
        for each in (rows, dates[: config.history], dates[config.history :][: config.horizon])
    )
    mean = network.forecast(history, past, future)[..., 0]
    _, source, asked = network.embed(history, past, future, mean)
    scaled = mean[0, :, 0 if config.channels == 1 else number].cpu().numpy().astype(np.float64)
    firsts = [config.history - config.patch - config.stride * after for after in range(config.seen)][::-1]
    later = [config.history + config.patch * number for number in range(config.foretold)]
    seen, foretold = (
        tuple(_span(times, first, config.patch, known.clock.step) for first in each)
        for each in (firsts, later)
    )
    values = scaled * known.scaling.deviation[number] + known.scaling.mean[number]
    return LastWindow(name, seen, foretold, source, asked, network.visible, values)


def _span(times: Times, first: int, patch: int, step: Step) -> str:
    """From the first step of a patch to its last: 06-12 20:00–13 19:00, as short as a label must be."""
    begin, end = times[max(first, 0)], times[first + patch - 1]
    long = bool(step.months) or step.microseconds >= DAY
    unit = "M" if step.months else "D" if long else "m"
    texts = [str(np.datetime_as_string(time, unit=unit)).replace("T", " ") for time in (begin, end)]
    if patch == 1 or long:
        return "–".join(dict.fromkeys(texts))
    same = next(size for size in (11, 8, 5, 0) if texts[0][:size] == texts[1][:size])
    return f"{texts[0][5:]}–{texts[1][max(same, 5 if same else 0) :]}"

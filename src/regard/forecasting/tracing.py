"""The last window of a table as a forecaster reads it, and when each of its patches is: to look inside."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from regard.errors import DataError
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.model_folder import TASK, load_forecaster
from regard.forecasting.series.calendar import calendar
from regard.forecasting.series.table import Table
from regard.forecasting.series.time_axis import Step, Times
from regard.model.masks import EVERYTHING, Visible
from regard.trace.capture import Captured, through_decoder, through_encoder
from regard.trace.encoder_only import glance
from regard.trace.model_facts import Identity, identity_of_folder, model_facts
from regard.trace.request import MAX_TRACE_TOKENS, LengthError, Request
from regard.trace.schema import ModelFacts, Side, Target, Token, Vocab
from regard.trace.trace import Trace
from regard.train.device import Device, choose_device

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


class SeriesTracer:
    """Looks into what one forecaster foretells after the last row of a table."""

    def __init__(self, forecaster: Forecaster, identity: Identity, table: Table) -> None:
        self._forecaster, self._identity, self._table = forecaster, identity, table

    @staticmethod
    def load(folder: Path, table: Path, device: Device = "auto") -> "SeriesTracer":
        """The model of a folder, asked about a file."""
        found = load_forecaster(folder)
        forecaster = Forecaster(found.network.to(choose_device(device)), found.known)
        return SeriesTracer(forecaster, identity_of_folder(folder, found.manifest), forecaster.read(table))

    @torch.inference_mode()
    def trace(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> Trace:
        """Of the series of that name, the first if it has none; its tokens are stretches of time."""
        began = perf_counter()
        network, window = self._forecaster.network, last_window(self._forecaster, self._table, text or None)
        longest = max(len(window.seen), len(window.foretold))
        if longest > max_tokens:
            raise LengthError("the window", longest, max_tokens, "max_tokens")
        encoder, encoded = through_encoder(network.encoder, window.source, EVERYTHING)
        decoder, decoded = through_decoder(network.decoder, window.asked, encoded, window.visible, EVERYTHING)
        captured = Captured(
            window.source[0], window.asked[0], encoder, decoder, encoded[0], network.output(decoded)[0]
        )
        values = ", ".join(f"{value:.4g}" for value in window.values.tolist())
        return glance(
            self.facts(),
            Request(window.series),
            Side(window.series, _stretches(window.seen)),
            Target(values, 0.0, 0.0, False, _stretches(window.foretold)),
            captured,
            1000 * (perf_counter() - began),
        )

    @property
    def series(self) -> tuple[str, ...]:
        """The names that can be asked for."""
        return tuple(self._table.columns)

    def facts(self) -> ModelFacts:
        """What a trace says of its model."""
        network = self._forecaster.network
        config = network.config
        layers, vocab = (config.encoder_layers, config.decoder_layers), Vocab(config.patch, config.patch)
        causal = network.visible.causal
        return model_facts(self._identity, network, config, layers, vocab, TASK, causal=causal)


def _stretches(times: tuple[str, ...]) -> tuple[Token, ...]:
    """Each its own word: nothing joins two of them."""
    return tuple(Token(number, text, text, None, None, number) for number, text in enumerate(times))

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
from regard.forecasting.series.calendar import calendar_features
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import Times, TimeStep
from regard.model.masks import NO_MASK, AttentionMask
from regard.trace.capture import ForwardCapture, capture_decoder, capture_encoder
from regard.trace.encoder_only import build_encoder_only_trace
from regard.trace.model_facts import ModelIdentity, build_model_facts, identify_model_folder
from regard.trace.request import MAX_TRACE_TOKENS, TraceLengthError, TraceRequest
from regard.trace.schema import ModelFacts, TraceSource, TraceTarget, TraceToken, VocabSizes
from regard.trace.trace import Trace
from regard.train.device import DeviceChoice, choose_device

MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class LastWindow:
    """What enters encoder and decoder when the steps after the last row are foretold, patch by patch."""

    series: str
    history_patches: tuple[str, ...]
    """When each patch of the past is, from its first step to its last: the places of the encoder."""
    horizon_patches: tuple[str, ...]
    """When each patch to come is: the places of the decoder."""
    encoder_input: Float[Tensor, "1 source d_model"]
    decoder_input: Float[Tensor, "1 target d_model"]
    decoder_mask: AttentionMask
    """What a patch to come may see of the others; of the past each sees everything."""
    values: Float64[np.ndarray, " horizon"]
    """The mean that comes out, in the series' own units."""


@torch.inference_mode()
def embed_last_window(forecaster: Forecaster, table: SeriesTable, series: str | None = None) -> LastWindow:
    """Of one series, the first if none is named; a model that reads all at once has one window for all.

    Step by step each patch reads the mean that was foretold for those before it, all in one pass.
    """
    config, known, network = forecaster.config, forecaster.metadata, forecaster.network
    table = forecaster.select_series(table)
    name = table.columns[0] if series is None else series
    if name not in table.columns:
        raise DataError(f"the model knows no series {name!r}; it has {', '.join(table.columns)}")
    number = table.columns.index(name)
    recent, _ = forecaster.recent_history(table)
    times = np.concatenate(
        [table.times[-config.history :], table.future_times(config.horizon_patches * config.patch)]
    )
    dates = calendar_features(times, known.cycles)
    rows = recent[:, [number]] if config.channels == 1 else recent
    history, past, future = (
        torch.from_numpy(np.ascontiguousarray(each))[None].to(network.device)
        for each in (rows, dates[: config.history], dates[config.history :][: config.horizon])
    )
    mean = network.forecast(history, past, future)[..., 0]
    _, source, asked = network.embed(history, past, future, mean)
    scaled = mean[0, :, 0 if config.channels == 1 else number].cpu().numpy().astype(np.float64)
    firsts = [
        config.history - config.patch - config.stride * after for after in range(config.history_patches)
    ][::-1]
    later = [config.history + config.patch * number for number in range(config.horizon_patches)]
    seen, foretold = (
        tuple(_format_patch_span(times, first, config.patch, known.time_axis.step) for first in each)
        for each in (firsts, later)
    )
    values = scaled * known.scaler.std[number] + known.scaler.mean[number]
    return LastWindow(name, seen, foretold, source, asked, network.target_mask, values)


def _format_patch_span(times: Times, first: int, patch: int, step: TimeStep) -> str:
    """From the first step of a patch to its last: 06-12 20:00–13 19:00, as short as a label must be."""
    begin, end = times[max(first, 0)], times[first + patch - 1]
    long = bool(step.months) or step.microseconds >= MICROSECONDS_PER_DAY
    unit = "M" if step.months else "D" if long else "m"
    texts = [str(np.datetime_as_string(time, unit=unit)).replace("T", " ") for time in (begin, end)]
    if patch == 1 or long:
        return "–".join(dict.fromkeys(texts))
    same = next(size for size in (11, 8, 5, 0) if texts[0][:size] == texts[1][:size])
    return f"{texts[0][5:]}–{texts[1][max(same, 5 if same else 0) :]}"


class ForecasterTracer:
    """Looks into what one forecaster foretells after the last row of a table."""

    def __init__(self, forecaster: Forecaster, identity: ModelIdentity, table: SeriesTable) -> None:
        self._forecaster, self._identity, self._table = forecaster, identity, table

    @staticmethod
    def load(folder: Path, table: Path, device: DeviceChoice = "auto") -> "ForecasterTracer":
        """The model of a folder, asked about a file."""
        found = load_forecaster(folder)
        forecaster = Forecaster(found.network.to(choose_device(device)), found.metadata)
        return ForecasterTracer(
            forecaster, identify_model_folder(folder, found.manifest), forecaster.read_series(table)
        )

    @torch.inference_mode()
    def trace(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> Trace:
        """Of the series of that name, the first if it has none; its tokens are stretches of time."""
        began = perf_counter()
        network, window = (
            self._forecaster.network,
            embed_last_window(self._forecaster, self._table, text or None),
        )
        longest = max(len(window.history_patches), len(window.horizon_patches))
        if longest > max_tokens:
            raise TraceLengthError("the window", longest, max_tokens, "max_tokens")
        encoder, encoded = capture_encoder(network.encoder, window.encoder_input, NO_MASK)
        decoder, decoded = capture_decoder(
            network.decoder, window.decoder_input, encoded, window.decoder_mask, NO_MASK
        )
        captured = ForwardCapture(
            window.encoder_input[0],
            window.decoder_input[0],
            encoder,
            decoder,
            encoded[0],
            network.output(decoded)[0],
        )
        values = ", ".join(f"{value:.4g}" for value in window.values.tolist())
        return build_encoder_only_trace(
            self.model_facts(),
            TraceRequest(window.series),
            TraceSource(window.series, _patch_tokens(window.history_patches)),
            TraceTarget(values, 0.0, 0.0, False, _patch_tokens(window.horizon_patches)),
            captured,
            1000 * (perf_counter() - began),
        )

    @property
    def series_names(self) -> tuple[str, ...]:
        """The names that can be asked for."""
        return tuple(self._table.columns)

    def model_facts(self) -> ModelFacts:
        """What a trace says of its model."""
        network = self._forecaster.network
        config = network.config
        layers, vocab = (config.encoder_layers, config.decoder_layers), VocabSizes(config.patch, config.patch)
        causal = network.target_mask.causal
        return build_model_facts(self._identity, network, config, layers, vocab, TASK, causal=causal)


def _patch_tokens(times: tuple[str, ...]) -> tuple[TraceToken, ...]:
    """Each its own word: nothing joins two of them."""
    return tuple(TraceToken(number, text, text, None, None, number) for number, text in enumerate(times))

"""Traces of a forecaster: which patch of the past each forecast patch attends to, in every head."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from regard.errors import DataError
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.model_folder import FORECASTING_TASK, load_forecaster
from regard.forecasting.series.calendar import calendar_features
from regard.forecasting.series.table import SeriesTable
from regard.forecasting.series.time_axis import MICROSECONDS_PER_DAY, Times, TimeStep
from regard.model.masks import NO_MASK, AttentionMask
from regard.trace.capture import ForwardCapture, capture_decoder, capture_encoder
from regard.trace.encoder_only import build_encoder_only_trace
from regard.trace.model_facts import ModelIdentity, build_model_facts, identify_model_folder
from regard.trace.request import MAX_TRACE_TOKENS, TraceLengthError, TraceRequest
from regard.trace.schema import ModelFacts, TraceSource, TraceTarget, TraceToken, VocabSizes
from regard.trace.trace import Trace
from regard.training.device import DeviceChoice


@dataclass(frozen=True, eq=False)
class LastWindow:
    """The embedded patches of the last window of a table, and the times of each patch."""

    series: str
    history_patches: tuple[str, ...]
    """The time span of each history patch: the positions of the encoder."""
    horizon_patches: tuple[str, ...]
    """The time span of each forecast patch: the positions of the decoder."""
    encoder_input: Float[Tensor, "1 source d_model"]
    decoder_input: Float[Tensor, "1 target d_model"]
    decoder_mask: AttentionMask
    """Which forecast patches a forecast patch may attend to."""
    values: Float64[np.ndarray, " horizon"]
    """The forecast mean, in the units of the series."""


@torch.inference_mode()
def embed_last_window(forecaster: Forecaster, table: SeriesTable, series: str | None = None) -> LastWindow:
    """Embed the last window of one series, by default the first; a multivariate model has one for all.

    For a model that decodes step by step, the decoder input holds the means it has predicted, so that
    one pass gives all attention weights.
    """
    config, metadata, network = forecaster.config, forecaster.metadata, forecaster.network
    table = forecaster.select_series(table)
    name = table.columns[0] if series is None else series
    if name not in table.columns:
        raise DataError(f"the model has no series {name!r}; it has {', '.join(table.columns)}")
    number = table.columns.index(name)
    recent, _ = forecaster.recent_history(table)
    future_times = table.future_times(config.horizon_patches * config.patch)
    times = np.concatenate([table.times[-config.history :], future_times])
    features = calendar_features(times, metadata.cycles)
    values = recent[:, [number]] if config.channels == 1 else recent
    history, past, future = (
        torch.from_numpy(np.ascontiguousarray(rows))[None].to(network.device)
        for rows in (values, features[: config.history], features[config.history :][: config.horizon])
    )
    mean = network.forecast(history, past, future)[..., 0]
    _, encoder_input, decoder_input = network.embed(history, past, future, mean)
    scaled = mean[0, :, 0 if config.channels == 1 else number].cpu().numpy().astype(np.float64)
    history_starts = [
        config.history - config.patch - config.stride * patch for patch in range(config.history_patches)
    ][::-1]
    horizon_starts = [config.history + config.patch * patch for patch in range(config.horizon_patches)]
    step = metadata.time_axis.step
    shown = times[: config.history + config.horizon]  # the last patch may be longer than what is forecast
    return LastWindow(
        name,
        tuple(_format_patch_span(shown, first, config.patch, step) for first in history_starts),
        tuple(_format_patch_span(shown, first, config.patch, step) for first in horizon_starts),
        encoder_input,
        decoder_input,
        network.target_mask,
        scaled * metadata.scaler.std[number] + metadata.scaler.mean[number],
    )


def _format_patch_span(times: Times, first: int, patch: int, step: TimeStep) -> str:
    """Format the first and last time of a patch as a short label: 06-12 20:00–13 19:00."""
    start, end = times[max(first, 0)], times[min(first + patch, len(times)) - 1]
    dates_only = bool(step.months) or step.microseconds >= MICROSECONDS_PER_DAY
    unit = "M" if step.months else "D" if dates_only else "m"
    texts = [str(np.datetime_as_string(time, unit=unit)).replace("T", " ") for time in (start, end)]
    if patch == 1 or dates_only:
        return "–".join(dict.fromkeys(texts))
    shared = next(size for size in (11, 8, 5, 0) if texts[0][:size] == texts[1][:size])
    return f"{texts[0][5:]}–{texts[1][max(shared, 5 if shared else 0) :]}"


class ForecasterTracer:
    """Traces the forecasts of one model after the last row of a table."""

    def __init__(self, forecaster: Forecaster, identity: ModelIdentity, table: SeriesTable) -> None:
        self._forecaster, self._identity, self._table = forecaster, identity, table

    @staticmethod
    def load(folder: Path, table: Path, device: DeviceChoice = "auto") -> "ForecasterTracer":
        """Load the model of a folder and the table to forecast."""
        loaded = load_forecaster(folder)
        forecaster = Forecaster.from_loaded(loaded, device)
        identity = identify_model_folder(folder, loaded.manifest)
        return ForecasterTracer(forecaster, identity, forecaster.read_series(table))

    @torch.inference_mode()
    def trace(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> Trace:
        """Trace the forecast of the series named `text`, by default the first; its tokens are patches."""
        start = perf_counter()
        network = self._forecaster.network
        window = embed_last_window(self._forecaster, self._table, text or None)
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
            1000 * (perf_counter() - start),
        )

    @property
    def series_names(self) -> tuple[str, ...]:
        """The series that can be traced."""
        return tuple(self._table.columns)

    def model_facts(self) -> ModelFacts:
        """Describe the model in a trace."""
        network = self._forecaster.network
        config = network.config
        layers, vocab = (config.encoder_layers, config.decoder_layers), VocabSizes(config.patch, config.patch)
        causal = network.target_mask.causal
        return build_model_facts(
            self._identity, network, config, layers, vocab, FORECASTING_TASK, causal=causal
        )


def _patch_tokens(spans: tuple[str, ...]) -> tuple[TraceToken, ...]:
    """Make one token, and one word, of each patch."""
    return tuple(TraceToken(number, text, text, None, None, number) for number, text in enumerate(spans))

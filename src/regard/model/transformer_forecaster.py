"""Transformer forecaster: patches of a series through encoder and decoder, with per-window normalization."""

import itertools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.config import setting
from regard.errors import require_setting
from regard.model.config import Activation, LayerConfig, NormPlacement, PositionScheme, require_position_table
from regard.model.dropout import Dropout
from regard.model.layers import init_weights
from regard.model.masks import CAUSAL_MASK, NO_MASK, AttentionMask
from regard.model.position import PositionalEncoding
from regard.model.stacks import Decoder, Encoder
from regard.model.weight_shapes import NamedShapes, linear_weight_shapes, stack_weight_shapes


def count_patches(time: int, patch: int, stride: int) -> int:
    """Return how many patches cover `time` steps."""
    return -(-max(time - patch, 0) // stride) + 1


def make_patches(
    values: Float[Tensor, "batch time channels"], patch: int, stride: int
) -> Float[Tensor, "batch patches width"]:
    """Return patches of `patch` steps, `stride` apart, each flattened channel after channel.

    The last patch ends with the series, since the newest values matter most; where the first patch would
    start before the series, the first value is repeated.
    """
    time = values.shape[1]
    padding = (count_patches(time, patch, stride) - 1) * stride + patch - time
    padded = functional.pad(values.transpose(1, 2), (padding, 0), mode="replicate")
    return padded.unfold(2, patch, stride).transpose(1, 2).flatten(2)


def patch_start_steps(time: int, patch: int, stride: int, device: torch.device) -> Int[Tensor, " patches"]:
    """Return the step at which each patch starts."""
    count = count_patches(time, patch, stride)
    from_end = torch.arange(count - 1, -1, -1, device=device)
    return (time - patch - stride * from_end).clamp(min=0)


WindowNormalisation = Literal["mean", "last", "none"]
HorizonDecoding = Literal["parallel", "steps"]

MAX_QUANTILES = 99
VARIANCE_EPSILON = 1e-5
"""Added to the variance of a window, so that a constant window can be divided by its scale."""


@dataclass(frozen=True)
class ForecasterConfig(LayerConfig):
    """Settings of a forecaster; small by default, since a series has few values compared with a corpus."""

    d_model: int = setting(64, at_least=1, at_most=65536)
    heads: int = setting(4, at_least=1, at_most=1024)
    d_ff: int = setting(128, at_least=1, at_most=2**20)
    dropout: float = 0.1
    norm: NormPlacement = "pre"
    """post: LN(x + f(x)), the paper. pre: x + f(LN(x)). literal: x + LN(f(x))."""
    activation: Activation = "gelu"
    position: PositionScheme = "learned"
    """Which position table is added to the patches; positions continue from the history to the horizon."""
    encoder_layers: int = setting(2, at_least=0, at_most=1000)
    decoder_layers: int = setting(1, at_least=1, at_most=1000)
    history: int = setting(336, at_least=1, at_most=2**20)
    """Steps of the history the model reads."""
    horizon: int = setting(96, flag="--horizon", at_least=1, at_most=2**20)
    """Steps to predict: the forecast horizon."""
    patch: int = setting(24, at_least=1, at_most=2**16)
    """Steps per patch, best the length of a season; 1 is one vector per value."""
    stride: int = setting(24, at_least=1, at_most=2**16)
    """Steps from one patch of the history to the next; patches of the horizon never overlap."""
    channels: int = setting(1, at_least=1, at_most=2**16)
    """Series per window; 1 treats each series separately, with the same weights."""
    calendar: int = setting(0, at_least=0, at_most=100)
    """Calendar features per step."""
    normalise: WindowNormalisation = "mean"
    """Per-window centering and scaling, undone in the output; the center is the mean or the last value."""
    decoding: HorizonDecoding = "parallel"
    """parallel: the whole horizon at once. steps: patch by patch, each reading those before it."""
    quantiles: tuple[float, ...] = (0.025, 0.1, 0.5, 0.9, 0.975)
    """Quantiles predicted besides the mean, for intervals."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_setting(
            self.stride <= self.patch,
            "model.stride",
            self.stride,
            "it must be at most model.patch, or steps between patches would be skipped",
        )
        require_setting(
            self.patch <= self.history, "model.patch", self.patch, "it must be at most model.history"
        )
        is_rising = all(low < high for low, high in itertools.pairwise((0.0, *self.quantiles, 1.0)))
        require_setting(
            is_rising, "model.quantiles", list(self.quantiles), "each must be above the last, within 0 to 1"
        )
        count = len(self.quantiles)
        require_setting(
            count <= MAX_QUANTILES, "model.quantiles", f"{count} quantiles", f"at most {MAX_QUANTILES} work"
        )
        require_position_table(
            self, "history and model.horizon in patches", self.history_patches + self.horizon_patches
        )

    @property
    def history_patches(self) -> int:
        """Patches of the history."""
        return count_patches(self.history, self.patch, self.stride)

    @property
    def horizon_patches(self) -> int:
        """Patches of the horizon; the last may extend beyond it."""
        return -(-self.horizon // self.patch)

    @property
    def outputs_per_value(self) -> int:
        """Outputs per value: its mean, then its quantiles."""
        return 1 + len(self.quantiles)


def forecaster_weight_shapes(config: ForecasterConfig) -> NamedShapes:
    """Yield the weights of a `TransformerForecaster`."""
    width = config.patch * config.channels
    yield from linear_weight_shapes("values", width, config.d_model)
    if config.calendar:
        yield "calendar_embedding.weight", (config.d_model, config.calendar)
    if config.position == "learned":
        yield "positions.table", (config.history_patches + config.horizon_patches, config.d_model)
    if config.decoding == "parallel":
        yield "horizon_query", (config.d_model,)
    yield from stack_weight_shapes("encoder", config, config.encoder_layers)
    yield from stack_weight_shapes("decoder", config, config.decoder_layers)
    yield from linear_weight_shapes("output", config.d_model, width * config.outputs_per_value)


class WindowScale(NamedTuple):
    """Per-window center and scale (RevIN), so that the model also works at unseen levels."""

    center: Float[Tensor, "batch 1 channels"]
    scale: Float[Tensor, "batch 1 channels"]

    def normalise(self, values: Float[Tensor, "batch time channels"]) -> Float[Tensor, "batch time channels"]:
        return (values - self.center) / self.scale

    def denormalise(
        self, predicted: Float[Tensor, "batch horizon channels outputs"]
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        """Return predictions in the window's own units; scales are above zero, so quantiles stay in order."""
        return predicted * self.scale[..., None] + self.center[..., None]


def compute_window_scale(
    values: Float[Tensor, "batch time channels"], normalise: WindowNormalisation
) -> WindowScale:
    """Return each window's center and scale per channel; no gradient flows through them."""
    if normalise == "none":
        center = torch.zeros_like(values[:, :1])
        return WindowScale(center, torch.ones_like(center))
    variance, mean = torch.var_mean(values.detach(), dim=1, correction=0, keepdim=True)
    center = mean if normalise == "mean" else values[:, -1:].detach()
    return WindowScale(center, (variance + VARIANCE_EPSILON).sqrt())


class TransformerForecaster(nn.Module):
    """Encoder over patches of the history, decoder over patches of the horizon."""

    def __init__(self, config: ForecasterConfig) -> None:
        super().__init__()
        self.config = config
        width = config.patch * config.channels
        self.values = nn.Linear(width, config.d_model)
        self.calendar_embedding = (
            nn.Linear(config.calendar, config.d_model, bias=False) if config.calendar else None
        )
        self.positions = PositionalEncoding(
            config.position, config.history_patches + config.horizon_patches, config.d_model
        )
        parallel = config.decoding == "parallel"
        self.horizon_query = nn.Parameter(torch.zeros(config.d_model)) if parallel else None
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config, config.encoder_layers)
        self.decoder = Decoder(config, config.decoder_layers)
        self.output = nn.Linear(config.d_model, width * config.outputs_per_value)
        init_weights(self, config.d_model)

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    def forward(
        self,
        history: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
        future_features: Float[Tensor, "batch horizon features"],
        target: Float[Tensor, "batch horizon channels"],
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        """Return the predictions of training: mean, then quantiles, of each value of the horizon.

        With parallel decoding the target is not used. With decoding by steps each patch reads the true
        patches before it (the target shifted right, section 3.1), all in one pass.
        """
        window, source, queries = self.embed(history, past_features, future_features, target)
        encoded = self.encoder(source, NO_MASK)
        x, _ = self.decoder(queries, self.decoder.start_caches(encoded), self.target_mask, NO_MASK)
        return window.denormalise(self._horizon_outputs(x))

    @property
    def target_mask(self) -> AttentionMask:
        """The mask of self-attention between patches of the horizon."""
        return CAUSAL_MASK if self.horizon_query is None else NO_MASK

    def embed(
        self,
        history: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
        future_features: Float[Tensor, "batch horizon features"],
        target: Float[Tensor, "batch horizon channels"],
    ) -> tuple[WindowScale, Float[Tensor, "batch source d_model"], Float[Tensor, "batch target d_model"]]:
        """Return the window's scale and the inputs of encoder and decoder.

        With parallel decoding each patch of the horizon starts from the last patch of the history, as the
        first one does with decoding by steps: so the model need not learn that a day resembles the last.
        """
        window = compute_window_scale(history, self.config.normalise)
        normalised = window.normalise(history)
        source, last = self._embed_history(normalised, past_features), self._last_patch(normalised)
        if self.horizon_query is None:
            previous = self._shifted_target_patches(window.normalise(target))
            queries = self.values(torch.cat([last, previous], dim=1))
        else:
            queries = (self.values(last) + self.horizon_query).expand(-1, self.config.horizon_patches, -1)
        return window, source, self._add_positions(queries, future_features)

    def forecast(
        self,
        history: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
        future_features: Float[Tensor, "batch horizon features"],
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        """Return mean, then quantiles, of each value of the horizon, given its calendar features only."""
        if self.horizon_query is not None:
            no_target = history.new_zeros(len(history), future_features.shape[1], history.shape[2])
            return self(history, past_features, future_features, no_target)
        window = compute_window_scale(history, self.config.normalise)
        normalised = window.normalise(history)
        encoded = self.encoder(self._embed_history(normalised, past_features), NO_MASK)
        x = self._decode_patch_by_patch(encoded, self._last_patch(normalised), future_features)
        return window.denormalise(self._horizon_outputs(x))

    def _decode_patch_by_patch(
        self,
        encoded: Float[Tensor, "batch source d_model"],
        last: Float[Tensor, "batch 1 width"],
        future_features: Float[Tensor, "batch horizon features"],
    ) -> Float[Tensor, "batch target d_model"]:
        """Decode each patch from the predicted mean of the patch before it."""
        caches, outputs = self.decoder.start_caches(encoded), []
        for number in range(self.config.horizon_patches):
            query = self._add_positions(self.values(last), future_features, number)
            x, caches = self.decoder(query, caches, NO_MASK, NO_MASK)
            outputs.append(x)
            last = self._outputs_by_step(x)[..., 0].transpose(1, 2).flatten(1)[:, None]
        return torch.cat(outputs, dim=1)

    def _embed_history(
        self,
        normalised: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
    ) -> Float[Tensor, "batch source d_model"]:
        config = self.config
        x = self.values(make_patches(normalised, config.patch, config.stride))
        if self.calendar_embedding is not None:
            starts = patch_start_steps(config.history, config.patch, config.stride, x.device)
            x = x + self.calendar_embedding(past_features[:, starts])
        positions = torch.arange(config.history_patches, device=x.device)[None]
        return self.dropout(x + self.positions(positions))

    def _add_positions(
        self,
        x: Float[Tensor, "batch target d_model"],
        future_features: Float[Tensor, "batch horizon features"],
        first: int = 0,
    ) -> Float[Tensor, "batch target d_model"]:
        """Add positions and calendar features to patches of the horizon, from patch `first` on."""
        config, count = self.config, x.shape[1]
        if self.calendar_embedding is not None:
            x = x + self.calendar_embedding(
                future_features[:, first * config.patch :: config.patch][:, :count]
            )
        positions = torch.arange(count, device=x.device)[None] + (config.history_patches + first)
        return self.dropout(x + self.positions(positions))

    def _last_patch(self, normalised: Float[Tensor, "batch time channels"]) -> Float[Tensor, "batch 1 width"]:
        """Return the last patch of the history."""
        return normalised[:, -self.config.patch :].transpose(1, 2).flatten(1)[:, None]

    def _shifted_target_patches(
        self, target: Float[Tensor, "batch horizon channels"]
    ) -> Float[Tensor, "batch previous width"]:
        """Return the patches of the horizon but for the last."""
        count = self.config.horizon_patches - 1
        patches = target[:, : count * self.config.patch].unflatten(1, (count, self.config.patch))
        return patches.transpose(2, 3).flatten(2)

    def _outputs_by_step(
        self, x: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch steps channels outputs"]:
        config = self.config
        outputs = self.output(x).unflatten(2, (config.patch, config.channels, config.outputs_per_value))
        return outputs.flatten(1, 2)

    def _horizon_outputs(
        self, x: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        return self._outputs_by_step(x)[:, : self.config.horizon]

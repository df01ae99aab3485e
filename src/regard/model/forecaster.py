"""A series in patches: short stretches that a linear map makes one vector each, in place of tokens."""

import itertools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.config import setting
from regard.errors import require_setting
from regard.model.config import Activation, LayerConfig, NormPlacement, PositionScheme, require_at_least
from regard.model.dropout import Dropout
from regard.model.layers import init_weights
from regard.model.masks import CAUSAL_MASK, NO_MASK, AttentionMask
from regard.model.position import PositionalEncoding
from regard.model.stacks import Decoder, Encoder


def count_patches(time: int, patch: int, stride: int) -> int:
    """How many patches cover so many steps."""
    return -(-max(time - patch, 0) // stride) + 1


def make_patches(
    values: Float[Tensor, "batch time channels"], patch: int, stride: int
) -> Float[Tensor, "batch patches width"]:
    """Stretches of `patch` steps, `stride` apart, each as one row of numbers, channel after channel.

    The last one ends with the series, since what is newest says most; where the first one would begin
    before the series does, the first value is repeated.
    """
    time = values.shape[1]
    before = (count_patches(time, patch, stride) - 1) * stride + patch - time
    longer = functional.pad(values.transpose(1, 2), (before, 0), mode="replicate")
    return longer.unfold(2, patch, stride).transpose(1, 2).flatten(2)


def patch_start_steps(
    time: int, patch: int, stride: int, device: torch.device
) -> Int[Tensor, " make_patches"]:
    """The step at which each patch begins: as the steps are regular, it tells when the others are."""
    count = count_patches(time, patch, stride)
    after = torch.arange(count - 1, -1, -1, device=device)
    return (time - patch - stride * after).clamp(min=0)


WindowNormalisation = Literal["mean", "last", "none"]
HorizonDecoding = Literal["parallel", "steps"]

VARIANCE_EPSILON = 1e-5
"""Added to the variance of a window, so that one in which nothing happens can be divided by its spread."""


@dataclass(frozen=True)
class ForecasterConfig(LayerConfig):
    """The sizes and choices of one forecaster; small, as series have few values beside a corpus' words."""

    d_model: int = 64
    heads: int = 4
    d_ff: int = 128
    dropout: float = 0.1
    norm: NormPlacement = "pre"
    """post: LN(x + f(x)), the paper. pre: x + f(LN(x)). literal: x + LN(f(x))."""
    activation: Activation = "gelu"
    position: PositionScheme = "learned"
    """Which position table is added to the patches; the future's positions follow those of the past."""
    encoder_layers: int = 2
    decoder_layers: int = 1
    history: int = 336
    """Steps that are seen."""
    horizon: int = setting(96, flag="--horizon")
    """Steps that are foretold."""
    patch: int = 24
    """Steps that make one vector, best as many as a season has; 1 is a vector for each value."""
    stride: int = 24
    """Steps from one patch of the history to the next; those of the horizon never overlap."""
    channels: int = 1
    """Series that are read as one; 1 is each by itself, all with the same weights."""
    calendar: int = 0
    """Numbers that say when a step is."""
    normalise: WindowNormalisation = "mean"
    """What each window is freed from and given back at the end. mean: mean and spread. last: last value."""
    decoding: HorizonDecoding = "parallel"
    """parallel: the whole horizon at once. steps: patch by patch, each reading those before it."""
    quantiles: tuple[float, ...] = (0.025, 0.1, 0.5, 0.9, 0.975)
    """What is foretold beside the mean, for intervals."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, 1, "decoder_layers", "history", "horizon", "patch", "stride", "channels")
        require_at_least(self, 0, "encoder_layers", "calendar")
        require_setting(
            self.stride <= self.patch, "model.stride", self.stride, "steps between patches would be unseen"
        )
        require_setting(self.patch <= self.history, "model.patch", self.patch, "it must fit model.history")
        rising = all(low < high for low, high in itertools.pairwise((0.0, *self.quantiles, 1.0)))
        require_setting(
            rising, "model.quantiles", list(self.quantiles), "each must be above the last, within 0 to 1"
        )

    @property
    def history_patches(self) -> int:
        """Patches of the history."""
        return count_patches(self.history, self.patch, self.stride)

    @property
    def horizon_patches(self) -> int:
        """Patches of the horizon, the last of which may reach beyond it."""
        return -(-self.horizon // self.patch)

    @property
    def outputs_per_value(self) -> int:
        """Numbers foretold for each value: its mean, then its quantiles."""
        return 1 + len(self.quantiles)


class WindowScale(NamedTuple):
    """What a window is freed from before it is read, so that a level never seen before is no surprise."""

    center: Float[Tensor, "batch 1 channels"]
    scale: Float[Tensor, "batch 1 channels"]

    def normalise(self, values: Float[Tensor, "batch time channels"]) -> Float[Tensor, "batch time channels"]:
        return (values - self.center) / self.scale

    def denormalise(
        self, predicted: Float[Tensor, "batch horizon channels outputs"]
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        """Back in the window's own units; a spread is above zero, so quantiles stay in order."""
        return predicted * self.scale[..., None] + self.center[..., None]


def compute_window_scale(
    values: Float[Tensor, "batch time channels"], normalise: WindowNormalisation
) -> WindowScale:
    """Each window's own level and spread, for each channel; no gradient flows through them."""
    if normalise == "none":
        level = torch.zeros_like(values[:, :1])
        return WindowScale(level, torch.ones_like(level))
    variance, mean = torch.var_mean(values.detach(), dim=1, correction=0, keepdim=True)
    level = mean if normalise == "mean" else values[:, -1:].detach()
    return WindowScale(level, (variance + VARIANCE_EPSILON).sqrt())


class TransformerForecaster(nn.Module):
    """Patches of the past through the encoder; the decoder asks it about each patch of the future."""

    def __init__(self, config: ForecasterConfig) -> None:
        super().__init__()
        self.config = config
        width = config.patch * config.channels
        self.values = nn.Linear(width, config.d_model)
        self.when = nn.Linear(config.calendar, config.d_model, bias=False) if config.calendar else None
        self.positions = PositionalEncoding(
            config.position, config.history_patches + config.horizon_patches, config.d_model
        )
        parallel = config.decoding == "parallel"
        self.question = nn.Parameter(torch.zeros(config.d_model)) if parallel else None
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
        """What is foretold while it learns: mean, then quantiles, of each value of the horizon.

        In parallel the target is not looked at. By steps each patch reads the true ones before it (the
        target shifted right, section 3.1), all in one pass.
        """
        own, source, asked = self.embed(history, past_features, future_features, target)
        encoded = self.encoder(source, NO_MASK)
        x, _ = self.decoder(asked, self.decoder.start_caches(encoded), self.target_mask, NO_MASK)
        return own.denormalise(self._horizon_outputs(x))

    @property
    def target_mask(self) -> AttentionMask:
        """What a patch of the horizon may see of the others."""
        return CAUSAL_MASK if self.question is None else NO_MASK

    def embed(
        self,
        history: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
        future_features: Float[Tensor, "batch horizon features"],
        target: Float[Tensor, "batch horizon channels"],
    ) -> tuple[WindowScale, Float[Tensor, "batch source d_model"], Float[Tensor, "batch target d_model"]]:
        """What the window is freed from, and what enters encoder and decoder.

        In parallel each patch of the horizon begins as the newest of the history, as by steps the first one
        does: that the next day is like the last need not be learnt.
        """
        own = compute_window_scale(history, self.config.normalise)
        inside = own.normalise(history)
        source, newest = self._embed_history(inside, past_features), self._last_patch(inside)
        if self.question is None:
            before = self.values(
                torch.cat([newest, self._shifted_target_patches(own.normalise(target))], dim=1)
            )
        else:
            before = (self.values(newest) + self.question).expand(-1, self.config.horizon_patches, -1)
        return own, source, self._add_positions(before, future_features)

    def forecast(
        self,
        history: Float[Tensor, "batch time channels"],
        past_features: Float[Tensor, "batch time features"],
        future_features: Float[Tensor, "batch horizon features"],
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        """Mean, then quantiles, of each value of the horizon, of which nothing is known but its dates."""
        if self.question is not None:
            return self(
                history,
                past_features,
                future_features,
                history.new_zeros(len(history), future_features.shape[1], history.shape[2]),
            )
        own = compute_window_scale(history, self.config.normalise)
        inside = own.normalise(history)
        encoded = self.encoder(self._embed_history(inside, past_features), NO_MASK)
        return own.denormalise(
            self._horizon_outputs(
                self._decode_patch_by_patch(encoded, self._last_patch(inside), future_features)
            )
        )

    def _decode_patch_by_patch(
        self,
        encoded: Float[Tensor, "batch source d_model"],
        newest: Float[Tensor, "batch 1 width"],
        future: Float[Tensor, "batch horizon features"],
    ) -> Float[Tensor, "batch target d_model"]:
        """Each patch reads the mean that was foretold for the one before it."""
        past, found = self.decoder.start_caches(encoded), []
        for number in range(self.config.horizon_patches):
            asked = self._add_positions(self.values(newest), future, number)
            x, past = self.decoder(asked, past, NO_MASK, NO_MASK)
            found.append(x)
            newest = self._outputs_by_step(x)[..., 0].transpose(1, 2).flatten(1)[:, None]
        return torch.cat(found, dim=1)

    def _embed_history(
        self, inside: Float[Tensor, "batch time channels"], past: Float[Tensor, "batch time features"]
    ) -> Float[Tensor, "batch source d_model"]:
        config = self.config
        x = self.values(make_patches(inside, config.patch, config.stride))
        if self.when is not None:
            x = x + self.when(
                past[:, patch_start_steps(config.history, config.patch, config.stride, x.device)]
            )
        at = torch.arange(config.history_patches, device=x.device)[None]
        return self.dropout(x + self.positions(at))

    def _add_positions(
        self,
        x: Float[Tensor, "batch target d_model"],
        future: Float[Tensor, "batch horizon features"],
        first: int = 0,
    ) -> Float[Tensor, "batch target d_model"]:
        """With the position and the date of the patches of the horizon, from patch `first` on."""
        config, count = self.config, x.shape[1]
        if self.when is not None:
            x = x + self.when(future[:, first * config.patch :: config.patch][:, :count])
        at = torch.arange(count, device=x.device)[None] + (config.history_patches + first)
        return self.dropout(x + self.positions(at))

    def _last_patch(self, inside: Float[Tensor, "batch time channels"]) -> Float[Tensor, "batch 1 width"]:
        """The newest patch of the history: what the first of the horizon follows."""
        return inside[:, -self.config.patch :].transpose(1, 2).flatten(1)[:, None]

    def _shifted_target_patches(
        self, target: Float[Tensor, "batch horizon channels"]
    ) -> Float[Tensor, "batch before width"]:
        """The patches of the horizon that another one follows."""
        before = self.config.horizon_patches - 1
        cut = target[:, : before * self.config.patch].unflatten(1, (before, self.config.patch))
        return cut.transpose(2, 3).flatten(2)

    def _outputs_by_step(
        self, x: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch steps channels outputs"]:
        config = self.config
        foretold = self.output(x).unflatten(2, (config.patch, config.channels, config.outputs_per_value))
        return foretold.flatten(1, 2)

    def _horizon_outputs(
        self, x: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch horizon channels outputs"]:
        return self._outputs_by_step(x)[:, : self.config.horizon]

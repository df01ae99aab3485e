"""Model settings: layers, the Transformer, and presets, two of them from Table 3."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from regard.checkpoint import CONFIG_FILE, find_model_folder
from regard.config import build_section, check_ranges, read_settings, read_task, setting
from regard.errors import CheckpointError, ConfigError, require_setting

MAX_TABLE_VALUES = 2**23
"""Values of the largest position table: 16,384 positions of the base model."""
NormPlacement = Literal["post", "pre", "literal"]
PositionScheme = Literal["paper", "tensor2tensor", "halves", "learned", "none"]
Activation = Literal["relu", "gelu"]
TiedEmbeddings = Literal["all", "target", "none"]
LayerConfigT = TypeVar("LayerConfigT", bound="LayerConfig")


@dataclass(frozen=True)
class LayerConfig:
    """Settings of the layers, shared by translation, classification and forecasting models."""

    d_model: int = setting(512, at_least=1, at_most=65536)
    heads: int = setting(8, at_least=1, at_most=1024)
    d_k: int | None = setting(None, at_least=1, at_most=65536)
    """Width of one head; none is d_model / heads."""
    d_ff: int = setting(2048, at_least=1, at_most=2**20)
    dropout: float = 0.1
    """On embeddings and on every sublayer's output (section 5.4)."""
    attention_dropout: float = 0.0
    """On attention weights; not in the paper."""
    activation_dropout: float = 0.0
    """Inside the feed-forward layer; not in the paper."""
    norm: NormPlacement = "post"
    """post: LN(x + f(x)), the paper. pre: x + f(LN(x)). literal: x + LN(f(x))."""
    norm_epsilon: float = setting(1e-5, at_most=1.0)
    activation: Activation = "relu"
    position: PositionScheme = "paper"
    """Which position table is added to the embeddings: see position.py."""
    attention_scale: float | None = setting(None, at_most=1000.0)
    """Factor of the attention scores; none is 1 / sqrt(d_k)."""

    def __post_init__(self) -> None:
        check_ranges(self, "model")
        if self.d_k is None and self.d_model % self.heads:
            raise ConfigError(
                f"model.d_model = {self.d_model} does not divide into model.heads = {self.heads}; "
                f"the nearest that does is {_nearest_multiple(self.d_model, self.heads)}"
            )
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            value = getattr(self, name)
            require_setting(0 <= value < 1, f"model.{name}", value, "it must be at least 0 and less than 1")
        epsilon, scale = self.norm_epsilon, self.attention_scale
        require_setting(0 < epsilon < math.inf, "model.norm_epsilon", epsilon, "it must be a number above 0")
        positive = scale is None or 0 < scale < math.inf
        require_setting(positive, "model.attention_scale", scale, "it must be a number above 0, or none")

    @classmethod
    def load(cls: type[LayerConfigT], folder: str | Path) -> LayerConfigT:
        """Return the settings of the model in a folder, or those in the section `model` of a run file."""
        path = Path(folder)
        file = path if path.is_file() else find_model_folder(path) / CONFIG_FILE
        settings = read_settings(file)
        try:
            return build_section(cls, "model", settings.get("model", {}))
        except ConfigError as error:
            raise CheckpointError(f"{file}, the settings of a {read_task(file)} model: {error}") from None

    @property
    def head_width(self) -> int:
        """d_k, which the paper also uses for d_v."""
        return self.d_model // self.heads if self.d_k is None else self.d_k

    @property
    def has_dropout(self) -> bool:
        """Whether any dropout is above 0."""
        return max(self.dropout, self.attention_dropout, self.activation_dropout) > 0


@dataclass(frozen=True)
class ModelConfig(LayerConfig):
    """Settings of a Transformer; `ModelConfig()` is the paper's base model."""

    vocab_size: int = setting(37_000, at_least=1, at_most=2**18)
    """Maximum size of the shared vocabulary; the tokenizer may learn fewer tokens."""
    encoder_layers: int = setting(6, at_least=1, at_most=1000)
    decoder_layers: int = setting(6, at_least=1, at_most=1000)
    tied: TiedEmbeddings = "all"
    """Which embeddings share one matrix. all: source, target and output. target: target and output."""
    max_length: int = setting(512, at_least=2, at_most=2**17)
    """Longest sequence in tokens, end mark included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_position_table(self, "max_length", self.max_length)

    @property
    def max_tokens(self) -> int:
        """Tokens of the longest sequence, without the begin or end mark."""
        return self.max_length - 1


def require_position_table(config: LayerConfig, name: str, positions: int) -> None:
    """Raise a `ConfigError` if the table of these positions, which no file holds, would be too large."""
    most = MAX_TABLE_VALUES // config.d_model
    require_setting(
        positions <= most,
        f"model.{name}",
        positions,
        f"with model.d_model = {config.d_model} it must be at most {most:,}",
    )


def _nearest_multiple(number: int, of: int) -> int:
    return max(of, round(number / of) * of)


BASE = ModelConfig(
    encoder_layers=6,
    decoder_layers=6,
    d_model=512,
    d_ff=2048,
    heads=8,  # and so d_k = d_v = 64
    dropout=0.1,
    vocab_size=37_000,
)
BIG = ModelConfig(
    encoder_layers=6,
    decoder_layers=6,
    d_model=1024,
    d_ff=4096,
    heads=16,  # and so d_k = d_v = 64
    dropout=0.3,
    vocab_size=37_000,
)
SMALL = replace(BASE, encoder_layers=3, decoder_layers=3, d_model=256, d_ff=1024, heads=4, vocab_size=8_000)
TINY = replace(BASE, encoder_layers=4, decoder_layers=4, d_model=128, d_ff=256, heads=4, vocab_size=8_000)

"""Settings of a classification run: data, loss, and the sections shared with every task."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from regard.classification.model_folder import TASK
from regard.data.config import require_paths
from regard.data.tokenization import LongTextPolicy
from regard.errors import ConfigError, require_setting
from regard.model.classifier import ClassifierConfig
from regard.train.device import ComputeConfig
from regard.train.loop import TrainConfig
from regard.train.optimizer import OptimizerConfig

TokenizerKind = Literal["words", "bpe"]


@dataclass(frozen=True)
class LabelledDataConfig:
    """The labelled texts to learn from, what to validate on, and how they become batches."""

    labelled: tuple[str, ...] = ()
    """Files with a label and a text on each line: `.tsv` or `.jsonl`."""
    texts: tuple[str, ...] = ()
    """Text files, one text a line..."""
    labels: tuple[str, ...] = ()
    """...and as many with their labels, line by line."""
    valid_labelled: str | None = None
    """Empty, and no `valid_texts`: `held_out` texts are taken out of the training files."""
    valid_texts: str | None = None
    """Two files in place of the one above."""
    valid_labels: str | None = None
    held_out: int = 1000
    """Texts held out when there is no validation file; never more than a tenth of all."""
    strict: bool = False
    """Refuse a corpus with bad lines instead of leaving them out."""
    long: LongTextPolicy = "cut"
    """Texts over `model.max_length` pieces: cut off, or left out."""
    batch_texts: int | None = 50
    """Texts of a batch at most, so that in each step all count alike; none is as many as fit."""
    batch_tokens: int = 8192
    """Tokens of a batch at most, class tokens counted, padding not."""
    cache: str | None = None
    """Folder for what is prepared once; empty is `regard` in the user's cache folder."""
    pieces: TokenizerKind = "words"
    """words: those that occur twice, one piece for all others. bpe: byte pairs, and nothing is unknown.

    Small corpora are learnt better by words; a language that writes without spaces has none.
    """
    lowercase: bool = True
    """Whether the model reads lower-case text only; it lower-cases what it is given by itself."""
    bpe_dropout: float = 0.0
    """How often a merge is passed over when training text is cut into pieces (BPE dropout); 0 is never."""
    bpe_variants: int = 8
    """Tokenizations that are drawn with it; epochs take them in turn."""

    def __post_init__(self) -> None:
        for name in ("held_out", "batch_tokens", "bpe_variants"):
            require_setting(
                getattr(self, name) >= 1, f"data.{name}", getattr(self, name), "it must be at least 1"
            )
        texts = self.batch_texts
        require_setting(
            texts is None or texts >= 1, "data.batch_texts", texts, "it must be at least 1, or none"
        )
        dropout = self.bpe_dropout
        require_setting(0 <= dropout <= 1, "data.bpe_dropout", dropout, "it must be between 0 and 1")
        for name in ("labelled", "texts", "labels", "valid_labelled", "valid_texts", "valid_labels", "cache"):
            require_paths(f"data.{name}", getattr(self, name))
        if self.pieces == "words" and dropout:
            raise ConfigError("data.bpe_dropout is for data.pieces = bpe; words are not cut into pieces")
        if len(self.texts) != len(self.labels):
            raise ConfigError(
                f"data.texts has {len(self.texts)} and data.labels {len(self.labels)} files; "
                "each file of texts goes with the labels at the same place"
            )
        if (self.valid_texts is None) != (self.valid_labels is None):
            raise ConfigError("data.valid_texts and data.valid_labels go together; give both or neither")
        if self.valid_texts is not None and self.valid_labelled is not None:
            raise ConfigError("data.valid_labelled takes the place of data.valid_texts; give one of them")


@dataclass(frozen=True)
class LabelLossConfig:
    """What is asked of a label."""

    label_smoothing: float = 0.0
    """Probability that is taken from the true label and spread over all."""

    def __post_init__(self) -> None:
        smoothing, right = self.label_smoothing, "it must be at least 0 and less than 1"
        require_setting(0 <= smoothing < 1, "loss.label_smoothing", smoothing, right)


SMALL_MODEL = ClassifierConfig(
    d_model=128,
    heads=4,
    d_ff=256,
    encoder_layers=2,
    dropout=0.4,
    norm="pre",
    position="learned",
    piece_dropout=0.2,
    vocab_size=16_000,
    max_length=256,
)
"""For some thousand texts."""


@dataclass(frozen=True)
class ClassificationRun:
    """All settings of a run, one TOML section each."""

    task: ClassVar[str] = TASK
    model: ClassifierConfig = SMALL_MODEL
    data: LabelledDataConfig = field(default_factory=LabelledDataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LabelLossConfig = field(default_factory=LabelLossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    def __post_init__(self) -> None:
        judge = self.train.judge
        require_setting(judge in ("loss", "accuracy"), "train.judge", judge, "it must be loss or accuracy")


SMALL_RUN = ClassificationRun(
    optimizer=OptimizerConfig(peak=0.001, warmup=100, cooldown=1000, weight_decay=0.1),
    loss=LabelLossConfig(label_smoothing=0.1),
    train=TrainConfig(steps=1000, save_every=100, ema=0.99, judge="accuracy"),
)
"""What suits a small corpus; a plan sets how long."""

"""Settings of a classification run: data, loss, and the sections shared with every task."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from regard.classification.label_types import LabelType
from regard.classification.model_folder import CLASSIFICATION_TASK
from regard.config import check_ranges, setting
from regard.data.config import LongTextPolicy, require_paths
from regard.errors import ConfigError, require_setting
from regard.model.transformer_classifier import ClassifierConfig
from regard.training.device import ComputeConfig
from regard.training.loop import TrainConfig
from regard.training.optimizer import OptimizerConfig

TokenizerKind = Literal["words", "bpe"]


@dataclass(frozen=True)
class LabelledDataConfig:
    """Training and validation files of labelled texts, tokenization and batching."""

    labelled: tuple[str, ...] = setting((), is_path=True, flag="--labelled")
    """Files with a label and a text on each line: `.tsv`, `.csv` or `.jsonl`."""
    text_column: str | None = setting(None, flag="--text-column")
    """Name or number of the text column of these files, or the field of a `.jsonl`; empty: found."""
    label_column: str | None = setting(None, flag="--label-column")
    """Name or number of their label column; empty: found."""
    label_type: LabelType = "text"
    """What `predict` in Python returns: text, whole numbers, or True and False. Files have labels as text."""
    texts: tuple[str, ...] = setting((), is_path=True, flag="--texts")
    """Text files with one text per line; `labels` has the labels, line by line."""
    labels: tuple[str, ...] = setting((), is_path=True, flag="--labels")
    """Label files for `texts`, one for each, with one label per line."""
    valid_labelled: str | None = setting(None, is_path=True, flag="--valid-labelled")
    """Validation file; without it and `valid_texts`, `held_out` texts are taken from the training files."""
    valid_texts: str | None = setting(None, is_path=True, flag="--valid-texts")
    """Validation texts, one per line, instead of `valid_labelled`; needs `valid_labels`."""
    valid_labels: str | None = setting(None, is_path=True, flag="--valid-labels")
    """Validation labels, line by line with `valid_texts`."""
    held_out: int = setting(1000, at_least=1, at_most=10**7)
    """Texts held out when there is no validation file; at most a tenth of all."""
    split_seed: int = setting(1, at_least=0, at_most=2**32 - 1)
    """Seed that selects the held-out texts; the same for every `train.seed`, so that runs can be compared."""
    strict: bool = setting(False, flag="--strict")
    """Refuse a corpus with bad lines instead of leaving them out."""
    long: LongTextPolicy = "cut"
    """Texts of more than `model.max_length` tokens. cut: the beginning is used. drop: they are left out."""
    batch_texts: int | None = setting(50, at_least=1, at_most=10**6)
    """Texts per batch at most, so that every text weighs the same in a step; none: as many as fit."""
    batch_tokens: int = setting(8192, at_least=1, at_most=10**6)
    """Tokens per batch at most, class tokens included, padding not."""
    cache: str | None = setting(None, is_path=True)
    """Folder for prepared corpora; empty: `regard` in the user's cache folder."""
    tokenizer: TokenizerKind = "words"
    """words: words that occur at least twice, one token for all others. bpe: byte-pair encoding.

    Whole words give better accuracy on small corpora; a script without spaces needs bpe.
    """
    lowercase: bool = True
    """Lower-case every text before it is tokenized, in training and in use."""
    bpe_dropout: float = 0.0
    """Probability of skipping a merge when training text is tokenized (BPE dropout); 0 is never."""
    bpe_variants: int = setting(8, at_least=1, at_most=100)
    """Tokenizations sampled per text with `bpe_dropout`; epochs use them in turn."""

    def __post_init__(self) -> None:
        check_ranges(self, "data")
        dropout = self.bpe_dropout
        require_setting(0 <= dropout <= 1, "data.bpe_dropout", dropout, "it must be between 0 and 1")
        require_paths("data", self)
        if self.tokenizer == "words" and dropout:
            raise ConfigError(
                "data.bpe_dropout needs data.tokenizer = bpe; whole words have no merges to drop"
            )
        if len(self.texts) != len(self.labels):
            raise ConfigError(
                f"data.texts has {len(self.texts)} and data.labels {len(self.labels)} files; "
                "give one label file for each text file, in the same order"
            )
        if (self.valid_texts is None) != (self.valid_labels is None):
            raise ConfigError("data.valid_texts and data.valid_labels go together; give both or neither")
        if self.valid_texts is not None and self.valid_labelled is not None:
            raise ConfigError(
                "data.valid_labelled and data.valid_texts are alternatives; give only one of them"
            )


@dataclass(frozen=True)
class LabelLossConfig:
    """The training loss of a classifier: cross-entropy with label smoothing."""

    label_smoothing: float = 0.0
    """Probability moved from the true label to all labels evenly."""

    def __post_init__(self) -> None:
        smoothing = self.label_smoothing
        require_setting(
            0 <= smoothing < 1, "loss.label_smoothing", smoothing, "it must be at least 0 and less than 1"
        )


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
"""Sizes for a corpus of a few thousand texts."""


@dataclass(frozen=True)
class ClassificationRun:
    """All settings of a classification run, one TOML section per field."""

    task: ClassVar[str] = CLASSIFICATION_TASK
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
"""Settings for a small corpus; autoconfig scales model, batch and steps from here."""

"""The paper's settings with the sections that state them, and the deviations of a run from them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Literal, NamedTuple

from regard.config import apply_settings
from regard.model.config import BIG
from regard.translation.run import TranslationRun

PaperModelSize = Literal["base", "big"]

PAPER_SECTIONS = {
    "3.1": "Encoder and Decoder Stacks",
    "3.2.1": "Scaled Dot-Product Attention",
    "3.2.2": "Multi-Head Attention",
    "3.3": "Position-wise Feed-Forward Networks",
    "3.4": "Embeddings and Softmax",
    "3.5": "Positional Encoding",
    "5.1": "Training Data and Batching",
    "5.2": "Hardware and Schedule",
    "5.3": "Optimizer",
    "5.4": "Regularization",
    "6.1": "Machine Translation",
    "6.2": "Model Variations",
}


class PaperSetting(NamedTuple):
    """The paper's value of one setting."""

    setting: str
    value: object
    section: str
    wording: str = ""
    """How to print it, if the value alone does not tell."""


PAPER_BASE_SETTINGS = (
    PaperSetting("model.encoder_layers", 6, "3.1"),
    PaperSetting("model.decoder_layers", 6, "3.1"),
    PaperSetting("model.d_model", 512, "3.1"),
    PaperSetting("model.norm", "post", "3.1", "post: LayerNorm(x + Sublayer(x))"),
    PaperSetting("model.attention_scale", None, "3.2.1", "1 / sqrt(d_k)"),
    PaperSetting("model.heads", 8, "3.2.2"),
    PaperSetting("model.d_k", 64, "3.2.2"),
    PaperSetting("model.d_ff", 2048, "3.3"),
    PaperSetting("model.activation", "relu", "3.3"),
    PaperSetting("model.tied", "all", "3.4", "all: one matrix for both embeddings and the output"),
    PaperSetting("model.position", "paper", "3.5", "paper: sines and cosines"),
    PaperSetting("model.vocab_size", 37_000, "5.1"),
    PaperSetting("data.batch_tokens", 25_000, "5.1", "25000 on each side"),
    PaperSetting("data.bpe_dropout", 0.0, "5.1", "byte-pair encoding without dropout"),
    PaperSetting("start.model", None, "5.2", "random initial weights"),
    PaperSetting("train.steps", 100_000, "5.2"),
    PaperSetting("optimizer.beta1", 0.9, "5.3"),
    PaperSetting("optimizer.beta2", 0.98, "5.3"),
    PaperSetting("optimizer.epsilon", 1e-9, "5.3"),
    PaperSetting("optimizer.warmup", 4000, "5.3"),
    PaperSetting("optimizer.peak", None, "5.3", "1 / sqrt(d_model * warmup)"),
    PaperSetting("optimizer.cooldown", None, "5.3", "none: 1 / sqrt(step) to the end"),
    PaperSetting("optimizer.weight_decay", 0.0, "5.3", "none: Adam"),
    PaperSetting("train.clip", None, "5.3", "not mentioned"),
    PaperSetting("model.dropout", 0.1, "5.4"),
    PaperSetting("model.attention_dropout", 0.0, "5.4", "not mentioned"),
    PaperSetting("model.activation_dropout", 0.0, "5.4", "not mentioned"),
    PaperSetting("loss.label_smoothing", 0.1, "5.4"),
    PaperSetting("loss.rdrop", 0.0, "5.4", "not mentioned"),
    PaperSetting("train.average", 5, "6.1", "mean of the last 5 checkpoints"),
    PaperSetting("train.ema", None, "6.1", "none: the mean of checkpoints alone"),
    PaperSetting("train.save_every", 1389, "6.1", "10 minutes of 12 hours"),
    PaperSetting("search.beam", 4, "6.1"),
    PaperSetting("search.alpha", 0.6, "6.1"),
)
PAPER_BIG_SETTINGS = (
    PaperSetting("model.d_model", 1024, "6.2"),
    PaperSetting("model.heads", 16, "6.2"),
    PaperSetting("model.d_ff", 4096, "6.2"),
    PaperSetting("model.dropout", 0.3, "6.2"),
    PaperSetting("train.steps", 300_000, "5.2"),
    PaperSetting("train.average", 20, "6.1", "mean of the last 20 checkpoints"),
    PaperSetting("train.save_every", 595, "6.1", "10 minutes of 3.5 days"),
)
"""The settings of the big model that differ; section 6.2 has its Table 3."""

SETTINGS_OUTSIDE_PAPER = (
    *("source", "target", "pairs", "weights", "valid_source", "valid_target", "valid_pairs", "held_out"),
    *("source_language", "target_language", "source_column", "target_column"),
    *("split_seed", "epochs", "planned"),
    *("bleu_pairs", "strict", "cache", "bpe_variants"),
    *("extend_vocabulary", "accumulate", "minutes", "keep_last", "log_every", "device", "memory"),
)
"""Settings that change what is read, printed or kept, or that depend on another setting."""

UNSPECIFIED_BY_PAPER = (
    (
        "initial weights",
        "Xavier for matrices, zero for biases, embeddings with standard deviation 1 / sqrt(d_model)",
    ),
    ("biases of the attention projections", "used"),
    ("which pairs of similar length share a batch", "sampled in every epoch, from the seed"),
)
"""Choices that neither the paper nor a setting states."""


class PaperDeviation(NamedTuple):
    """One row of the comparison."""

    setting: str
    paper_value: str
    section: str
    run_value: str


class PaperComparison(NamedTuple):
    """How a run differs from the paper."""

    size: PaperModelSize
    """The paper's model that the run is compared with."""
    deviations: list[PaperDeviation]
    not_run_settings: list[PaperSetting]
    """Settings of the paper that are not settings of a run, such as the beam size."""
    unspecified: list[tuple[str, str]]
    """Settings that the paper does not state, with the values of the run."""


def build_paper_run(size: PaperModelSize) -> TranslationRun:
    """Return a run with all settings of the paper."""
    run = TranslationRun()
    known = _effective_settings(run)
    settings: dict[str, dict[str, object]] = {}
    for each in _paper_settings(size):
        section, _, key = each.setting.partition(".")
        if each.setting in known and each.value is not None:
            settings.setdefault(section, {})[key] = each.value
    return apply_settings(run, settings)


def compare_with_paper(run: TranslationRun) -> PaperComparison:
    """Compare a run with the paper's big model if it has its width, else with the base model."""
    size: PaperModelSize = "big" if run.model.d_model == BIG.d_model else "base"
    run_values = _effective_settings(run)
    paper_settings = _paper_settings(size)
    deviations = [
        PaperDeviation(
            each.setting,
            each.wording or _format_value(each.value),
            each.section,
            _format_value(run_values[each.setting]),
        )
        for each in paper_settings
        if each.setting in run_values and run_values[each.setting] != each.value
    ]
    stated = {each.setting for each in paper_settings}
    unspecified = [
        (name, _format_value(value))
        for name, value in run_values.items()
        if name not in stated and name.partition(".")[2] not in SETTINGS_OUTSIDE_PAPER
    ]
    not_run_settings = [each for each in paper_settings if each.setting not in run_values]
    return PaperComparison(size, deviations, not_run_settings, [*unspecified, *UNSPECIFIED_BY_PAPER])


def _paper_settings(size: PaperModelSize) -> list[PaperSetting]:
    different = {each.setting: each for each in (PAPER_BIG_SETTINGS if size == "big" else ())}
    return [different.get(each.setting, each) for each in PAPER_BASE_SETTINGS]


def _effective_settings(run: TranslationRun) -> dict[str, object]:
    """Return all settings by name; d_k also if it follows from others, a batch with its accumulated parts."""
    settings = dict(_flatten_settings(run))
    settings["model.d_k"] = run.model.head_width
    accumulate = settings.get("train.accumulate")
    if isinstance(accumulate, int):
        settings["data.batch_tokens"] = run.data.batch_tokens * accumulate
    return settings


def _flatten_settings(run: TranslationRun) -> Iterator[tuple[str, object]]:
    for section in fields(run):
        values = getattr(run, section.name)
        for key in fields(values):
            yield f"{section.name}.{key.name}", getattr(values, key.name)


def _format_value(value: object) -> str:
    return "none" if value is None else str(value)

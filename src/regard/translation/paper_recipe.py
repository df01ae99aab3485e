"""The paper's recipe, each setting with the section that states it, and how a run departs from it."""

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
    """What the paper says of one setting."""

    setting: str
    value: object
    section: str
    wording: str = ""
    """How to say it where the value alone does not."""


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
    PaperSetting("data.bpe_dropout", 0.0, "5.1", "byte-pair encoding, nothing dropped"),
    PaperSetting("start.model", None, "5.2", "trained from the beginning"),
    PaperSetting("train.steps", 100_000, "5.2"),
    PaperSetting("optimizer.beta1", 0.9, "5.3"),
    PaperSetting("optimizer.beta2", 0.98, "5.3"),
    PaperSetting("optimizer.epsilon", 1e-9, "5.3"),
    PaperSetting("optimizer.warmup", 4000, "5.3"),
    PaperSetting("optimizer.peak", None, "5.3", "1 / sqrt(d_model * warmup)"),
    PaperSetting("optimizer.cooldown", None, "5.3", "none: 1 / sqrt(step) to the end"),
    PaperSetting("optimizer.weight_decay", 0.0, "5.3", "none: Adam"),
    PaperSetting("train.clip", None, "5.3", "none named"),
    PaperSetting("model.dropout", 0.1, "5.4"),
    PaperSetting("model.attention_dropout", 0.0, "5.4", "none named"),
    PaperSetting("model.activation_dropout", 0.0, "5.4", "none named"),
    PaperSetting("loss.label_smoothing", 0.1, "5.4"),
    PaperSetting("loss.rdrop", 0.0, "5.4", "none named"),
    PaperSetting("train.average", 5, "6.1", "mean of the last 5 checkpoints"),
    PaperSetting("train.ema", None, "6.1", "none: that mean alone"),
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
"""Where the big model differs; 6.2 stands for its Table 3."""

SETTINGS_OUTSIDE_PAPER = (
    *("source", "target", "pairs", "weights", "valid_source", "valid_target", "valid_pairs", "held_out"),
    *("bleu_pairs", "strict", "cache", "bpe_variants"),
    *("extend_vocabulary", "accumulate", "minutes", "keep_last", "log_every", "device", "memory"),
)
"""Settings that change what is read, shown or kept, or that only matter beside another one."""

UNSPECIFIED_BY_PAPER = (
    (
        "first weights",
        "Xavier for matrices, zero for biases, embeddings of standard deviation 1 / sqrt(d_model)",
    ),
    ("biases of the attention's projections", "there are"),
    ("which pairs of like length share a batch", "drawn anew in every epoch, from the seed"),
)
"""Open in the paper, and no setting here."""


class PaperDeviation(NamedTuple):
    """A row of the conformance table."""

    setting: str
    paper_value: str
    section: str
    run_value: str


class PaperComparison(NamedTuple):
    """How a run stands to the paper."""

    size: PaperModelSize
    """Which of the paper's two models the run is compared with."""
    deviations: list[PaperDeviation]
    not_run_settings: list[PaperSetting]
    """What the paper says and a run does not decide."""
    unspecified: list[tuple[str, str]]
    """What the paper does not say, and how it is here."""


def build_paper_run(size: PaperModelSize) -> TranslationRun:
    """Every setting of the paper that a run has."""
    run = TranslationRun()
    settings: dict[str, dict[str, object]] = {}
    for claim in _paper_settings(size):
        section, _, key = claim.setting.partition(".")
        if claim.setting in _effective_settings(run) and claim.value is not None:
            settings.setdefault(section, {})[key] = claim.value
    return apply_settings(run, settings)


def compare_with_paper(run: TranslationRun) -> PaperComparison:
    """Every departure from the paper's model of that width, from its base model if it has neither."""
    size: PaperModelSize = "big" if run.model.d_model == BIG.d_model else "base"
    here = _effective_settings(run)
    claims = _paper_settings(size)
    deviations = [
        PaperDeviation(
            claim.setting,
            claim.wording or _format_value(claim.value),
            claim.section,
            _format_value(here[claim.setting]),
        )
        for claim in claims
        if claim.setting in here and here[claim.setting] != claim.value
    ]
    named = {claim.setting for claim in claims}
    left_open = [
        (setting, _format_value(value))
        for setting, value in here.items()
        if setting not in named and setting.partition(".")[2] not in SETTINGS_OUTSIDE_PAPER
    ]
    undecided = [claim for claim in claims if claim.setting not in here]
    return PaperComparison(size, deviations, undecided, [*left_open, *UNSPECIFIED_BY_PAPER])


def _paper_settings(size: PaperModelSize) -> list[PaperSetting]:
    differing = {claim.setting: claim for claim in (PAPER_BIG_SETTINGS if size == "big" else ())}
    return [differing.get(claim.setting, claim) for claim in PAPER_BASE_SETTINGS]


def _effective_settings(run: TranslationRun) -> dict[str, object]:
    """All by name, as they come out: d_k where it follows from others, a batch with all its parts."""
    found = dict(_flatten_settings(run))
    found["model.d_k"] = run.model.head_width
    parts = found.get("train.accumulate")
    if isinstance(parts, int):
        found["data.batch_tokens"] = run.data.batch_tokens * parts
    return found


def _flatten_settings(run: TranslationRun) -> Iterator[tuple[str, object]]:
    for section in fields(run):
        values = getattr(run, section.name)
        for setting in fields(values):
            yield f"{section.name}.{setting.name}", getattr(values, setting.name)


def _format_value(value: object) -> str:
    return "none" if value is None else str(value)

"""The paper's recipe, each setting with the section that states it, and how a run departs from it."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Literal, NamedTuple

from regard.config import apply
from regard.model.config import BIG
from regard.translation.run import TranslationRun

Size = Literal["base", "big"]

SECTIONS = {
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


class Claim(NamedTuple):
    """What the paper says of one setting."""

    setting: str
    value: object
    section: str
    words: str = ""
    """How to say it where the value alone does not."""


BASE_CLAIMS = (
    Claim("model.encoder_layers", 6, "3.1"),
    Claim("model.decoder_layers", 6, "3.1"),
    Claim("model.d_model", 512, "3.1"),
    Claim("model.norm", "post", "3.1", "post: LayerNorm(x + Sublayer(x))"),
    Claim("model.attention_scale", None, "3.2.1", "1 / sqrt(d_k)"),
    Claim("model.heads", 8, "3.2.2"),
    Claim("model.d_k", 64, "3.2.2"),
    Claim("model.d_ff", 2048, "3.3"),
    Claim("model.activation", "relu", "3.3"),
    Claim("model.tied", "all", "3.4", "all: one matrix for both embeddings and the output"),
    Claim("model.position", "paper", "3.5", "paper: sines and cosines"),
    Claim("model.vocab_size", 37_000, "5.1"),
    Claim("data.batch_tokens", 25_000, "5.1", "25000 on each side"),
    Claim("data.bpe_dropout", 0.0, "5.1", "byte-pair encoding, nothing dropped"),
    Claim("start.model", None, "5.2", "trained from the beginning"),
    Claim("train.steps", 100_000, "5.2"),
    Claim("optimizer.beta1", 0.9, "5.3"),
    Claim("optimizer.beta2", 0.98, "5.3"),
    Claim("optimizer.epsilon", 1e-9, "5.3"),
    Claim("optimizer.warmup", 4000, "5.3"),
    Claim("optimizer.peak", None, "5.3", "1 / sqrt(d_model * warmup)"),
    Claim("optimizer.cooldown", None, "5.3", "none: 1 / sqrt(step) to the end"),
    Claim("optimizer.weight_decay", 0.0, "5.3", "none: Adam"),
    Claim("train.clip", None, "5.3", "none named"),
    Claim("model.dropout", 0.1, "5.4"),
    Claim("model.attention_dropout", 0.0, "5.4", "none named"),
    Claim("model.activation_dropout", 0.0, "5.4", "none named"),
    Claim("loss.label_smoothing", 0.1, "5.4"),
    Claim("loss.rdrop", 0.0, "5.4", "none named"),
    Claim("train.average", 5, "6.1", "mean of the last 5 checkpoints"),
    Claim("train.ema", None, "6.1", "none: that mean alone"),
    Claim("train.save_every", 1389, "6.1", "10 minutes of 12 hours"),
    Claim("search.beam", 4, "6.1"),
    Claim("search.alpha", 0.6, "6.1"),
)
BIG_CLAIMS = (
    Claim("model.d_model", 1024, "6.2"),
    Claim("model.heads", 16, "6.2"),
    Claim("model.d_ff", 4096, "6.2"),
    Claim("model.dropout", 0.3, "6.2"),
    Claim("train.steps", 300_000, "5.2"),
    Claim("train.average", 20, "6.1", "mean of the last 20 checkpoints"),
    Claim("train.save_every", 595, "6.1", "10 minutes of 3.5 days"),
)
"""Where the big model differs; 6.2 stands for its Table 3."""

NOT_OF_THE_RECIPE = (
    *("source", "target", "pairs", "weights", "valid_source", "valid_target", "valid_pairs", "held_out"),
    *("bleu_pairs", "strict", "cache", "bpe_variants"),
    *("extend_vocabulary", "accumulate", "minutes", "keep_last", "log_every", "device", "memory"),
)
"""Settings that change what is read, shown or kept, or that only matter beside another one."""

UNSAID = (
    (
        "first weights",
        "Xavier for matrices, zero for biases, embeddings of standard deviation 1 / sqrt(d_model)",
    ),
    ("biases of the attention's projections", "there are"),
    ("which pairs of like length share a batch", "drawn anew in every epoch, from the seed"),
)
"""Open in the paper, and no setting here."""


class Deviation(NamedTuple):
    """A row of the conformance table."""

    setting: str
    paper: str
    section: str
    here: str


class Conformance(NamedTuple):
    """How a run stands to the paper."""

    size: Size
    """Which of the paper's two models the run is compared with."""
    deviations: list[Deviation]
    undecided: list[Claim]
    """What the paper says and a run does not decide."""
    left_open: list[tuple[str, str]]
    """What the paper does not say, and how it is here."""


def paper(size: Size) -> TranslationRun:
    """Every setting of the paper that a run has."""
    run = TranslationRun()
    settings: dict[str, dict[str, object]] = {}
    for claim in _claims(size):
        section, _, key = claim.setting.partition(".")
        if claim.setting in _settings(run) and claim.value is not None:
            settings.setdefault(section, {})[key] = claim.value
    return apply(run, settings)


def conformance(run: TranslationRun) -> Conformance:
    """Every departure from the paper's model of that width, from its base model if it has neither."""
    size: Size = "big" if run.model.d_model == BIG.d_model else "base"
    here = _settings(run)
    claims = _claims(size)
    deviations = [
        Deviation(claim.setting, claim.words or _said(claim.value), claim.section, _said(here[claim.setting]))
        for claim in claims
        if claim.setting in here and here[claim.setting] != claim.value
    ]
    named = {claim.setting for claim in claims}
    left_open = [
        (setting, _said(value))
        for setting, value in here.items()
        if setting not in named and setting.partition(".")[2] not in NOT_OF_THE_RECIPE
    ]
    undecided = [claim for claim in claims if claim.setting not in here]
    return Conformance(size, deviations, undecided, [*left_open, *UNSAID])


def _claims(size: Size) -> list[Claim]:
    differing = {claim.setting: claim for claim in (BIG_CLAIMS if size == "big" else ())}
    return [differing.get(claim.setting, claim) for claim in BASE_CLAIMS]


def _settings(run: TranslationRun) -> dict[str, object]:
    """All by name, as they come out: d_k where it follows from others, a batch with all its parts."""
    found = dict(_named(run))
    found["model.d_k"] = run.model.head_width
    parts = found.get("train.accumulate")
    if isinstance(parts, int):
        found["data.batch_tokens"] = run.data.batch_tokens * parts
    return found


def _named(run: TranslationRun) -> Iterator[tuple[str, object]]:
    for section in fields(run):
        values = getattr(run, section.name)
        for setting in fields(values):
            yield f"{section.name}.{setting.name}", getattr(values, setting.name)


def _said(value: object) -> str:
    return "none" if value is None else str(value)

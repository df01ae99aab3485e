"""Value types of a trace, with the field names of its JSON schema."""

from dataclasses import dataclass
from typing import Literal

HeadLabel = Literal["previous", "self", "next", "first", "last", "alignment"]
NodeState = Literal["kept", "pruned", "finished"]
SpecialTokenName = Literal["pad", "bos", "eos"]


@dataclass(frozen=True)
class TraceToken:
    """One token and its span in the text."""

    id: int
    piece: str
    """The vocabulary entry, with ▁ for a space."""
    text: str
    """For display: without the leading space; ␣ for a token that is only a space.

    Of the byte tokens of one character, the first has the character and the others have …; a byte that
    belongs to no valid character is written <0xE2>.
    """
    start: int | None
    """Character offset in the text; None for a special token."""
    end: int | None
    """Offset after the last character."""
    word: int | None
    """Index of its word, from 0; None for a special token and for a space that starts no word."""
    special: SpecialTokenName | None = None
    logprob: float | None = None
    """Of a target token, given all tokens before it."""


@dataclass(frozen=True)
class TraceSource:
    """The source text as tokenized; token offsets refer to it."""

    text: str
    tokens: tuple[TraceToken, ...]


@dataclass(frozen=True)
class TraceTarget:
    """The translation, searched for or given."""

    text: str
    score: float
    """Log-probability divided by the length penalty."""
    logprob: float
    forced: bool
    """Whether the translation was given (forced decoding)."""
    tokens: tuple[TraceToken, ...]
    unlike_training: bool | None = None
    """As in `Translation`; None if the translation was forced, its beginning too, or the model changed."""


@dataclass(frozen=True)
class TokenCandidate:
    """A candidate for the next token."""

    id: int
    text: str
    piece: str
    """As in `TraceToken`; it tells a token that starts a word from the same letters inside one."""
    logprob: float


@dataclass(frozen=True)
class PredictionStep:
    """The next-token distribution at one target position."""

    t: int
    """Index of the predicted target token, from 0."""
    entropy: float
    """Of the distribution, in nats."""
    rank: int
    """Rank of the chosen token, from 1."""
    top: tuple[TokenCandidate, ...]


@dataclass(frozen=True)
class LensPrediction:
    """Logit lens: the prediction of one decoder layer if it were the last."""

    id: int
    text: str
    piece: str
    prob: float
    prob_final: float
    """Its probability of the token that was chosen in the end."""


@dataclass(frozen=True)
class HeadSummary:
    """Statistics of one head over this sentence."""

    entropy: float
    """Mean row entropy divided by that of uniform weights over the visible keys: from 0 to 1."""
    peak: float
    """Mean over rows of the highest weight."""
    label: HeadLabel | None
    importance: float | None = None
    """Change of the translation's log-probability without this head; None: not measured."""


@dataclass(frozen=True)
class BeamNode:
    """A beam hypothesis, identified by its last token."""

    id: int
    parent: int | None
    """None for the first token."""
    t: int
    token: int
    text: str
    piece: str
    logprob: float
    """Log-probability of this token."""
    sum: float
    """Log-probability of all tokens up to this one."""
    score: float
    """`sum` divided by the length penalty at this length."""
    rank: int
    """Rank within its step, from 0."""
    state: NodeState


@dataclass(frozen=True)
class FinishedHypothesis:
    """A finished hypothesis, by its last node."""

    node: int
    rank: int
    """From 0, which is the translation."""


@dataclass(frozen=True)
class GreedyResult:
    """The result of greedy search."""

    tokens: tuple[int, ...]
    text: str
    score: float
    diverges_at: int | None
    """The first t at which it differs from the best hypothesis; None: it is the same."""


@dataclass(frozen=True)
class BeamRecord:
    """Every hypothesis of the beam search."""

    size: int
    alpha: float
    nodes: tuple[BeamNode, ...]
    finished: tuple[FinishedHypothesis, ...]
    greedy: GreedyResult


@dataclass(frozen=True)
class VocabSizes:
    source: int
    target: int


@dataclass(frozen=True)
class ModelFacts:
    """The model: identity, languages and sizes."""

    name: str
    id: str
    source_lang: str | None
    target_lang: str | None
    step: int | None
    encoder_layers: int
    decoder_layers: int
    heads: int
    d_model: int
    d_k: int
    d_ff: int
    norm: str
    positions: str
    vocab: VocabSizes
    shared: bool
    """Whether source, target and output share one embedding matrix."""
    parameters: int
    attention_scale: float | None = None
    """Factor of the dot products, where it is not 1 / sqrt(d_k)."""
    task: str = "translation"
    """translation, classification or forecasting."""
    causal: bool = True
    """Whether decoder self-attention is causal."""


@dataclass(frozen=True)
class TraceTiming:
    decode_ms: float
    capture_ms: float

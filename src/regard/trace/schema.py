"""What a trace is made of, besides arrays: plain values, as they stand in its JSON."""

from dataclasses import dataclass
from typing import Literal

HeadLabel = Literal["previous", "self", "next", "first", "last", "alignment"]
NodeState = Literal["kept", "pruned", "finished"]
SpecialTokenName = Literal["pad", "bos", "eos"]


@dataclass(frozen=True)
class TraceToken:
    """One piece of a text, and where it stands in it."""

    id: int
    piece: str
    """As the vocabulary has it, with ▁ for a space."""
    text: str
    """As a person reads it, without the space before it; ␣ for mere space.

    Of the bytes that spell a rare character, the first has the character and the others …; a byte that
    spells nothing is <0xE2>.
    """
    start: int | None
    """Its first character in the text, and the first after it; None for a mark."""
    end: int | None
    word: int | None
    """The number of its word, from 0; None for a mark and for space that begins no word."""
    special: SpecialTokenName | None = None
    logprob: float | None = None
    """Of a target token, after all before it."""


@dataclass(frozen=True)
class TraceSource:
    """The source as the model read it: its offsets are into this text."""

    text: str
    tokens: tuple[TraceToken, ...]


@dataclass(frozen=True)
class TraceTarget:
    """What was written, or given to be read."""

    text: str
    score: float
    """The log-probability over the length penalty."""
    logprob: float
    forced: bool
    tokens: tuple[TraceToken, ...]


@dataclass(frozen=True)
class TokenCandidate:
    """A token that could come next."""

    id: int
    text: str
    piece: str
    """As in `Token`: the same letters may begin a word or go on with one."""
    logprob: float


@dataclass(frozen=True)
class PredictionStep:
    """One choice over the whole vocabulary."""

    t: int
    """The number of the target token that is predicted, from 0."""
    entropy: float
    """Of the distribution, in nats."""
    rank: int
    """The place of the token that was taken among all, from 1."""
    top: tuple[TokenCandidate, ...]


@dataclass(frozen=True)
class LensPrediction:
    """What one decoder layer would say next if it were the last."""

    id: int
    text: str
    piece: str
    prob: float
    prob_final: float
    """That it gives to the token which was taken in the end."""


@dataclass(frozen=True)
class HeadSummary:
    """One head in this sentence."""

    entropy: float
    """Mean over its rows, over that of looking at all it may see alike: from 0 to 1."""
    peak: float
    """Mean over its rows of the highest weight."""
    label: HeadLabel | None
    matters: float | None = None
    """Change of the translation's log-probability without this head; None: not measured."""


@dataclass(frozen=True)
class BeamNode:
    """A hypothesis of the beam, by its last token."""

    id: int
    parent: int | None
    """None: it begins here."""
    t: int
    token: int
    text: str
    piece: str
    logprob: float
    """Of this token."""
    sum: float
    """Of all tokens up to it."""
    score: float
    """The sum over the length penalty of so many tokens."""
    rank: int
    """Among all of its step, from 0."""
    state: NodeState


@dataclass(frozen=True)
class FinishedHypothesis:
    """A hypothesis that ended, by its node."""

    node: int
    rank: int
    """From 0: the translation."""


@dataclass(frozen=True)
class GreedyResult:
    """What a beam of one finds."""

    tokens: tuple[int, ...]
    text: str
    score: float
    leaves_at: int | None
    """The first t at which it is not the winner; None: it is the winner."""


@dataclass(frozen=True)
class BeamRecord:
    """How the translation was found."""

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
    """Which model, and what shape it has."""

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
    """Whether source, target and output have one embedding."""
    parameters: int
    attention_scale: float | None = None
    """What dot products are multiplied by, where it is not 1 / sqrt(d_k)."""
    task: str = "translation"
    """What the model is for: translation, classification or forecasting."""
    causal: bool = True
    """Whether the decoder sees earlier places only."""


@dataclass(frozen=True)
class TraceTiming:
    decode_ms: float
    capture_ms: float

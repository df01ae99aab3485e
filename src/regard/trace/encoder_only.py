"""A trace of a model that does not write word after word: where it looked, and what it said in the end."""

from regard.trace.capture import Captured
from regard.trace.request import Request, trace_id
from regard.trace.schema import ModelFacts, Side, Target, Timing
from regard.trace.summary import attention, head_facts, residual, value_norms
from regard.trace.trace import Trace
from regard.version import __version__


def glance(
    facts: ModelFacts, request: Request, source: Side, target: Target, captured: Captured, ms: float
) -> Trace:
    """What a translation has besides, its steps, candidates and beam, is not there."""
    weights = attention(captured)
    return Trace(
        id=trace_id(facts.id, request),
        regard=__version__,
        model=facts,
        request=request,
        source=source,
        target=target,
        attention=weights,
        value_norm=value_norms(captured),
        residual=residual(captured),
        steps=(),
        lens=(),
        heads=head_facts(weights, hidden=0, causal=facts.causal),
        beam=None,
        timing=Timing(0.0, ms),
        pieces={},
    )

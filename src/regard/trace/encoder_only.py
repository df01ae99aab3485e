"""Trace of a model that does not decode token by token: a classifier or forecaster."""

from regard.trace.capture import ForwardCapture
from regard.trace.request import TraceRequest, trace_id
from regard.trace.schema import ModelFacts, TraceSource, TraceTarget, TraceTiming
from regard.trace.summary import residual_norms, stack_attention_weights, summarize_heads, value_norms
from regard.trace.trace import Trace
from regard.version import __version__


def build_encoder_only_trace(
    facts: ModelFacts,
    request: TraceRequest,
    source: TraceSource,
    target: TraceTarget,
    captured: ForwardCapture,
    elapsed_ms: float,
) -> Trace:
    """Build a trace of attention and residual stream, without prediction steps, logit lens and beam."""
    weights = stack_attention_weights(captured)
    return Trace(
        id=trace_id(facts.id, request),
        regard=__version__,
        model=facts,
        request=request,
        source=source,
        target=target,
        attention=weights,
        value_norm=value_norms(captured),
        residual=residual_norms(captured),
        steps=(),
        logit_lens=(),
        heads=summarize_heads(weights, hidden_tokens=0, causal=facts.causal),
        beam=None,
        timing=TraceTiming(0.0, elapsed_ms),
        vocabulary={},
    )

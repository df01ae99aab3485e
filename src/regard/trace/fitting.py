"""A trace that fits into a file to be sent: of what is largest, only what is looked at."""

from dataclasses import replace

from regard.trace.trace import Projections, Trace

MOST = 8_000_000
"""Bytes of JSON up to which queries, keys and values of all layers are kept."""


def fitted(trace: Trace, layer: int, most: int = MOST) -> Trace:
    """The same trace, or the same with queries, keys and values of that layer alone (counted from 1)."""
    if trace.qkv is None or len(trace.dumps()) <= most:
        return trace
    kept = {kind: _only(each, layer) for kind, each in trace.qkv.items()}
    left_out = tuple(f"qkv.{kind}" for kind, each in trace.qkv.items() if each.layers != kept[kind].layers)
    return replace(trace, qkv=kept, omitted=(*trace.omitted, *left_out))


def _only(each: Projections, layer: int) -> Projections:
    at = slice(layer - 1, layer) if layer in each.layers else slice(0, 0)
    return Projections(each.layers[at], each.q[at], each.k[at], each.v[at])

"""Text in, translations out, with what the Translate page shows of each line."""

from typing import Any

import numpy as np

from regard.inference.alignment import pick_alignment_layer
from regard.search.config import SearchConfig
from regard.server.checkpoint_cache import ExplorerModel
from regard.server.request_fields import JsonBody
from regard.server.trace_service import TraceService
from regard.trace.request import TraceLengthError
from regard.trace.tokens import TokenRenderer
from regard.trace.trace import Trace

ALIGNMENT_DECIMALS = 4
EMPTY_LINE_PAYLOAD: dict[str, Any] = {
    "source": {"text": "", "tokens": []},
    "target": {"text": "", "score": 0.0, "logprob": 0.0, "forced": False, "tokens": []},
    "alignment": [],
    "steps": [],
    "n_best": [],
    "omitted": None,
}


def translate_line_payload(
    service: TraceService, model: ExplorerModel, body: JsonBody, text: str, n_best: int
) -> dict[str, Any]:
    """One line: blank, looked into, or too long for that and translated all the same."""
    if not text.strip():
        return EMPTY_LINE_PAYLOAD | {"source": {"text": text, "tokens": []}}
    asked = service.parse_trace_request(model, {**body, "text": text, "target": None, "interventions": []})
    try:
        trace = service.cached_trace(model, asked)
    except TraceLengthError:
        return _untraced_payload(model, text, SearchConfig(asked.beam, asked.alpha, min(n_best, asked.beam)))
    said = trace.to_json()
    return {
        "source": said["source"],
        "target": said["target"],
        "alignment": trace_alignment(trace).astype(np.float64).round(ALIGNMENT_DECIMALS).tolist(),
        "steps": said["steps"],
        "n_best": _n_best(model, trace, n_best),
        "omitted": None,
    }


def trace_alignment(trace: Trace) -> np.ndarray:
    """Which source tokens each target token was written from: rows that sum to 1, marks left out.

    The heads of the layer that aligns words best, on average.
    """
    layers = trace.attention["cross"]
    weights = layers[pick_alignment_layer(len(layers))].mean(axis=0)
    words = np.array([token.special is None for token in trace.source.tokens])
    weights = weights * words
    sums = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)


def _n_best(model: ExplorerModel, trace: Trace, count: int) -> list[dict[str, Any]]:
    """The hypotheses that came to an end, the best first."""
    if trace.beam is None:
        return []
    nodes = {node.id: node for node in trace.beam.nodes}
    found = []
    for finished in sorted(trace.beam.finished, key=lambda each: each.rank)[:count]:
        end = nodes[finished.node]
        tokens, node = [], end
        while node.parent is not None:
            node = nodes[node.parent]
            tokens.append(node.token)
        text = TokenRenderer(model.tokenizer).line(tokens[::-1])
        found.append({"text": text, "score": end.score, "logprob": end.sum})
    return found


def _untraced_payload(model: ExplorerModel, text: str, search: SearchConfig) -> dict[str, Any]:
    """Translated sentence by sentence; nothing is looked into."""
    (found,) = model.translator.translate_detailed([text], search)
    every = (found, *found.alternatives)
    best = [{"text": each.text, "score": each.score, "logprob": each.log_probability} for each in every]
    target = EMPTY_LINE_PAYLOAD["target"] | best[0]
    source = {"text": text, "tokens": []}
    return EMPTY_LINE_PAYLOAD | {"source": source, "target": target, "n_best": best, "omitted": "too_long"}

"""JSON payload of the Translate page: translation, alignment, candidates and n-best list of a line."""

from typing import Any

import numpy as np

from regard.inference.alignment import pick_alignment_layer
from regard.search.config import SearchConfig
from regard.server.explorer.checkpoint_cache import ExplorerModel
from regard.server.explorer.request_fields import JsonBody
from regard.server.explorer.trace_service import TraceService
from regard.trace.request import TraceLengthError
from regard.trace.tokens import TokenRenderer
from regard.trace.trace import Trace

ALIGNMENT_DECIMALS = 4
EMPTY_LINE_PAYLOAD: dict[str, Any] = {
    "source": {"text": "", "tokens": []},
    "target": {
        "text": "",
        "score": 0.0,
        "logprob": 0.0,
        "forced": False,
        "tokens": [],
        "unlike_training": None,
    },
    "alignment": [],
    "steps": [],
    "n_best": [],
    "omitted": None,
}


def translate_line_payload(
    service: TraceService, model: ExplorerModel, body: JsonBody, text: str, n_best: int
) -> dict[str, Any]:
    """Translate one line: blank, traced, or without a trace if it is too long for one."""
    if not text.strip():
        return EMPTY_LINE_PAYLOAD | {"source": {"text": text, "tokens": []}}
    trace_request = service.parse_trace_request(
        model, {**body, "text": text, "target": None, "interventions": []}
    )
    try:
        trace = service.cached_trace(model, trace_request)
    except TraceLengthError:
        beam, alpha = trace_request.beam, trace_request.alpha
        return _untraced_payload(model, text, SearchConfig(beam, alpha, min(n_best, beam)))
    data = trace.to_json()
    return {
        "source": data["source"],
        "target": data["target"],
        "alignment": trace_alignment(trace).astype(np.float64).round(ALIGNMENT_DECIMALS).tolist(),
        "steps": data["steps"],
        "n_best": _n_best(model, trace, n_best),
        "omitted": None,
    }


def trace_alignment(trace: Trace) -> np.ndarray:
    """Return the soft alignment of target to source tokens: rows sum to 1, special tokens have weight 0.

    It is the mean over the heads of the layer that aligns best.
    """
    layers = trace.attention["cross"]
    weights = layers[pick_alignment_layer(len(layers))].mean(axis=0)
    is_word = np.array([token.special is None for token in trace.source.tokens])
    weights = weights * is_word
    sums = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)


def _n_best(model: ExplorerModel, trace: Trace, count: int) -> list[dict[str, Any]]:
    """Return the finished hypotheses, best first."""
    if trace.beam is None:
        return []
    nodes = {node.id: node for node in trace.beam.nodes}
    hypotheses = []
    for finished in sorted(trace.beam.finished, key=lambda each: each.rank)[:count]:
        end = nodes[finished.node]
        tokens, node = [], end
        while node.parent is not None:
            node = nodes[node.parent]
            tokens.append(node.token)
        text = TokenRenderer(model.tokenizer).line(tokens[::-1])
        hypotheses.append({"text": text, "score": end.score, "logprob": end.sum})
    return hypotheses


def _untraced_payload(model: ExplorerModel, text: str, search: SearchConfig) -> dict[str, Any]:
    """Translate a long line sentence by sentence, without a trace."""
    (translation,) = model.translator.translate_detailed([text], search)
    translations = (translation, *translation.alternatives)
    n_best = [
        {"text": each.text, "score": each.score, "logprob": each.log_probability} for each in translations
    ]
    target = EMPTY_LINE_PAYLOAD["target"] | n_best[0] | {"unlike_training": translation.unlike_training}
    source = {"text": text, "tokens": []}
    return EMPTY_LINE_PAYLOAD | {"source": source, "target": target, "n_best": n_best, "omitted": "too_long"}

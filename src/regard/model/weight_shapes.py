"""Names and shapes of a model's weights, from its settings alone: no torch, and nothing is allocated."""

from collections.abc import Iterator

from regard.model.config import LayerConfig, ModelConfig

NamedShapes = Iterator[tuple[str, tuple[int, ...]]]


def transformer_weight_shapes(config: ModelConfig) -> NamedShapes:
    """Yield the weights of a `Transformer`; a matrix that several layers share is named once."""
    matrix = (config.vocab_size, config.d_model)
    yield "source_embedding.tokens.weight", matrix
    if config.tied != "all":
        yield "target_embedding.tokens.weight", matrix
    if config.tied == "none":
        yield "output.weight", matrix
    if config.position == "learned":
        for side in ("source", "target"):
            yield f"{side}_embedding.positions.table", (config.max_length, config.d_model)
    yield from stack_weight_shapes("encoder", config, config.encoder_layers)
    yield from stack_weight_shapes("decoder", config, config.decoder_layers)


def stack_weight_shapes(side: str, config: LayerConfig, layers: int) -> NamedShapes:
    """Yield the weights of an encoder or a decoder."""
    attentions = ("self_attention",) if side == "encoder" else ("self_attention", "cross_attention")
    norms = ("attention",) if side == "encoder" else attentions
    inner = config.heads * config.head_width
    for layer in range(layers):
        prefix = f"{side}.layers.{layer}"
        for attention in attentions:
            for part in ("query", "key", "value"):
                yield from linear_weight_shapes(f"{prefix}.{attention}.{part}", config.d_model, inner)
            yield from linear_weight_shapes(f"{prefix}.{attention}.output", inner, config.d_model)
        yield from linear_weight_shapes(f"{prefix}.feed_forward.inner", config.d_model, config.d_ff)
        yield from linear_weight_shapes(f"{prefix}.feed_forward.outer", config.d_ff, config.d_model)
        for norm in (*norms, "feed_forward"):
            yield from _norm(f"{prefix}.around_{norm}.norm", config.d_model)
    if config.norm == "pre":
        yield from _norm(f"{side}.norm", config.d_model)


def linear_weight_shapes(name: str, inputs: int, outputs: int) -> NamedShapes:
    """Yield the weights of a linear layer."""
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(name: str, width: int) -> NamedShapes:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)

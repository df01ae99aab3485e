"""What a trace says of the model it looked into, whatever the model is for."""

from torch import nn

from regard.model.config import CoreConfig
from regard.tasks.identity import Identity
from regard.trace.parts import ModelFacts, Vocab


def model_facts(
    identity: Identity,
    model: nn.Module,
    config: CoreConfig,
    layers: tuple[int, int],
    vocab: Vocab,
    task: str,
    *,
    shared: bool = False,
    causal: bool = True,
) -> ModelFacts:
    """`layers` are those of the encoder and of the decoder, `shared` is whether all embeddings are one."""
    encoder_layers, decoder_layers = layers
    return ModelFacts(
        name=identity.name,
        id=identity.id,
        source_lang=identity.source_lang,
        target_lang=identity.target_lang,
        step=identity.step,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        heads=config.heads,
        d_model=config.d_model,
        d_k=config.head_width,
        d_ff=config.d_ff,
        norm=config.norm,
        positions=config.position,
        vocab=vocab,
        shared=shared,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        attention_scale=config.attention_scale,
        task=task,
        causal=causal,
    )

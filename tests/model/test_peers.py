"""The model equals torch.nn.Transformer and MarianMTModel with copied weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from regard.model.config import ModelConfig
from regard.model.masks import CAUSAL_MASK, make_padding_mask
from regard.model.transformer import Transformer, position_ids

SHAPES = {
    "rows": st.integers(1, 4),
    "source": st.integers(1, 12),
    "target": st.integers(1, 12),
    "layers": st.tuples(st.integers(1, 3), st.integers(1, 3)),
    "heads": st.sampled_from([1, 2, 4]),
    "activation": st.sampled_from(["relu", "gelu"]),
    "seed": st.integers(0, 10_000),
}


def random_keep(rows: int, length: int) -> torch.Tensor:
    """Return the mask of right-padded rows of at least one token."""
    lengths = torch.randint(1, length + 1, (rows, 1))
    return torch.arange(length)[None] < lengths


def randomize_norms_and_biases(model: nn.Module) -> None:
    """Replace the initial ones and zeros, which would hide mistakes."""
    for parameter in model.parameters():
        if parameter.ndim == 1:
            nn.init.normal_(parameter, mean=0.5, std=0.5)


def copy_weights(ours: nn.Module, peer: nn.Module) -> None:
    peer.load_state_dict(ours.state_dict())


def copy_attention_to_torch(ours, peer: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        peer.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        peer.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    copy_weights(ours.output, peer.out_proj)


def as_torch(model: Transformer) -> nn.Transformer:
    config = model.config
    pre = config.norm == "pre"
    arguments = {
        "d_model": config.d_model,
        "nhead": config.heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "activation": config.activation,
        "batch_first": True,
        "norm_first": pre,
    }
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**arguments),
        config.encoder_layers,
        norm=nn.LayerNorm(config.d_model) if pre else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(**arguments),
        config.decoder_layers,
        norm=nn.LayerNorm(config.d_model) if pre else None,
    )
    whole = nn.Transformer(  # built before the weights are copied, as it initializes them
        config.d_model, config.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    for ours, peer in zip(model.encoder.layers, encoder.layers, strict=True):
        copy_attention_to_torch(ours.self_attention, peer.self_attn)
        copy_weights(ours.feed_forward.inner, peer.linear1)
        copy_weights(ours.feed_forward.outer, peer.linear2)
        copy_weights(ours.around_attention.norm, peer.norm1)
        copy_weights(ours.around_feed_forward.norm, peer.norm2)
    for ours, peer in zip(model.decoder.layers, decoder.layers, strict=True):
        copy_attention_to_torch(ours.self_attention, peer.self_attn)
        copy_attention_to_torch(ours.cross_attention, peer.multihead_attn)
        copy_weights(ours.feed_forward.inner, peer.linear1)
        copy_weights(ours.feed_forward.outer, peer.linear2)
        copy_weights(ours.around_self_attention.norm, peer.norm1)
        copy_weights(ours.around_cross_attention.norm, peer.norm2)
        copy_weights(ours.around_feed_forward.norm, peer.norm3)
    if pre:
        copy_weights(model.encoder.norm, encoder.norm)
        copy_weights(model.decoder.norm, decoder.norm)
    return whole.eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
@given(**SHAPES)
@settings(max_examples=25)
def test_the_model_equals_torch_nn_transformer(norm, rows, source, target, layers, heads, activation, seed):
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=31,
        d_model=16,
        heads=heads,
        d_ff=24,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        norm=norm,
        activation=activation,
        max_length=12,
    )
    model = Transformer(config).eval()
    randomize_norms_and_biases(model)
    peer = as_torch(model)
    ids, target_in = torch.randint(0, 31, (rows, source)), torch.randint(0, 31, (rows, target))
    keep, target_keep = random_keep(rows, source), random_keep(rows, target)
    with torch.no_grad():
        mask = make_padding_mask(keep)
        encoded = model.encode(ids, position_ids(ids), mask)
        out = model.decode(target_in, position_ids(target_in), encoded, CAUSAL_MASK, mask)
        expected = peer(
            model.source_embedding(ids, position_ids(ids)),
            model.target_embedding(target_in, position_ids(target_in)),
            tgt_mask=torch.ones(target, target, dtype=torch.bool).triu(1),
            src_key_padding_mask=~keep,
            tgt_key_padding_mask=~target_keep,
            memory_key_padding_mask=~keep,
        )
    torch.testing.assert_close(out[target_keep], expected[target_keep], atol=1e-5, rtol=1e-5)


def copy_attention_to_marian(ours, peer) -> None:
    for one, other in (
        (ours.query, peer.q_proj),
        (ours.key, peer.k_proj),
        (ours.value, peer.v_proj),
        (ours.output, peer.out_proj),
    ):
        copy_weights(one, other)


def as_marian(model: Transformer):
    from transformers import MarianConfig, MarianMTModel

    config = model.config
    peer = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            max_position_embeddings=config.max_length,
            activation_function=config.activation,
            scale_embedding=True,
            dropout=0.0,
            pad_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
    ).eval()
    with torch.no_grad():
        peer.model.shared.weight.copy_(model.output.weight)
    for ours, peer_layer in zip(model.encoder.layers, peer.model.encoder.layers, strict=True):
        copy_attention_to_marian(ours.self_attention, peer_layer.self_attn)
        copy_weights(ours.around_attention.norm, peer_layer.self_attn_layer_norm)
        copy_weights(ours.feed_forward.inner, peer_layer.fc1)
        copy_weights(ours.feed_forward.outer, peer_layer.fc2)
        copy_weights(ours.around_feed_forward.norm, peer_layer.final_layer_norm)
    for ours, peer_layer in zip(model.decoder.layers, peer.model.decoder.layers, strict=True):
        copy_attention_to_marian(ours.self_attention, peer_layer.self_attn)
        copy_weights(ours.around_self_attention.norm, peer_layer.self_attn_layer_norm)
        copy_attention_to_marian(ours.cross_attention, peer_layer.encoder_attn)
        copy_weights(ours.around_cross_attention.norm, peer_layer.encoder_attn_layer_norm)
        copy_weights(ours.feed_forward.inner, peer_layer.fc1)
        copy_weights(ours.feed_forward.outer, peer_layer.fc2)
        copy_weights(ours.around_feed_forward.norm, peer_layer.final_layer_norm)
    return peer


@pytest.mark.filterwarnings("ignore")  # warnings of the other library
@given(**SHAPES)
@settings(max_examples=25)
def test_the_model_equals_marian(rows, source, target, layers, heads, activation, seed):
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=31,
        d_model=16,
        heads=heads,
        d_ff=24,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        position="halves",
        activation=activation,
        max_length=12,
    )
    model = Transformer(config).eval()
    randomize_norms_and_biases(model)
    peer = as_marian(model)
    ids, target_in = torch.randint(3, 31, (rows, source)), torch.randint(3, 31, (rows, target))
    keep = random_keep(rows, source)
    with torch.no_grad():
        out = model(ids, keep, target_in)
        expected = peer(input_ids=ids, attention_mask=keep.long(), decoder_input_ids=target_in).logits
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-5)

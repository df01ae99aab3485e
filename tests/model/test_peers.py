"""The same weights in somebody else's Transformer give the same answers."""

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
    """Right-padded rows of at least one token."""
    lengths = torch.randint(1, length + 1, (rows, 1))
    return torch.arange(length)[None] < lengths


def unsettle(model: nn.Module) -> None:
    """Norms and biases start as ones and zeros, behind which mistakes would hide."""
    for parameter in model.parameters():
        if parameter.ndim == 1:
            nn.init.normal_(parameter, mean=0.5, std=0.5)


def copy(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


def copy_attention_to_torch(ours, theirs: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    copy(ours.output, theirs.out_proj)


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
    whole = nn.Transformer(  # built before the weights are copied, for it draws its own
        config.d_model, config.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    for ours, theirs in zip(model.encoder.layers, encoder.layers, strict=True):
        copy_attention_to_torch(ours.self_attention, theirs.self_attn)
        copy(ours.feed_forward.inner, theirs.linear1)
        copy(ours.feed_forward.outer, theirs.linear2)
        copy(ours.around_attention.norm, theirs.norm1)
        copy(ours.around_feed_forward.norm, theirs.norm2)
    for ours, theirs in zip(model.decoder.layers, decoder.layers, strict=True):
        copy_attention_to_torch(ours.self_attention, theirs.self_attn)
        copy_attention_to_torch(ours.cross_attention, theirs.multihead_attn)
        copy(ours.feed_forward.inner, theirs.linear1)
        copy(ours.feed_forward.outer, theirs.linear2)
        copy(ours.around_self_attention.norm, theirs.norm1)
        copy(ours.around_cross_attention.norm, theirs.norm2)
        copy(ours.around_feed_forward.norm, theirs.norm3)
    if pre:
        copy(model.encoder.norm, encoder.norm)
        copy(model.decoder.norm, decoder.norm)
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
    unsettle(model)
    theirs = as_torch(model)
    ids, target_in = torch.randint(0, 31, (rows, source)), torch.randint(0, 31, (rows, target))
    keep, target_keep = random_keep(rows, source), random_keep(rows, target)
    with torch.no_grad():
        visible = make_padding_mask(keep)
        encoded = model.encode(ids, position_ids(ids), visible)
        found = model.decode(target_in, position_ids(target_in), encoded, CAUSAL_MASK, visible)
        expected = theirs(
            model.source_embedding(ids, position_ids(ids)),
            model.target_embedding(target_in, position_ids(target_in)),
            tgt_mask=torch.ones(target, target, dtype=torch.bool).triu(1),
            src_key_padding_mask=~keep,
            tgt_key_padding_mask=~target_keep,
            memory_key_padding_mask=~keep,
        )
    torch.testing.assert_close(found[target_keep], expected[target_keep], atol=1e-5, rtol=1e-5)


def copy_attention_to_marian(ours, theirs) -> None:
    for one, other in (
        (ours.query, theirs.q_proj),
        (ours.key, theirs.k_proj),
        (ours.value, theirs.v_proj),
        (ours.output, theirs.out_proj),
    ):
        copy(one, other)


def as_marian(model: Transformer):
    from transformers import MarianConfig, MarianMTModel

    config = model.config
    theirs = MarianMTModel(
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
        theirs.model.shared.weight.copy_(model.output.weight)
    for ours, their in zip(model.encoder.layers, theirs.model.encoder.layers, strict=True):
        copy_attention_to_marian(ours.self_attention, their.self_attn)
        copy(ours.around_attention.norm, their.self_attn_layer_norm)
        copy(ours.feed_forward.inner, their.fc1)
        copy(ours.feed_forward.outer, their.fc2)
        copy(ours.around_feed_forward.norm, their.final_layer_norm)
    for ours, their in zip(model.decoder.layers, theirs.model.decoder.layers, strict=True):
        copy_attention_to_marian(ours.self_attention, their.self_attn)
        copy(ours.around_self_attention.norm, their.self_attn_layer_norm)
        copy_attention_to_marian(ours.cross_attention, their.encoder_attn)
        copy(ours.around_cross_attention.norm, their.encoder_attn_layer_norm)
        copy(ours.feed_forward.inner, their.fc1)
        copy(ours.feed_forward.outer, their.fc2)
        copy(ours.around_feed_forward.norm, their.final_layer_norm)
    return theirs


@pytest.mark.filterwarnings("ignore")  # what the other library has to say of itself is its own affair
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
    unsettle(model)
    theirs = as_marian(model)
    ids, target_in = torch.randint(3, 31, (rows, source)), torch.randint(3, 31, (rows, target))
    keep = random_keep(rows, source)
    with torch.no_grad():
        found = model(ids, keep, target_in)
        expected = theirs(input_ids=ids, attention_mask=keep.long(), decoder_input_ids=target_in).logits
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

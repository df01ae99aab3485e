from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import make_packed_sequences
from regard.model.attention import MultiHeadAttention
from regard.model.config import TINY, ModelConfig
from regard.model.embedding import Embedding
from regard.model.layers import FeedForward, ResidualConnection
from regard.model.masks import CAUSAL_MASK, NO_MASK, make_padding_mask
from regard.model.transformer import Transformer, position_ids


def random_tokens(*shape: int, vocab: int = 23) -> torch.Tensor:
    return torch.randint(3, vocab, shape)


def keep_all(source: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(source, dtype=torch.bool)


def test_a_later_token_does_not_affect_earlier_logits(micro_model):
    source, target = random_tokens(2, 5), random_tokens(2, 6)
    logits = micro_model(source, keep_all(source), target)
    for position in range(1, 6):
        changed = target.clone()
        changed[:, position] = (changed[:, position] + 1) % 23
        after = micro_model(source, keep_all(source), changed)
        assert torch.equal(after[:, :position], logits[:, :position])  # bit for bit
        assert not torch.equal(after[:, position], logits[:, position])


@given(rows=st.integers(1, 4), source=st.integers(1, 8), target=st.integers(1, 8), seed=st.integers(0, 999))
@settings(max_examples=20)
@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
def test_incremental_decoding_equals_one_forward_pass(norm, rows, source, target, seed):
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=23,
        d_model=16,
        heads=4,
        d_ff=32,
        encoder_layers=1,
        decoder_layers=2,
        norm=norm,
        max_length=9,
    )
    model = Transformer(config).eval()
    ids, keep, target_in = (
        random_tokens(rows, source),
        torch.rand(rows, source) > 0.3,
        random_tokens(rows, target),
    )
    at_once = model(ids, keep, target_in)
    state = model.start_decoding(ids, keep)
    for i in range(target):
        logits, state = model.step(state, target_in[:, i])
        torch.testing.assert_close(logits, at_once[:, i], atol=1e-5, rtol=1e-5)


def test_padding_does_not_affect_the_logits(micro_model):
    source, target = random_tokens(3, 5), random_tokens(3, 6)
    logits = micro_model(source, keep_all(source), target)
    wider = torch.cat([source, random_tokens(3, 4)], dim=1)
    keep = torch.cat([keep_all(source), torch.zeros(3, 4, dtype=torch.bool)], dim=1)
    longer = torch.cat([target, random_tokens(3, 3)], dim=1)
    torch.testing.assert_close(micro_model(wider, keep, longer)[:, :6], logits, atol=1e-5, rtol=1e-5)


def test_the_content_of_the_padding_does_not_matter(micro_model):
    source, keep = random_tokens(2, 6), torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    other = torch.where(keep, source, (source + 5) % 23)
    target = random_tokens(2, 4)
    assert torch.equal(micro_model(source, keep, target), micro_model(other, keep, target))


def test_results_do_not_depend_on_the_batch(micro_model):
    source, target = random_tokens(4, 5), random_tokens(4, 6)
    batch = micro_model(source, keep_all(source), target)
    for row in range(4):
        single = micro_model(source[row : row + 1], keep_all(source)[:1], target[row : row + 1])
        torch.testing.assert_close(single[0], batch[row], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("lengths", [((3, 4), (5, 2)), ((4, 3), (4, 3)), ((1, 1),), ((7, 2), (1, 9), (3, 3))])
def test_packed_pairs_equal_separate_pairs_with_gradients(micro_model, lengths):
    """Pairs packed end to end have the logits and gradients of separate forward passes."""
    model = micro_model
    pairs = [(random_tokens(1, s), random_tokens(1, t)) for s, t in lengths]
    apart = torch.cat([model(source, keep_all(source), target)[0] for source, target in pairs])
    source, target = (torch.cat(side, dim=1) for side in zip(*pairs, strict=True))
    sources, targets = (make_packed_sequences([pair[side] for pair in lengths]) for side in (0, 1))
    packed = model.output(model.forward_packed(source, sources, target, targets))[0]
    torch.testing.assert_close(packed, apart, atol=1e-5, rtol=1e-5)
    weights = list(model.parameters())
    gradients_apart, gradients_packed = (
        torch.autograd.grad(out.square().sum(), weights) for out in (apart, packed)
    )
    for one, other in zip(gradients_apart, gradients_packed, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_an_all_padding_source_gives_finite_logits(micro_model):
    source = random_tokens(2, 4)
    keep = torch.tensor([[True] * 4, [False] * 4])
    assert micro_model(source, keep, random_tokens(2, 3)).isfinite().all()


@pytest.mark.parametrize("position", ["none", "paper", "tensor2tensor", "halves", "learned"])
def test_word_order_matters_only_with_positions(micro, position):
    """The encoding of a class token before T1 T2 T3 and T3 T2 T1 is equal without positions."""
    torch.manual_seed(0)
    model = Transformer(replace(micro, position=position)).eval()
    class_token, first, second, third = 3, 4, 5, 6
    both = torch.tensor([[class_token, first, second, third], [class_token, third, second, first]])
    one, other = model.encode(both, position_ids(both), NO_MASK)[:, 0]
    if position == "none":
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    else:
        assert (one - other).abs().max() > 1e-3


def test_without_positions_the_encoder_is_permutation_equivariant(micro):
    torch.manual_seed(0)
    model = Transformer(replace(micro, position="none")).eval()
    source, order = random_tokens(1, 7), torch.randperm(7)
    straight = model.encode(source, position_ids(source), NO_MASK)
    mixed = model.encode(source[:, order], position_ids(source), NO_MASK)
    torch.testing.assert_close(mixed, straight[:, order], atol=1e-5, rtol=1e-5)


def test_one_token_has_one_embedding_but_contextual_encodings(micro_model):
    history, holiday = torch.tensor([[3, 9, 4]]), torch.tensor([[5, 9, 6]])
    inside = [micro_model.encode(s, position_ids(s), NO_MASK)[0, 1] for s in (history, holiday)]
    assert torch.equal(*(micro_model.source_embedding(s, position_ids(s))[0, 1] for s in (history, holiday)))
    assert (inside[0] - inside[1]).abs().max() > 1e-3


def test_every_decoder_layer_attends_to_the_last_encoder_layer(micro_model):
    encoded = torch.randn(1, 5, 16)
    caches = micro_model.decoder.start_caches(encoded)
    assert len(caches) == micro_model.config.decoder_layers
    for layer, before in zip(micro_model.decoder.layers, caches, strict=True):
        assert torch.equal(before.source.key, layer.cross_attention.project_keys_values(encoded).key)


def test_source_keys_are_computed_once_per_sentence(micro_model):
    counted = []
    for layer in micro_model.decoder.layers:
        layer.cross_attention.key.register_forward_hook(lambda *_: counted.append(1))
    source = random_tokens(2, 5)
    state = micro_model.start_decoding(source, keep_all(source))
    for _ in range(4):
        _, state = micro_model.step(state, random_tokens(2))
    assert len(counted) == micro_model.config.decoder_layers


@pytest.mark.parametrize("half", ["encoder", "decoder"])
def test_training_has_no_loop_over_positions(micro_model, half):
    calls = []
    getattr(micro_model, half).layers[0].register_forward_hook(lambda *_: calls.append(1))
    for length in (2, 30):
        source = random_tokens(1, length)
        micro_model(source, keep_all(source), random_tokens(1, length))
    assert len(calls) == 2  # once per batch, whatever its length


@pytest.mark.parametrize(("tied", "matrices"), [("all", 1), ("target", 2), ("none", 3)])
def test_embeddings_are_tied_as_configured(micro, tied, matrices):
    model = Transformer(replace(micro, tied=tied))
    three = (model.source_embedding.tokens, model.target_embedding.tokens, model.output)
    assert len({module.weight.data_ptr() for module in three}) == matrices
    vocabulary = micro.vocab_size * micro.d_model
    untied = sum(p.numel() for p in Transformer(replace(micro, tied="none")).parameters())
    assert sum(p.numel() for p in model.parameters()) == untied - (3 - matrices) * vocabulary


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_embeddings_start_with_unit_variance_after_scaling(tied):
    torch.manual_seed(0)
    model = Transformer(replace(TINY, tied=tied, dropout=0.0))
    for embedding in (model.source_embedding, model.target_embedding):
        assert (embedding.tokens.weight * embedding.scale).std().item() == pytest.approx(1.0, abs=0.05)


def test_the_same_seed_gives_the_same_weights(micro):
    def weights(seed):
        torch.manual_seed(seed)
        return torch.cat([p.flatten() for p in Transformer(micro).parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_heads_are_initialized_differently(micro):
    heads = Transformer(micro).encoder.layers[0].self_attention.query.weight.unflatten(0, (micro.heads, -1))
    assert all(not torch.equal(heads[i], heads[j]) for i in range(micro.heads) for j in range(i))


def test_scale_and_dropout_settings_reach_every_module(micro):
    model = Transformer(
        replace(micro, attention_scale=0.3, attention_dropout=0.4, dropout=0.25, activation_dropout=0.15)
    )
    attends = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert len(attends) == 2 + 2 * 2
    assert {(attend.scale, attend.dropout) for attend in attends} == {(0.3, 0.4)}
    around = [module for module in model.modules() if isinstance(module, ResidualConnection | Embedding)]
    assert len(around) == 2 * 2 + 2 * 3 + 2
    assert {module.dropout.p for module in around} == {0.25}
    assert {module.dropout.p for module in model.modules() if isinstance(module, FeedForward)} == {0.15}


def test_logits_are_the_last_layer_times_the_tied_embeddings(micro_model):
    """Section 3.4: the output layer and the embeddings share one matrix."""
    source, target = random_tokens(1, 3), random_tokens(1, 2)
    mask = make_padding_mask(keep_all(source))
    encoded = micro_model.encode(source, position_ids(source), mask)
    decoded = micro_model.decode(target, position_ids(target), encoded, CAUSAL_MASK, mask)
    expected = decoded @ micro_model.source_embedding.tokens.weight.T
    torch.testing.assert_close(micro_model(source, keep_all(source), target), expected)


def test_selected_sentences_continue_as_in_a_batch_of_their_own(micro_model):
    source, keep = random_tokens(3, 5), torch.rand(3, 5) > 0.3
    first, then = random_tokens(3), random_tokens(2)
    _, state = micro_model.step(micro_model.start_decoding(source, keep), first)
    chosen = torch.tensor([2, 0])
    logits, _ = micro_model.step(state.select(chosen), then)
    _, single = micro_model.step(micro_model.start_decoding(source[chosen], keep[chosen]), first[chosen])
    expected, _ = micro_model.step(single, then)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


def test_reordering_rows_does_not_copy_the_source(micro_model):
    source, keep = random_tokens(2, 5), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    state = micro_model.start_decoding(source, keep).expand(3)
    first, then = random_tokens(6), random_tokens(6)
    _, grown = micro_model.step(state, first)
    rows = torch.tensor([2, 0, 0, 4, 5, 3])
    reordered = grown.reorder(rows)
    for before, after in zip(state.caches, reordered.caches, strict=True):
        assert after.source.key is before.source.key
    logits, _ = micro_model.step(reordered, then)
    copied = micro_model.start_decoding(source.repeat_interleave(3, 0), keep.repeat_interleave(3, 0))
    _, copied = micro_model.step(copied, first)
    expected, _ = micro_model.step(copied.select(rows), then)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    second, _ = micro_model.step(reordered.select(torch.tensor([1])), then[3:])
    torch.testing.assert_close(second, expected[3:], atol=1e-5, rtol=1e-5)


def test_bf16_agrees_with_fp32_to_its_own_precision(micro_model):
    source, target = random_tokens(2, 5), random_tokens(2, 6)
    exact = micro_model(source, keep_all(source), target)
    rough = micro_model.to(torch.bfloat16)(source, keep_all(source), target)
    assert rough.dtype == torch.bfloat16
    torch.testing.assert_close(rough.float(), exact, atol=0.2, rtol=0.1)


def test_left_padding_works_with_a_mask_and_shifted_positions(micro_model):
    source = random_tokens(1, 4)
    shifted = torch.cat([random_tokens(1, 2), source], dim=1)
    keep = torch.tensor([[False] * 2 + [True] * 4])
    at = torch.tensor([[0, 0, 0, 1, 2, 3]])
    straight = micro_model.encode(source, position_ids(source), NO_MASK)
    padded_left = micro_model.encode(shifted, at, make_padding_mask(keep))[:, 2:]
    torch.testing.assert_close(padded_left, straight, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
def test_six_and_six_layers_learn(norm):
    """At the paper's depth a few steps must halve the loss."""
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=16, d_model=32, heads=4, d_ff=64, dropout=0.0, norm=norm, max_length=8)
    model = Transformer(config)
    adam = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
    source = random_tokens(64, 4, vocab=16)
    target_in = torch.cat([torch.ones(64, 1, dtype=torch.long), source[:, :-1]], dim=1)

    def loss():
        logits = model(source, keep_all(source), target_in)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), source.flatten())

    before = loss().item()
    for step in range(60):
        for group in adam.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 30)
        adam.zero_grad()
        value = loss()
        value.backward()
        adam.step()
    assert loss().item() < before / 2


def test_every_parameter_gets_a_gradient(micro):
    model = Transformer(replace(micro, tied="none", position="learned"))
    source = random_tokens(2, 5)
    model(source, keep_all(source), random_tokens(2, 4)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # a key's bias shifts all scores of a query equally, which softmax ignores
        assert name.endswith("key.bias") or parameter.grad.abs().sum() > 0, name

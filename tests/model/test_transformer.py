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


def tokens(*shape: int, vocab: int = 23) -> torch.Tensor:
    return torch.randint(3, vocab, shape)


def all_kept(source: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(source, dtype=torch.bool)


def test_a_later_token_changes_nothing_before_it(micro_model):
    source, target = tokens(2, 5), tokens(2, 6)
    logits = micro_model(source, all_kept(source), target)
    for position in range(1, 6):
        changed = target.clone()
        changed[:, position] = (changed[:, position] + 1) % 23
        after = micro_model(source, all_kept(source), changed)
        assert torch.equal(after[:, :position], logits[:, :position])  # not close: equal
        assert not torch.equal(after[:, position], logits[:, position])


@given(rows=st.integers(1, 4), source=st.integers(1, 8), target=st.integers(1, 8), seed=st.integers(0, 999))
@settings(max_examples=20)
@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
def test_step_by_step_equals_all_at_once(norm, rows, source, target, seed):
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
    ids, keep, target_in = tokens(rows, source), torch.rand(rows, source) > 0.3, tokens(rows, target)
    at_once = model(ids, keep, target_in)
    decoding = model.start_decoding(ids, keep)
    for i in range(target):
        logits, decoding = model.step(decoding, target_in[:, i])
        torch.testing.assert_close(logits, at_once[:, i], atol=1e-5, rtol=1e-5)


def test_padding_changes_nothing(micro_model):
    source, target = tokens(3, 5), tokens(3, 6)
    logits = micro_model(source, all_kept(source), target)
    wider = torch.cat([source, tokens(3, 4)], dim=1)
    keep = torch.cat([all_kept(source), torch.zeros(3, 4, dtype=torch.bool)], dim=1)
    longer = torch.cat([target, tokens(3, 3)], dim=1)
    torch.testing.assert_close(micro_model(wider, keep, longer)[:, :6], logits, atol=1e-5, rtol=1e-5)


def test_what_stands_in_the_padding_changes_nothing_at_all(micro_model):
    source, keep = tokens(2, 6), torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    other = torch.where(keep, source, (source + 5) % 23)
    target = tokens(2, 4)
    assert torch.equal(micro_model(source, keep, target), micro_model(other, keep, target))


def test_neighbours_in_the_batch_change_nothing(micro_model):
    source, target = tokens(4, 5), tokens(4, 6)
    together = micro_model(source, all_kept(source), target)
    for row in range(4):
        alone = micro_model(source[row : row + 1], all_kept(source)[:1], target[row : row + 1])
        torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("lengths", [((3, 4), (5, 2)), ((4, 3), (4, 3)), ((1, 1),), ((7, 2), (1, 9), (3, 3))])
def test_packed_sentences_equal_padded_ones(micro_model, lengths):
    """Pairs end to end in one row give what each gives by itself, and so do their gradients."""
    model = micro_model
    pairs = [(tokens(1, s), tokens(1, t)) for s, t in lengths]
    apart = torch.cat([model(source, all_kept(source), target)[0] for source, target in pairs])
    source, target = (torch.cat(side, dim=1) for side in zip(*pairs, strict=True))
    sources, targets = (make_packed_sequences([pair[side] for pair in lengths]) for side in (0, 1))
    together = model.output(model.packed(source, sources, target, targets))[0]
    torch.testing.assert_close(together, apart, atol=1e-5, rtol=1e-5)
    weights = list(model.parameters())
    of_apart, of_together = (torch.autograd.grad(out.square().sum(), weights) for out in (apart, together))
    for one, other in zip(of_apart, of_together, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_a_sentence_of_padding_alone_gives_finite_logits(micro_model):
    source = tokens(2, 4)
    keep = torch.tensor([[True] * 4, [False] * 4])
    assert micro_model(source, keep, tokens(2, 3)).isfinite().all()


@pytest.mark.parametrize("position", ["none", "paper", "tensor2tensor", "halves", "learned"])
def test_qian_kill_you_and_you_kill_qian_differ_only_by_position(micro, position):
    """T1 T2 T3 against T3 T2 T1, read at a class token in front: without positions, the same."""
    torch.manual_seed(0)
    model = Transformer(replace(micro, position=position)).eval()
    class_token, qian, kill, you = 3, 4, 5, 6
    both = torch.tensor([[class_token, qian, kill, you], [class_token, you, kill, qian]])
    one, other = model.encode(both, position_ids(both), NO_MASK)[:, 0]
    if position == "none":
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    else:
        assert (one - other).abs().max() > 1e-3


def test_without_positions_the_encoder_does_not_know_order(micro):
    torch.manual_seed(0)
    model = Transformer(replace(micro, position="none")).eval()
    source, order = tokens(1, 7), torch.randperm(7)
    straight = model.encode(source, position_ids(source), NO_MASK)
    mixed = model.encode(source[:, order], position_ids(source), NO_MASK)
    torch.testing.assert_close(mixed, straight[:, order], atol=1e-5, rtol=1e-5)


def test_one_token_has_one_embedding_and_as_many_meanings_as_contexts(micro_model):
    history, holiday = torch.tensor([[3, 9, 4]]), torch.tensor([[5, 9, 6]])
    inside = [micro_model.encode(s, position_ids(s), NO_MASK)[0, 1] for s in (history, holiday)]
    assert torch.equal(*(micro_model.source_embedding(s, position_ids(s))[0, 1] for s in (history, holiday)))
    assert (inside[0] - inside[1]).abs().max() > 1e-3


def test_every_decoder_layer_reads_the_last_encoder_layer(micro_model):
    encoded = torch.randn(1, 5, 16)
    past = micro_model.decoder.start(encoded)
    assert len(past) == micro_model.config.decoder_layers
    for layer, before in zip(micro_model.decoder.layers, past, strict=True):
        assert torch.equal(before.source.key, layer.cross_attention.remember(encoded).key)


def test_the_source_is_remembered_once_per_sentence(micro_model):
    counted = []
    for layer in micro_model.decoder.layers:
        layer.cross_attention.key.register_forward_hook(lambda *_: counted.append(1))
    source = tokens(2, 5)
    decoding = micro_model.start(source, all_kept(source))
    for _ in range(4):
        _, decoding = micro_model.step(decoding, tokens(2))
    assert len(counted) == micro_model.config.decoder_layers


@pytest.mark.parametrize("half", ["encoder", "decoder"])
def test_training_has_no_loop_over_time(micro_model, half):
    calls = []
    getattr(micro_model, half).layers[0].register_forward_hook(lambda *_: calls.append(1))
    for length in (2, 30):
        source = tokens(1, length)
        micro_model(source, all_kept(source), tokens(1, length))
    assert len(calls) == 2  # once per sentence, whatever its length


@pytest.mark.parametrize(("tied", "matrices"), [("all", 1), ("target", 2), ("none", 3)])
def test_embeddings_are_tied_as_asked(micro, tied, matrices):
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


def test_heads_start_different(micro):
    heads = Transformer(micro).encoder.layers[0].self_attention.query.weight.unflatten(0, (micro.heads, -1))
    assert all(not torch.equal(heads[i], heads[j]) for i in range(micro.heads) for j in range(i))


def test_settings_reach_every_place_they_are_for(micro):
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


def test_logits_are_the_last_layer_times_the_embeddings(micro_model):
    """Section 3.4: the output's matrix is the embeddings', so a token is likely when its vector is near."""
    source, target = tokens(1, 3), tokens(1, 2)
    visible = make_padding_mask(all_kept(source))
    encoded = micro_model.encode(source, position_ids(source), visible)
    decoded = micro_model.decode(target, position_ids(target), encoded, CAUSAL_MASK, visible)
    expected = decoded @ micro_model.source_embedding.tokens.weight.T
    torch.testing.assert_close(micro_model(source, all_kept(source), target), expected)


def test_selected_rows_go_on_as_if_they_had_been_alone(micro_model):
    source, keep = tokens(3, 5), torch.rand(3, 5) > 0.3
    first, then = tokens(3), tokens(2)
    _, decoding = micro_model.step(micro_model.start(source, keep), first)
    chosen = torch.tensor([2, 0])
    logits, _ = micro_model.step(decoding.select(chosen), then)
    _, alone = micro_model.step(micro_model.start(source[chosen], keep[chosen]), first[chosen])
    expected, _ = micro_model.step(alone, then)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


def test_rows_of_a_sentence_change_places_without_moving_the_source(micro_model):
    source, keep = tokens(2, 5), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    decoding = micro_model.start(source, keep).expand(3)
    first, then = tokens(6), tokens(6)
    _, grown = micro_model.step(decoding, first)
    rows = torch.tensor([2, 0, 0, 4, 5, 3])
    reordered = grown.reorder(rows)
    for before, after in zip(decoding.past, reordered.past, strict=True):
        assert after.source.key is before.source.key
    logits, _ = micro_model.step(reordered, then)
    copied = micro_model.start(source.repeat_interleave(3, 0), keep.repeat_interleave(3, 0))
    _, copied = micro_model.step(copied, first)
    expected, _ = micro_model.step(copied.select(rows), then)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    second, _ = micro_model.step(reordered.select(torch.tensor([1])), then[3:])
    torch.testing.assert_close(second, expected[3:], atol=1e-5, rtol=1e-5)


def test_bf16_agrees_with_fp32_to_its_own_precision(micro_model):
    source, target = tokens(2, 5), tokens(2, 6)
    exact = micro_model(source, all_kept(source), target)
    rough = micro_model.to(torch.bfloat16)(source, all_kept(source), target)
    assert rough.dtype == torch.bfloat16
    torch.testing.assert_close(rough.float(), exact, atol=0.2, rtol=0.1)


def test_left_padding_works_when_visibility_and_positions_say_so(micro_model):
    source = tokens(1, 4)
    shifted = torch.cat([tokens(1, 2), source], dim=1)
    keep = torch.tensor([[False] * 2 + [True] * 4])
    at = torch.tensor([[0, 0, 0, 1, 2, 3]])
    straight = micro_model.encode(source, position_ids(source), NO_MASK)
    padded_left = micro_model.encode(shifted, at, make_padding_mask(keep))[:, 2:]
    torch.testing.assert_close(padded_left, straight, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
def test_six_and_six_layers_learn(norm):
    """The depth of the paper, from our initialisation: a few steps must lower the loss a good deal."""
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=16, d_model=32, heads=4, d_ff=64, dropout=0.0, norm=norm, max_length=8)
    model = Transformer(config)
    adam = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
    source = tokens(64, 4, vocab=16)
    target_in = torch.cat([torch.ones(64, 1, dtype=torch.long), source[:, :-1]], dim=1)

    def loss():
        logits = model(source, all_kept(source), target_in)
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
    source = tokens(2, 5)
    model(source, all_kept(source), tokens(2, 4)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # a key's bias moves all of a query's scores alike, which softmax does not see
        assert name.endswith("key.bias") or parameter.grad.abs().sum() > 0, name

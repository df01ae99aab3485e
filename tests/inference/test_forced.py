from dataclasses import replace

import pytest
import torch

from oracles import log_probabilities
from regard.inference.alignment import pick_alignment_layer
from regard.inference.eager import EagerEngine
from regard.inference.forced import ForcedDecoder
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.text.tokenizer import BOS, EOS

PAIRS = [([5, 6, 7], [8, 9]), ([4], []), ([9, 9, 3, 11], [3, 4, 5, 6, 7])]


def test_forced_decoding_gives_the_log_probability_of_the_search(micro_model):
    sources = [source for source, _ in PAIRS]
    results = EagerEngine(micro_model).translate(sources, SearchConfig(n_best=2))
    for nth in range(2):
        decodings = ForcedDecoder(micro_model).force_decode(
            sources, [list(best[nth].tokens) for best in results]
        )
        for best, decoding in zip(results, decodings, strict=True):
            assert decoding.log_probability == pytest.approx(best[nth].log_probability, abs=1e-4)


def test_each_log_probability_equals_that_of_a_separate_forward_pass(micro_model):
    decodings = ForcedDecoder(micro_model).force_decode(*map(list, zip(*PAIRS, strict=True)))
    for (source, target), decoding in zip(PAIRS, decodings, strict=True):
        row = torch.tensor([[*source, EOS]])
        for at, token in enumerate([*target, EOS]):
            with torch.no_grad():
                logits = micro_model(row, row > 0, torch.tensor([[BOS, *target[:at]]]))[0, -1]
            expected = float(log_probabilities(logits)[token])
            assert decoding.log_probabilities[at] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
def test_attention_is_the_mean_over_the_heads_of_the_alignment_layer(micro, norm):
    torch.manual_seed(0)
    model = Transformer(replace(micro, norm=norm)).eval()
    weights = []
    layer = model.decoder.layers[pick_alignment_layer(2)].cross_attention
    hook = layer.register_forward_pre_hook(lambda module, inputs: weights.append(module.weights(*inputs)))
    source, target = PAIRS[2]
    (decoding,) = ForcedDecoder(model).force_decode([source], [target])
    hook.remove()
    assert torch.equal(weights[0][0].mean(dim=0), torch.tensor(decoding.attention))
    assert decoding.attention.shape == (len(target) + 1, len(source) + 1)
    assert decoding.attention.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_results_do_not_depend_on_the_batch(micro_model):
    engine = ForcedDecoder(micro_model)
    batch = engine.force_decode(*map(list, zip(*PAIRS, strict=True)))
    for (source, target), decoding in zip(PAIRS, batch, strict=True):
        (alone,) = engine.force_decode([source], [target])
        assert alone.log_probabilities == pytest.approx(decoding.log_probabilities, abs=1e-5)
        assert alone.attention == pytest.approx(decoding.attention, abs=1e-5)
    assert engine.force_decode([], []) == []


def test_the_alignment_layer_is_the_next_to_last_of_three_or_more():
    assert [pick_alignment_layer(layers) for layers in (1, 2, 3, 4, 6)] == [0, 1, 1, 2, 4]

from dataclasses import replace

import pytest
import torch

from regard.data.batch import pad_source
from regard.inference.eager import EagerEngine
from regard.inference.engine import Engine
from regard.inference.incremental import INITIAL_CAPACITY, IncrementalDecoder
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, Sampling, SearchConfig
from regard.search.constraints import Constraints
from regard.text.tokenizer import PAD

VARIANTS = [
    {},
    {"norm": "pre", "activation": "gelu", "tied": "none"},
    {"norm": "literal", "position": "learned", "tied": "target", "attention_scale": 0.3},
    {"d_k": 5, "position": "tensor2tensor"},
]


def make_model(micro, **changes):
    torch.manual_seed(0)
    model = Transformer(replace(micro, **changes)).eval()
    for parameter in model.parameters():  # so that a missing bias or norm changes the result
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def rows(count, longest=9):
    return [torch.randint(3, 23, (n,)).tolist() for n in torch.randint(1, longest, (count,)).tolist()]


def assert_equal_hypotheses(results, expected, tolerance=1e-4):
    for one, other in zip(results, expected, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        logs = ([each.log_probability for each in hypotheses] for hypotheses in (one, other))
        torch.testing.assert_close(*map(torch.tensor, logs), rtol=tolerance, atol=tolerance)


def test_the_eager_engine_accepts_an_incremental_decoder(micro_model):
    assert isinstance(EagerEngine(IncrementalDecoder(micro_model, "fp32")), Engine)


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("config", [GREEDY_SEARCH, replace(PAPER_SEARCH, n_best=4)])
def test_it_gives_the_same_hypotheses_as_the_model(micro, changes, config):
    model = make_model(micro, **changes)
    sources = rows(7)
    with torch.no_grad():
        results = EagerEngine(IncrementalDecoder(model, "fp32")).translate(sources, config)
    assert_equal_hypotheses(results, EagerEngine(model).translate(sources, config))


def test_the_kv_cache_grows_when_it_is_full(micro):
    model = make_model(micro, max_length=100)
    config = SearchConfig(beam=3, min_length=2 * INITIAL_CAPACITY + 5, max_length=2 * INITIAL_CAPACITY + 5)
    sources = rows(2)
    assert_equal_hypotheses(
        EagerEngine(IncrementalDecoder(model, "fp32")).translate(sources, config),
        EagerEngine(model).translate(sources, config),
    )


def test_constraints_and_sampling_give_the_same_hypotheses_as_the_model(micro_model):
    sources = rows(3)
    constraints = [
        Constraints(prefix=(5, 6)),
        Constraints(required=(((7, 8),),)),
        Constraints(forbidden=((9,),)),
    ]
    incremental, plain = EagerEngine(IncrementalDecoder(micro_model, "fp32")), EagerEngine(micro_model)
    sampled = SearchConfig(sampling=Sampling(seed=3), n_best=2)
    for config, obeyed in ((PAPER_SEARCH, constraints), (sampled, None)):
        results = incremental.translate(sources, config, obeyed)
        assert_equal_hypotheses(results, plain.translate(sources, config, obeyed))


@pytest.mark.parametrize(("precision", "tolerance"), [("bf16", 0.3), ("int8", 0.3)])
def test_lower_precision_changes_logits_little(micro_model, precision, tolerance):
    source = torch.tensor([[*row, *[0] * (9 - len(row))] for row in rows(4)])
    token = torch.tensor([5, 6, 7, 8])
    with torch.inference_mode():
        exact = micro_model.step(micro_model.start_decoding(source, source > 0), token)[0]
        decoder = IncrementalDecoder(micro_model, precision)
        logits = decoder.step(decoder.start_decoding(source, source > 0), token)[0]
    assert (logits.float() - exact).abs().max() < tolerance * exact.std()


def test_int8_results_do_not_depend_on_the_batch(micro_model):
    sources, engine = rows(6), EagerEngine(IncrementalDecoder(micro_model, "int8"))
    batch = engine.translate(sources, PAPER_SEARCH)
    assert_equal_hypotheses([engine.translate([row], PAPER_SEARCH)[0] for row in sources], batch)


def test_tokens_hidden_inside_a_source_are_not_attended_to(micro):
    """Padding between tokens hides one and leaves the positions of the others as they are."""
    model = make_model(micro)
    sources = [[5, PAD, 7, 8, PAD, 9], [PAD, 4], [6, 7, 8]]
    decoder = EagerEngine(IncrementalDecoder(model, "fp32"))
    assert_equal_hypotheses(decoder.translate(sources), EagerEngine(model).translate(sources))
    state = IncrementalDecoder(model, "fp32").start_decoding(pad_source(sources), pad_source(sources) != PAD)
    assert state.source_lengths.tolist() == [5, 2, 4]
    assert (state.source_mask[0, 0, 0] == 0).tolist() == [True] * 5 + [False] * 2

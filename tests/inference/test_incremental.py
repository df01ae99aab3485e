from dataclasses import replace

import pytest
import torch

from regard.inference.eager import EagerEngine
from regard.inference.engine import Engine
from regard.inference.incremental import INITIAL_CAPACITY, IncrementalDecoder
from regard.model.transformer import Transformer
from regard.search.config import GREEDY_SEARCH, PAPER_SEARCH, Sampling, SearchConfig
from regard.search.constraints import Constraints

VARIANTS = [
    {},
    {"norm": "pre", "activation": "gelu", "tied": "none"},
    {"norm": "literal", "position": "learned", "tied": "target", "attention_scale": 0.3},
    {"d_k": 5, "position": "tensor2tensor"},
]


def model_of(micro, **changes):
    torch.manual_seed(0)
    model = Transformer(replace(micro, **changes)).eval()
    for parameter in model.parameters():  # biases and norms that would show if they were left out
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def rows(count, longest=9):
    return [torch.randint(3, 23, (n,)).tolist() for n in torch.randint(1, longest, (count,)).tolist()]


def same(found, expected, off=1e-4):
    for one, other in zip(found, expected, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        logs = ([each.log_probability for each in some] for some in (one, other))
        torch.testing.assert_close(*map(torch.tensor, logs), rtol=off, atol=off)


def test_it_is_searched_by_an_engine(micro_model):
    assert isinstance(EagerEngine(IncrementalDecoder(micro_model, "fp32")), Engine)


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("config", [GREEDY_SEARCH, replace(PAPER_SEARCH, n_best=4)])
def test_it_answers_as_the_model_does(micro, changes, config):
    model = model_of(micro, **changes)
    sources = rows(7)
    with torch.no_grad():
        lean = EagerEngine(IncrementalDecoder(model, "fp32")).translate(sources, config)
    same(lean, EagerEngine(model).translate(sources, config))


def test_it_goes_on_where_the_first_room_is_full(micro):
    model = model_of(micro, max_length=100)
    config = SearchConfig(beam=3, min_length=2 * INITIAL_CAPACITY + 5, max_length=2 * INITIAL_CAPACITY + 5)
    sources = rows(2)
    same(
        EagerEngine(IncrementalDecoder(model, "fp32")).translate(sources, config),
        EagerEngine(model).translate(sources, config),
    )


def test_wishes_and_chance_are_the_same_to_it(micro_model):
    sources = rows(3)
    wishes = [Constraints(prefix=(5, 6)), Constraints(required=(((7, 8),),)), Constraints(forbidden=((9,),))]
    lean, plain = EagerEngine(IncrementalDecoder(micro_model, "fp32")), EagerEngine(micro_model)
    same(lean.translate(sources, PAPER_SEARCH, wishes), plain.translate(sources, PAPER_SEARCH, wishes))
    drawn = SearchConfig(sampling=Sampling(seed=3), n_best=2)
    same(lean.translate(sources, drawn), plain.translate(sources, drawn))


@pytest.mark.parametrize(("precision", "off"), [("bf16", 0.3), ("int8", 0.3)])
def test_fewer_bits_cost_little(micro_model, precision, off):
    source = torch.tensor([[*row, *[0] * (9 - len(row))] for row in rows(4)])
    token = torch.tensor([5, 6, 7, 8])
    with torch.inference_mode():
        exact = micro_model.step(micro_model.start(source, source > 0), token)[0]
        lean = IncrementalDecoder(micro_model, precision)
        found = lean.step(lean.start_decoding(source, source > 0), token)[0]
    assert (found.float() - exact).abs().max() < off * exact.std()


def test_bytes_give_a_sentence_the_same_answer_whatever_is_beside_it(micro_model):
    sources, engine = rows(6), EagerEngine(IncrementalDecoder(micro_model, "int8"))
    together = engine.translate(sources, PAPER_SEARCH)
    same([engine.translate([row], PAPER_SEARCH)[0] for row in sources], together)

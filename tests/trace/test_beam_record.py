import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from numeric_tokens import NumericTokenRenderer
from regard.inference.eager import EagerEngine
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import length_penalty
from regard.text.tokenizer import EOS
from regard.trace.beam_record import divergence_index, search_with_record

from conftest import MICRO  # isort: skip


def run_search(model, source, limit=12, prefix=(), **search_settings):
    rows = torch.tensor([[*source, EOS]])
    return search_with_record(
        model, rows, rows > 0, limit, prefix, SearchConfig(**search_settings), NumericTokenRenderer()
    )


def token_chain(beam, node):
    tokens = []
    while node is not None:
        tokens.append(beam.nodes[node].token)
        node = beam.nodes[node].parent
    return tuple(tokens[::-1])


@settings(max_examples=12)
@given(
    st.lists(st.integers(3, 22), min_size=1, max_size=6),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.6, 1.5]),
    st.lists(st.integers(3, 22), max_size=3),
    st.integers(0, 9),
)
def test_node_scores_add_up_and_the_best_node_is_the_translation(source, size, alpha, prefix, seed):
    torch.manual_seed(seed)
    model = Transformer(MICRO).eval()
    best, beam = run_search(model, source, 9, prefix, beam=size, alpha=alpha)
    engine = EagerEngine(model)
    config = SearchConfig(size, alpha, max_length=9)
    ((expected,),) = engine.translate([source], config, [Constraints(tuple(prefix))] if prefix else None)
    assert best.tokens == expected.tokens
    winner = beam.nodes[beam.finished[0].node]
    assert token_chain(beam, winner.id) == (*best.tokens, EOS)
    assert winner.sum == pytest.approx(best.log_probability, abs=1e-5)
    assert winner.score == best.score
    for number, node in enumerate(beam.nodes):
        assert node.id == number
        before = 0.0 if node.parent is None else beam.nodes[node.parent].sum
        assert node.sum == pytest.approx(before + node.logprob, abs=1e-5)
        assert node.score == pytest.approx(node.sum / length_penalty(node.t + 1, alpha), abs=1e-5)
        assert node.t == (0 if node.parent is None else beam.nodes[node.parent].t + 1)
        assert node.parent is None or beam.nodes[node.parent].state == "kept"
        assert (node.state == "finished") == (node.token == EOS and node.state != "pruned")
    for t in range(1 + max(node.t for node in beam.nodes)):
        step = [node for node in beam.nodes if node.t == t]
        assert [node.rank for node in step] == list(range(len(step)))
        assert [node.sum for node in step] == sorted((node.sum for node in step), reverse=True)
        assert sum(node.state != "pruned" for node in step) <= size
        assert sum(node.state == "pruned" for node in step) <= size


def test_finished_hypotheses_are_sorted_best_first(micro_model):
    _, beam = run_search(micro_model, [5, 6, 7])
    scores = [beam.nodes[each.node].score for each in beam.finished]
    assert scores == sorted(scores, reverse=True)
    assert [each.rank for each in beam.finished] == list(range(len(scores)))


def test_prefix_tokens_are_the_only_nodes_of_their_steps(micro_model):
    best, beam = run_search(micro_model, [5, 6, 7], prefix=(8, 9))
    assert best.tokens[:2] == (8, 9)
    assert [(node.token, node.state) for node in beam.nodes if node.t < 2] == [(8, "kept"), (9, "kept")]
    assert len([node for node in beam.nodes if node.t == 2]) == 8


def test_the_greedy_result_is_that_of_greedy_search(micro_model):
    for source in ([5, 6, 7], [4], [9, 9, 3, 11]):
        best, beam = run_search(micro_model, source)
        ((greedy,),) = EagerEngine(micro_model).translate([source], SearchConfig(1, max_length=12))
        assert beam.greedy.tokens == greedy.tokens
        assert beam.greedy.score == pytest.approx(greedy.score, abs=1e-6)
        assert (beam.greedy.diverges_at is None) == (greedy.tokens == best.tokens)


@pytest.mark.parametrize(
    ("hypothesis", "winner", "index"),
    [((4, 5), (4, 5), None), ((4, 6), (4, 5), 1), ((4,), (4, 5), 1), ((), (4,), 0), ((4, 5, 6), (4, 5), 2)],
)
def test_divergence_is_at_the_first_token_that_differs(hypothesis, winner, index):
    assert divergence_index(hypothesis, winner) == index

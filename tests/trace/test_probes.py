import numpy as np
import pytest
import torch

from regard.errors import DataError
from regard.trace.interventions import RemovePositions
from regard.trace.probes import nearest_neighbours, reverse_word_order, sinusoid_tables


def test_neighbours_are_sorted_by_cosine_without_the_word_itself(tokenizer):
    torch.manual_seed(0)
    table = torch.randn(tokenizer.vocab_size, 8)
    (the,), (dog,) = tokenizer.tokenize(["the", "dog"])
    table[dog] = 3 * table[the] + 0.01
    table[0] = table[300 - 260] = table[the]  # special and byte tokens are left out
    neighbours = nearest_neighbours(table, tokenizer, " the ", 4)
    assert neighbours[0].id == dog
    assert neighbours[0].piece == "▁dog"
    assert neighbours[0].cosine == pytest.approx(1.0, abs=1e-2)
    assert [each.cosine for each in neighbours] == sorted((each.cosine for each in neighbours), reverse=True)
    assert all(each.id >= 259 and each.id != the for each in neighbours)
    everything = nearest_neighbours(table, tokenizer, "the", 10_000)
    assert len(everything) == tokenizer.vocab_size - 260


def test_a_word_of_several_tokens_is_their_mean(tokenizer):
    table = torch.eye(tokenizer.vocab_size)
    tokens = tokenizer.tokenize(["thedog"])[0]
    assert len(tokens) > 1
    cosines = {each.id: each.cosine for each in nearest_neighbours(table, tokenizer, "thedog", 10_000)}
    assert set(tokens).isdisjoint(cosines)
    assert set(cosines.values()) == {0.0}
    with pytest.raises(DataError, match="blank"):
        nearest_neighbours(table, tokenizer, " ")


def test_one_word_has_one_embedding_and_a_vector_per_context(tracer):
    comparison = tracer.compare_contexts("dog", "the dog sings.", "a cat sees the dog")
    assert comparison.embedding == pytest.approx(1.0, abs=1e-6)
    assert comparison.positions == (1, 4)
    assert comparison.points == ("embed", "1.self", "1.ffn", "2.self", "2.ffn")
    assert comparison.encoded == pytest.approx(comparison.cosines[-1])  # post-norm: nothing follows
    assert all(cosine < 0.9999 for cosine in comparison.cosines)
    same = tracer.compare_contexts("dog", "the dog sings.", "the dog sings.")
    assert same.cosines == pytest.approx([1.0] * 5, abs=1e-5)
    with pytest.raises(DataError, match="'bird' is not in both sentences"):
        tracer.compare_contexts("bird", "the dog sings.", "a bird")


def test_neighbours_are_found_on_both_sides(tracer):
    assert len(tracer.nearest_tokens("dog", 3)) == 3
    assert tracer.nearest_tokens("dog", 3, "target") == tracer.nearest_tokens("dog", 3)  # one matrix for both


def test_the_three_position_layouts_differ():
    tables = sinusoid_tables(20, 512)
    assert set(tables) == {"paper", "tensor2tensor", "halves"}
    assert {table.shape for table in tables.values()} == {(20, 512)}
    assert np.allclose(tables["paper"][:, 0::2], tables["halves"][:, :256], atol=1e-6)
    assert not np.allclose(tables["tensor2tensor"], tables["halves"], atol=1e-3)


def test_position_survival_is_measured_at_every_point(tracer):
    trace = tracer.trace(tracer.build_request("the cat sees the dog", target="a dog"))
    survival = tracer.measure_position_survival(trace)
    for stack, measured in survival.items():
        assert measured.points == trace.residual[stack].points
        assert measured.cosine.shape == measured.projection.shape == trace.residual[stack].stream.shape
        assert np.abs(measured.cosine).max() <= 1 + 1e-5
    trace_without_positions = tracer.trace(
        tracer.build_request("the cat sees the dog", target="a dog", interventions=[RemovePositions()])
    )
    without = tracer.measure_position_survival(trace_without_positions)["encoder"]
    assert survival["encoder"].projection[0] - without.projection[0] == pytest.approx(1.0, abs=1e-5)
    assert tracer.position_table(7) == pytest.approx(sinusoid_tables(7, 16)["paper"])


def test_with_zero_embeddings_only_positions_are_left(tracer, model):
    with torch.no_grad():
        model.source_embedding.tokens.weight.zero_()
    survival = tracer.measure_position_survival(
        tracer.trace(tracer.build_request("the cat sees", target="a"))
    )["encoder"]
    assert survival.cosine[0] == pytest.approx(1.0, abs=1e-5)
    assert survival.projection[0] == pytest.approx(1.0, abs=1e-5)


def test_word_order_is_reversed_and_token_order_inside_words_is_not():
    assert reverse_word_order([0, 0, 1, 2, 2, None]) == [3, 4, 2, 0, 1, 5]


def test_without_positions_word_order_does_not_matter(tracer):
    comparison = tracer.compare_word_orders("Qian kill you")
    assert comparison["texts"] == ["Qian kill you", "you kill Qian"]
    words, reversed_words = comparison["orders"]
    assert sorted(words) == sorted(reversed_words)
    assert words != reversed_words
    without = comparison["without"]
    assert max(*without["words"], without["mean"], without["probability"]) < 1e-5
    assert without["first"][0]["text"] == without["first"][1]["text"]


def test_with_positions_word_order_changes_every_word(tracer):
    comparison = tracer.compare_word_orders("the cat sees the dog")["with"]
    assert comparison["mean"] > 1e-3
    assert min(comparison["words"]) > 1e-3

import numpy as np
import pytest
import torch

from regard.errors import DataError
from regard.trace.interventions import RemovePositions
from regard.trace.probes import nearest_neighbours, reverse_word_order, sinusoid_tables


def test_the_nearest_pieces_come_first_and_not_the_word_itself(tokenizer):
    torch.manual_seed(0)
    table = torch.randn(tokenizer.vocab_size, 8)
    (the,), (dog,) = tokenizer.tokenize(["the", "dog"])
    table[dog] = 3 * table[the] + 0.01
    table[0] = table[300 - 260] = table[the]  # marks and bytes are no words
    found = nearest_neighbours(table, tokenizer, " the ", 4)
    assert found[0].id == dog
    assert found[0].piece == "▁dog"
    assert found[0].cosine == pytest.approx(1.0, abs=1e-2)
    assert [each.cosine for each in found] == sorted((each.cosine for each in found), reverse=True)
    assert all(each.id >= 259 and each.id != the for each in found)
    everything = nearest_neighbours(table, tokenizer, "the", 10_000)
    assert len(everything) == tokenizer.vocab_size - 260


def test_a_word_of_several_pieces_is_their_mean(tokenizer):
    table = torch.eye(tokenizer.vocab_size)
    pieces = tokenizer.tokenize(["thedog"])[0]
    assert len(pieces) > 1
    near = {each.id: each.cosine for each in nearest_neighbours(table, tokenizer, "thedog", 10_000)}
    assert set(pieces).isdisjoint(near)
    assert set(near.values()) == {0.0}
    with pytest.raises(DataError, match="blank"):
        nearest_neighbours(table, tokenizer, " ")


def test_one_word_has_one_row_and_as_many_vectors_as_contexts(tracer):
    found = tracer.compare_contexts("dog", "the dog sings.", "a cat sees the dog")
    assert found.embedding == pytest.approx(1.0, abs=1e-6)
    assert found.positions == (1, 4)
    assert found.points == ("embed", "1.self", "1.ffn", "2.self", "2.ffn")
    assert found.encoded == pytest.approx(found.cosines[-1])  # post-norm: nothing follows
    assert all(cosine < 0.9999 for cosine in found.cosines)
    alike = tracer.compare_contexts("dog", "the dog sings.", "the dog sings.")
    assert alike.cosines == pytest.approx([1.0] * 5, abs=1e-5)
    with pytest.raises(DataError, match="'bird' is not in both sentences"):
        tracer.compare_contexts("bird", "the dog sings.", "a bird")


def test_neighbours_are_asked_of_either_side(tracer):
    assert len(tracer.nearest_tokens("dog", 3)) == 3
    assert tracer.nearest_tokens("dog", 3, "target") == tracer.nearest_tokens("dog", 3)  # one matrix for both


def test_all_layouts_are_there_and_differ():
    found = sinusoid_tables(20, 512)
    assert set(found) == {"paper", "tensor2tensor", "halves"}
    assert {table.shape for table in found.values()} == {(20, 512)}
    assert np.allclose(found["paper"][:, 0::2], found["halves"][:, :256], atol=1e-6)
    assert not np.allclose(found["tensor2tensor"], found["halves"], atol=1e-3)


def test_how_much_is_left_is_told_point_by_point(tracer):
    trace = tracer.trace(tracer.build_request("the cat sees the dog", target="a dog"))
    found = tracer.measure_position_survival(trace)
    for stack, left in found.items():
        assert left.points == trace.residual[stack].points
        assert left.cosine.shape == left.projection.shape == trace.residual[stack].stream.shape
        assert np.abs(left.cosine).max() <= 1 + 1e-5
    off = tracer.trace(
        tracer.build_request("the cat sees the dog", target="a dog", interventions=[RemovePositions()])
    )
    without = tracer.measure_position_survival(off)["encoder"]
    assert found["encoder"].projection[0] - without.projection[0] == pytest.approx(1.0, abs=1e-5)
    assert tracer.position_table(7) == pytest.approx(sinusoid_tables(7, 16)["paper"])


def test_without_words_all_that_is_embedded_is_position(tracer, model):
    with torch.no_grad():
        model.source_embedding.tokens.weight.zero_()
    found = tracer.measure_position_survival(tracer.trace(tracer.build_request("the cat sees", target="a")))["encoder"]
    assert found.cosine[0] == pytest.approx(1.0, abs=1e-5)
    assert found.projection[0] == pytest.approx(1.0, abs=1e-5)


def test_words_are_reversed_and_their_tokens_are_not():
    assert reverse_word_order([0, 0, 1, 2, 2, None]) == [3, 4, 2, 0, 1, 5]


def test_without_positions_the_order_of_the_words_changes_nothing(tracer):
    found = tracer.compare_word_orders("Qian kill you")
    assert found["texts"] == ["Qian kill you", "you kill Qian"]
    words, turned = found["orders"]
    assert sorted(words) == sorted(turned)
    assert words != turned
    without = found["without"]
    assert max(*without["words"], without["mean"], without["probability"]) < 1e-5
    assert without["first"][0]["text"] == without["first"][1]["text"]


def test_with_positions_it_changes_every_word(tracer):
    found = tracer.compare_word_orders("the cat sees the dog")["with"]
    assert found["mean"] > 1e-3
    assert min(found["words"]) > 1e-3

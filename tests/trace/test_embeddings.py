import pytest
import torch

from regard.errors import DataError
from regard.trace.embeddings import neighbours


def test_the_nearest_pieces_come_first_and_not_the_word_itself(tokenizer):
    torch.manual_seed(0)
    table = torch.randn(tokenizer.vocab_size, 8)
    (the,), (dog,) = tokenizer.tokenize(["the", "dog"])
    table[dog] = 3 * table[the] + 0.01
    table[0] = table[300 - 260] = table[the]  # marks and bytes are no words
    found = neighbours(table, tokenizer, " the ", 4)
    assert found[0].id == dog
    assert found[0].piece == "▁dog"
    assert found[0].cosine == pytest.approx(1.0, abs=1e-2)
    assert [each.cosine for each in found] == sorted((each.cosine for each in found), reverse=True)
    assert all(each.id >= 259 and each.id != the for each in found)
    everything = neighbours(table, tokenizer, "the", 10_000)
    assert len(everything) == tokenizer.vocab_size - 260


def test_a_word_of_several_pieces_is_their_mean(tokenizer):
    table = torch.eye(tokenizer.vocab_size)
    pieces = tokenizer.tokenize(["thedog"])[0]
    assert len(pieces) > 1
    near = {each.id: each.cosine for each in neighbours(table, tokenizer, "thedog", 10_000)}
    assert set(pieces).isdisjoint(near)
    assert set(near.values()) == {0.0}
    with pytest.raises(DataError, match="blank"):
        neighbours(table, tokenizer, " ")


def test_one_word_has_one_row_and_as_many_vectors_as_contexts(tracer):
    found = tracer.in_two_contexts("dog", "the dog sings.", "a cat sees the dog")
    assert found.embedding == pytest.approx(1.0, abs=1e-6)
    assert found.places == (1, 4)
    assert found.points == ("embed", "1.self", "1.ffn", "2.self", "2.ffn")
    assert found.encoded == pytest.approx(found.cosines[-1])  # post-norm: nothing follows
    assert all(cosine < 0.9999 for cosine in found.cosines)
    alike = tracer.in_two_contexts("dog", "the dog sings.", "the dog sings.")
    assert alike.cosines == pytest.approx([1.0] * 5, abs=1e-5)
    with pytest.raises(DataError, match="'bird' is not in both sentences"):
        tracer.in_two_contexts("bird", "the dog sings.", "a bird")


def test_neighbours_are_asked_of_either_side(tracer):
    assert len(tracer.neighbours("dog", 3)) == 3
    assert tracer.neighbours("dog", 3, "target") == tracer.neighbours("dog", 3)  # one matrix for both

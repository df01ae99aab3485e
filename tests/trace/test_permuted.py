"""The order of words: without positions nothing can tell it."""

from regard.trace.permuted import reversed_words


def test_words_are_reversed_and_their_tokens_are_not():
    assert reversed_words([0, 0, 1, 2, 2, None]) == [3, 4, 2, 0, 1, 5]


def test_without_positions_the_order_of_the_words_changes_nothing(tracer):
    found = tracer.permuted("Qian kill you")
    assert found["texts"] == ["Qian kill you", "you kill Qian"]
    words, turned = found["orders"]
    assert sorted(words) == sorted(turned)
    assert words != turned
    without = found["without"]
    assert max(*without["words"], without["mean"], without["probability"]) < 1e-5
    assert without["first"][0]["text"] == without["first"][1]["text"]


def test_with_positions_it_changes_every_word(tracer):
    found = tracer.permuted("the cat sees the dog")["with"]
    assert found["mean"] > 1e-3
    assert min(found["words"]) > 1e-3

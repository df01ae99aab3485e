from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from regard.text.bpe import pretokenize
from regard.text.tokenizer import learn_tokenizer

TOKENIZER = learn_tokenizer(["the cat sees the dog.", "l'été 1984"] * 5, 300)


def test_a_text_is_cut_before_words_digits_and_signs():
    words = pretokenize(TOKENIZER, ["the cat, 42", "", "the"])
    rows = [[words.words[k] for k in words.word_ids[a:b]] for a, b in pairwise(words.starts)]
    assert rows == [[" the", " cat", ",", " 4", "2"], [], [" the"]]


def test_each_word_is_there_once():
    words = pretokenize(TOKENIZER, ["the cat the cat the"] * 3)
    assert sorted(words.words) == [" cat", " the"]
    assert len(words.word_ids) == 15


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=4))
def test_words_end_to_end_are_the_text_as_the_tokenizer_spells_it(texts):
    words = pretokenize(TOKENIZER, texts)
    for text, (start, end) in zip(texts, pairwise(words.starts), strict=True):
        whole = "".join(words.words[k] for k in words.word_ids[start:end])
        assert whole.removeprefix(" ") == TOKENIZER.detokenize(TOKENIZER.tokenize([text]))[0]

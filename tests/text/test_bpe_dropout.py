import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.bpe_dropout import BPEDropoutSampler
from regard.text.tokenizer import learn_tokenizer

TEXTS = [
    "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    "Two young, White males are outside near many bushes.",
    "Un jeune homme en maillot bleu se tient sur une échelle.",
    "A little girl climbing into a wooden playhouse.",
] * 10
ODD = [
    "",
    " ",
    "  two  spaces ",
    "\ttab\n",
    "<pad></s><0x41>",
    "🎉 e\u0301 \u2028",
    "a\0b",
    "你好，世界。",
    "x" * 500,
]
TOKENIZER = learn_tokenizer(TEXTS, 600)


def test_without_dropout_the_ids_are_those_of_the_tokenizer():
    texts = [*TEXTS, *ODD]
    assert BPEDropoutSampler(TOKENIZER, 0.0, seed=1).tokenize(texts, variant=3) == TOKENIZER.tokenize(texts)


def test_with_dropout_1_every_token_is_a_character_or_a_byte():
    rows = BPEDropoutSampler(TOKENIZER, 1.0, seed=1).tokenize(["Männer 🎉"], variant=0)
    tokens = [TOKENIZER.id_to_token(id) for id in rows[0]]
    assert tokens == [" ", *"Männer", " ", "<0xF0>", "<0x9F>", "<0x8E>", "<0x89>"]


def is_same_text(texts, dropout):
    rows = BPEDropoutSampler(TOKENIZER, dropout, seed=1).tokenize(texts, variant=0)
    return TOKENIZER.detokenize(rows) == [unicodedata.normalize("NFC", text) for text in texts]


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=3))
def test_any_text_comes_back_from_every_tokenization(texts):
    assert is_same_text(texts, dropout=0.5)


@pytest.mark.parametrize("dropout", [0.1, 0.9, 1.0])
def test_odd_text_comes_back_from_every_tokenization(dropout):
    assert is_same_text([*ODD, *TEXTS[:4]], dropout)


def test_a_merge_is_dropped_with_the_given_probability():
    """Two letters and one merge between them: the word stays split with probability p."""
    tokenizer = learn_tokenizer(["a b"] * 9, 300)  # the only merges are " a" and " b"
    rows = BPEDropoutSampler(tokenizer, 0.3, seed=1).tokenize(["a"] * 200, variant=0)
    assert {len(row) for row in rows} == {1, 2}
    dropped = sum(
        len(BPEDropoutSampler(tokenizer, 0.3, seed).tokenize(["a"], variant)[0]) == 2
        for seed in range(10)
        for variant in range(40)
    )
    assert 0.24 < dropped / 400 < 0.36  # two and a half standard deviations


def test_occurrences_of_a_word_differ_and_so_do_variants_and_seeds():
    def sample(seed, variant):
        return BPEDropoutSampler(TOKENIZER, 0.3, seed).tokenize(["Männer"] * 50, variant)

    assert 2 < len(Counter(map(tuple, sample(1, 0)))) <= 8
    assert sample(1, 0) == sample(1, 0)
    assert sample(1, 0) != sample(1, 1)
    assert sample(1, 0) != sample(2, 0)


def test_a_corpus_may_be_tokenized_in_chunks():
    sampler = BPEDropoutSampler(TOKENIZER, 0.2, seed=1)
    whole = sampler.tokenize(TEXTS, variant=2)
    assert sampler.tokenize(TEXTS[:7], 2) + sampler.tokenize(TEXTS[7:], 2, first_index=7) == whole


def test_another_process_draws_the_same_tokens(tmp_path):
    TOKENIZER.save(tmp_path / "tokenizer.json")
    program = (
        "import sys; from pathlib import Path\n"
        "from regard.text.bpe_dropout import BPEDropoutSampler\n"
        "from regard.text.tokenizer_file import load_tokenizer\n"
        "tokenizer = load_tokenizer(Path(sys.argv[1]))\n"
        "print(BPEDropoutSampler(tokenizer, 0.2, 1).tokenize(sys.argv[2:], 4))"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "tokenizer.json"), *TEXTS[:3]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == str(BPEDropoutSampler(TOKENIZER, 0.2, 1).tokenize(TEXTS[:3], 4))


def test_drawn_tokens_stay_the_same_from_version_to_version():
    """A run that is resumed after an upgrade must see the same ids."""
    tokenizer = learn_tokenizer(["banana ananas"] * 9, 300)
    rows = BPEDropoutSampler(tokenizer, 0.5, seed=1).tokenize(["banana ananas"] * 3, variant=0)
    assert ["|".join(tokenizer.id_to_token(id) for id in row) for row in rows] == [
        " |b|a|n|a|n|a| |an|an|a|s",
        " b|an|a|n|a| |a|n|a|n|a|s",
        " b|a|n|an|a| |ana|n|a|s",
    ]


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_empty_texts_have_no_ids(texts):
    assert BPEDropoutSampler(TOKENIZER, 0.1, seed=1).tokenize(texts, 0) == [[] for _ in texts]

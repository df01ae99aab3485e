import hashlib

import pytest

from regard.errors import DataError
from regard.text.corpus import Corpus, hold_out, read_corpus, read_texts, split_lines


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\u2028b\u2029c\u0085d\n".encode(), ["a\u2028b\u2029c\u0085d"]),
        (b"a\x0bb\x0cc\x1cd\x1de\x1e\n", ["a\x0bb\x0cc\x1cd\x1de\x1e"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b"\n", [""]),
        (b"", []),
    ],
)
def test_a_line_is_what_lies_between_newline_bytes(content, lines):
    assert split_lines(content, "x") == lines


def test_invalid_utf8_is_named_by_file_line_and_byte(tmp_path):
    path = written(tmp_path / "bad.en", b"fine\nno\xfft\n")
    with pytest.raises(DataError, match=r"bad.en line 2 is not UTF-8 \(byte 3 is 0xff\)"):
        read_corpus(path, path)


def test_missing_empty_and_folder_are_told_apart(tmp_path):
    with pytest.raises(DataError, match="none.en does not exist"):
        read_texts(tmp_path / "none.en")
    with pytest.raises(DataError, match="is empty"):
        read_texts(written(tmp_path / "empty.en", b""))
    with pytest.raises(DataError, match="is a folder"):
        read_texts(tmp_path)


def test_files_of_different_length_are_refused_with_both_counts(tmp_path):
    source, target = written(tmp_path / "s", "a\nb\nc\n"), written(tmp_path / "t", "a\nb\n")
    with pytest.raises(DataError, match="s has 3 lines and .*t 2; the two sides must pair line by line"):
        read_corpus(source, target)


def test_blank_sides_are_left_out_pairwise_and_counted(tmp_path):
    source, target = written(tmp_path / "s", "a\n \nc\nd\n"), written(tmp_path / "t", "A\nB\n\n D \n")
    corpus = read_corpus(source, target)
    assert (corpus.source, corpus.target) == (["a", "d"], ["A", "D"])
    assert corpus.left_out == {"with a blank side": 2}


def test_a_corpus_knows_the_files_it_was_read_from(tmp_path):
    source, target = written(tmp_path / "s", "a\n"), written(tmp_path / "t", "b\n")
    digest = hashlib.sha256(b"a\n").hexdigest()
    assert read_corpus(source, target).files[str(source)] == digest


def test_two_spellings_of_one_sentence_are_one(tmp_path):
    source = written(tmp_path / "s", "e\u0301t\u00e9\n\u00e9te\u0301\n")
    assert len(set(read_corpus(source, source).source)) == 1


def test_a_corpus_of_blanks_is_refused(tmp_path):
    path = written(tmp_path / "s", "\n\n")
    with pytest.raises(DataError, match="no pair with text on both sides"):
        read_corpus(path, path)


def test_what_is_held_out_shares_no_sentence_with_what_stays():
    corpus = Corpus([f"s{i % 40}" for i in range(100)], [f"t{i % 55}" for i in range(100)])
    rest, held = hold_out(corpus, 10, seed=3)
    assert len(held) == 10
    assert len(rest) > 0
    assert rest.left_out == {"sharing a sentence with the held-out part": 100 - 10 - len(rest)}
    assert not set(rest.source) & set(held.source)
    assert not set(rest.target) & set(held.target)


def test_sentences_that_nobody_shares_are_held_out_first():
    common = 90
    corpus = Corpus(
        ["hello"] * common + [f"s{i}" for i in range(10)], ["salut"] * common + [f"t{i}" for i in range(10)]
    )
    rest, held = hold_out(corpus, 5, seed=3)
    assert "hello" not in held.source
    assert len(rest) == 95


def test_holding_out_is_the_same_for_the_same_seed():
    corpus = Corpus([f"s{i}" for i in range(50)], [f"t{i}" for i in range(50)])
    assert hold_out(corpus, 5, seed=1) == hold_out(corpus, 5, seed=1)
    assert hold_out(corpus, 5, seed=1) != hold_out(corpus, 5, seed=2)

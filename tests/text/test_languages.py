import pytest

from regard.text.languages import language_of_file_name


@pytest.mark.parametrize(
    ("files", "language"),
    [
        (["a/train.en"], "en"),
        (["train.de.gz"], "de"),
        (["train.pt-BR"], "pt-BR"),
        ("corpus.txt", None),
        (["pairs.tsv"], None),
        ("train.src", None),
        ("train.en.txt", "en"),
        ("train.eng", "eng"),
        ("a.xx", None),
        (["a.en", "b.en"], "en"),
        (["a.en", "b.de"], None),
        ([], None),
        (None, None),
    ],
)
def test_the_language_is_the_suffix_of_the_file_name(files, language):
    assert language_of_file_name(files) == language

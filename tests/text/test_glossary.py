import pytest

from regard.errors import DataError
from regard.text.glossary import Glossary, split_phrase

BOOK = Glossary(
    (
        ("station", "gare"),
        ("train station", "gare ferroviaire"),
        ("May", "mai"),
        ("may", "pouvoir"),
        ("may", "peut"),
        ("l'eau", "water"),
        ("水", "water"),
    )
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Where is the station?", [("gare",)]),
        ("the stations are stationary", []),
        ("the Train  Station and a station", [("gare ferroviaire",), ("gare",)]),
        ("a station, a station", [("gare",)]),
        ("May I", [("mai",)]),
        ("I may", [("pouvoir", "peut")]),
        ("MAY", [("mai", "pouvoir", "peut")]),
        ("boire de L'eau", [("water",)]),
        ("我喝水了", [("water",)]),
        ("", []),
    ],
)
def test_phrases_are_found_as_whole_words_the_longest_first(text, wanted):
    assert BOOK.find_required_targets(text) == wanted


def test_marks_belong_to_their_word():
    assert split_phrase("का क, e\u0301te\u0301 x_1") == ("का", "क", ",", "été", "x_1")


def test_a_glossary_is_a_file_with_a_tab_on_each_line(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("station\tgare\n\n train station \t gare ferroviaire \n", "utf-8")
    assert Glossary.read(path).entries == BOOK.entries[:2]


@pytest.mark.parametrize("line", ["station", "station\t", "\tgare", "a\tb\tc"])
def test_a_line_that_is_no_entry_is_named(tmp_path, line):
    (tmp_path / "terms.tsv").write_text(f"a\tb\n{line}\n", "utf-8")
    with pytest.raises(DataError, match=r"terms.tsv line 2 is no entry; it must have a source phrase, a tab"):
        Glossary.read(tmp_path / "terms.tsv")

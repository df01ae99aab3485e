import pytest

from regard.errors import DataError
from regard.text import glossary as glossary_module
from regard.text.glossary import EMPTY_GLOSSARY, Glossary, split_phrase

GLOSSARY = Glossary(
    (
        ("station", "gare"),
        ("train station", "gare ferroviaire"),
        ("May", "mai"),
        ("may", "pouvoir"),
        ("may", "peut"),
        ("l'eau", "water"),
        ("水", "water"),
        ("น้ำ", "water"),  # Thai
        ("ນ້ຳ", "water"),  # Lao
        ("ទឹក", "water"),  # Khmer
        ("ရေ", "water"),  # Burmese
    )
)


@pytest.mark.parametrize(
    ("text", "targets"),
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
def test_whole_phrases_are_matched_and_the_longest_wins(text, targets):
    assert GLOSSARY.find_required_targets(text) == targets


@pytest.mark.parametrize("text", ["ฉันดื่มน้ำทุกวัน", "ຂ້ອຍດື່ມນ້ຳທຸກມື້", "ខ្ញុំផឹកទឹករាល់ថ្ងៃ", "ကျွန်တော်ရေသောက်တယ်"])
def test_an_entry_is_matched_inside_a_run_of_a_script_without_spaces(text):
    assert GLOSSARY.find_required_targets(text) == [("water",)]


def test_an_entry_does_not_match_a_letter_without_its_combining_mark():
    assert Glossary((("กร", "x"),)).find_required_targets("กรุง") == []


def test_combining_marks_belong_to_their_word():
    assert split_phrase("का क, e\u0301te\u0301 x_1") == ("का", "क", ",", "été", "x_1")
    assert split_phrase("กรุง 2") == ("ก", "รุ", "ง", "2")


def test_a_text_is_not_split_without_entries(monkeypatch):
    monkeypatch.setattr(glossary_module, "split_phrase", None)
    assert EMPTY_GLOSSARY.find_required_targets("Where is the station?") == []


def test_a_glossary_file_has_a_tab_on_each_line(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("station\tgare\n\n train station \t gare ferroviaire \n", "utf-8")
    assert Glossary.read(path).entries == GLOSSARY.entries[:2]


@pytest.mark.parametrize("line", ["station", "station\t", "\tgare", "a\tb\tc"])
def test_the_error_for_a_malformed_entry_has_its_line(tmp_path, line):
    (tmp_path / "terms.tsv").write_text(f"a\tb\n{line}\n", "utf-8")
    with pytest.raises(DataError, match=r"terms.tsv line 2 is no glossary entry; write the source phrase, a"):
        Glossary.read(tmp_path / "terms.tsv")

import pytest

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


def targets_of(glossary, text):
    return [match.targets for match in glossary.find_matches(text)]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Where is the station?", [("gare",)]),
        ("the stations are stationary", []),
        ("the Train  Station and a station", [("gare ferroviaire",), ("gare",)]),
        ("a station, a station", [("gare",), ("gare",)]),
        ("May I", [("mai",)]),
        ("I may", [("pouvoir", "peut")]),
        ("MAY", [("mai", "pouvoir", "peut")]),
        ("boire de L'eau", [("water",)]),
        ("我喝水了", [("water",)]),
        ("", []),
    ],
)
def test_whole_phrases_are_matched_and_the_longest_wins(text, targets):
    assert targets_of(GLOSSARY, text) == targets


@pytest.mark.parametrize("text", ["ฉันดื่มน้ำทุกวัน", "ຂ້ອຍດື່ມນ້ຳທຸກມື້", "ខ្ញុំផឹកទឹករាល់ថ្ងៃ", "ကျွန်တော်ရေသောက်တယ်"])
def test_an_entry_is_matched_inside_a_run_of_a_script_without_spaces(text):
    assert targets_of(GLOSSARY, text) == [("water",)]


def test_an_entry_does_not_match_a_letter_without_its_combining_mark():
    assert Glossary((("กร", "x"),)).find_matches("กรุง") == []


def test_combining_marks_belong_to_their_word():
    assert split_phrase("का क, e\u0301te\u0301 x_1") == ("का", "क", ",", "été", "x_1")
    assert split_phrase("กรุง 2") == ("ก", "รุ", "ง", "2")


def test_a_text_is_not_split_without_entries(monkeypatch):
    monkeypatch.setattr(glossary_module, "split_words", None)
    assert EMPTY_GLOSSARY.find_matches("Where is the station?") == []


@pytest.mark.parametrize(
    ("entry", "matching", "others"),
    [
        ("house", ["houses", "House", "HOUSES", "housing"], ["household", "hour", "housekeeper"]),
        ("city", ["cities", "city"], ["citizen", "citadel", "cut"]),
        ("car", ["cars", "cards"], ["carpet", "cat", "ca"]),
        ("Haus", ["Häuser", "Hauses"], ["Hausaufgabe", "Hals"]),
        ("go", ["go", "GO"], ["goes", "got"]),
        ("42", ["42"], ["421"]),
        ("train station", ["train stations", "trains station"], ["train", "stations", "train of stations"]),
        ("水", ["水"], ["火"]),
    ],
)
def test_an_inflected_form_begins_like_its_entry_and_ends_otherwise(entry, matching, others):
    glossary = Glossary(((entry, "x"),), inflected=True)
    assert [text for text in matching if not glossary.find_matches(f"a {text}.")] == []
    assert [text for text in others if glossary.find_matches(f"a {text}.")] == []


def test_the_exact_form_and_then_the_shortest_ending_win():
    glossary = Glossary((("car", "a"), ("cars", "b"), ("carton", "c")), inflected=True)
    texts = ("car", "cars", "cartons")
    assert [[match.targets for match in glossary.find_matches(text)] for text in texts] == [
        [("a",)],
        [("b",)],
        [("c",)],
    ]


def test_only_the_exact_form_matches_by_default():
    assert targets_of(Glossary((("house", "maison"),)), "houses") == []


def test_a_match_has_the_characters_of_the_phrase():
    text = "the e\u0301te\u0301 and  l'eau"
    matches = Glossary((("été", "x"), ("l'eau", "y"))).find_matches(text)
    nfc = "the été and  l'eau"
    assert [(match.phrase, nfc[match.start : match.end]) for match in matches] == [
        ("été", "été"),
        ("l'eau", "l'eau"),
    ]

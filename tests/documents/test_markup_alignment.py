import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.markup_alignment import place_markup
from regard.documents.protected_spans import find_protected
from regard.documents.segments import InlineFragment, InlineKind, build_segment, split_inline_tags

TAG = re.compile(r"</?\w+>")


def put(source, translation):
    """The translation with the source's tags; what stands between two # is to stay."""
    pieces = []
    for piece in split_inline_tags(source):
        parts = piece.raw.split("#") if piece.kind is InlineKind.TEXT else [piece.raw]
        for k, part in enumerate(parts):
            pieces.append(
                InlineFragment(
                    InlineKind.PROTECTED if k % 2 else piece.kind, f"#{part}#" if k % 2 else part, part
                )
            )
    sentence = build_segment(pieces)
    lead, tail = source[: sentence.lead_length], source[len(source) - sentence.tail_length :]
    return lead + "".join(part.text for part in place_markup(sentence, translation)) + tail


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("a <b>big</b> house", "une <b>grande</b> maison", "une <b>grande</b> maison"),
        ("<b>All of it</b>", "Tout cela", "<b>Tout cela</b>"),
        ("Ask <a>Jane</a> about the very old house", "Jane sait tout", "<a>Jane</a> sait tout"),
        ("one two <i>three four</i>", "un <i>deux</i>", "un <i>deux</i>"),
        ("one <b>two</b>, three", "un <b>deux</b>, trois", "un <b>deux</b>, trois"),
        ("<i>one <b>two</b></i> three", "<i>un <b>deux</b></i> trois", "<i>un <b>deux</b></i> trois"),
        ("H<sub>2</sub>O is wet", "l'eau (H2O) mouille", "l'eau (H<sub>2</sub>O) mouille"),
        ("un<b>believ</b>able story", "histoire incroyable", "<b>histoire</b> incroyable"),
        ("see <img> here", "voir ici", "voir <img> ici"),
        ("two <b>words</b> here", "", "<b></b>"),
        ("你好<b>世界</b>", "hello world", "hello <b>world</b>"),
        ("hello <b>world</b>", "你好世界", "你好<b>世界</b>"),
        ("hello <b>world</b>", "สวัสดีโลก", "สวัสดี<b>โลก</b>"),
        ("hello <b>world</b>", "ສະບາຍດີໂລກ", "ສະບາຍ<b>ດີໂລກ</b>"),
        ("hello <b>world</b>", "សួស្តីពិភពលោក", "សួស្តីពិ<b>ភពលោក</b>"),
        ("hello <b>world</b>", "မင်္ဂလာပါကမ္ဘာ", "မင်္ဂလာ<b>ပါကမ္ဘာ</b>"),
    ],
)
def test_tags_follow_their_words(source, translation, expected):
    assert put(source, TAG.sub("", translation)) == expected


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("run #ls -l# now", "lancez ls -l maintenant", "lancez #ls -l# maintenant"),
        ("run #ls# now", "Ls lancez", "#ls# lancez"),
        ("run #ls# now", "lancez maintenant", "lancez #ls# maintenant"),
        ("#a# of #b#", "de b le a", "de #b# le #a#"),
        ("the #a# cat", "la chatte", "la #a# chatte"),
        ("a date or the #Date#", "une date ou la Date", "une date ou la #Date#"),
        ("E-mail: press #E# now", "E-Mail: jetzt E tippen", "E-Mail: jetzt #E# tippen"),
        ("run it: #run# or #run#", "run: ceci run ou run", "run: ceci #run# ou #run#"),
        ("press #E# for an e-mail", "E pressieren für Post", "#E# pressieren für Post"),
        ("the <b>#x#</b> cat", "le chat", "le <b>#x# chat</b>"),
    ],
)
def test_protected_spans_are_found_or_inserted(source, translation, expected):
    assert put(source, translation) == expected


KEPT = st.lists(st.sampled_from(["a", "b", "ab", "a b", "%s", "a.b", "(a)", "É"]), min_size=1, max_size=4)
OTHERS = st.lists(st.sampled_from([*"abz%s é.()", "A", "a b", " ab "]), max_size=16).map("".join)


def occurrences(pattern, text, flags):
    return [match.start() for match in re.finditer(f"(?={pattern})", text, flags)]


@given(KEPT, st.sampled_from([" z ", "z", " z", "z ", " a "]), OTHERS)
def test_a_protected_span_matches_the_word_in_the_same_order_or_the_nearest_one(kept, between, translation):
    """As a slow twin finds it: in the same case before any other."""
    source = build_segment(
        [each for text in kept for each in (InlineFragment(InlineKind.PROTECTED, "#", text), PLAIN[between])]
    )
    taken, expected = set(), []
    for part in source.protected:
        text = source.text[part.start : part.end]
        left = r"\b" if re.match(r"\w", text) and not re.search(r"\w\Z", source.text[: part.start]) else ""
        right = r"\b" if re.search(r"\w\Z", text) and not re.match(r"\w", source.text[part.end :]) else ""
        pattern = f"{left}{re.escape(text)}{right}"
        for flags in (0, re.IGNORECASE):
            old, new = occurrences(pattern, source.text, flags), occurrences(pattern, translation, flags)
            near = part.start * len(translation) / len(source.text)
            near = new[old.index(part.start)] if len(old) == len(new) and part.start in old else near
            free = [start for start in new if not taken & set(range(start, start + len(text)))]
            if free:
                start = min(free, key=lambda start: abs(start - near))
                taken |= set(range(start, start + len(text)))
                expected.append((start, start + len(text)))
                break
    assert [(part.start, part.end) for part in find_protected(source, translation)[0]] == sorted(expected)


PLAIN = {text: InlineFragment(InlineKind.TEXT, text, text) for text in (" z ", "z", " z", "z ", " a ")}


@pytest.mark.parametrize("name", ["name", "name{}", "https://example.org/{}"])
def test_thousands_of_protected_spans_take_linear_time(name):
    source = " ".join(f"use #{name.format(k)}#" for k in range(6000))
    start = time.process_time()
    assert put(source, source.replace("#", "").replace("use", "nimm")) == source.replace("use", "nimm")
    assert time.process_time() - start < 2


def test_line_breaks_keep_their_relative_position():
    source = "one two three four\nfive six seven eight"
    assert (
        put(source, "un deux trois quatre cinq six sept huit") == "un deux trois quatre\ncinq six sept huit"
    )
    assert put(source, "un deux trois") == "un deux\ntrois"
    assert put(source, "un") == "un"
    assert put("a b\nc d", "漢字漢字") == "漢字\n漢字"
    assert put("one\ntwo\nthree", "un deux") == "un\ndeux"
    assert put("one two\nthree four", "un, deux") == "un,\ndeux"


WORD = st.sampled_from(["one", "two", "3", "Jane", "漢字", "don't", "x,", "(y)", "été"])
TAGGED = st.recursive(
    st.lists(WORD, min_size=1, max_size=4).map(" ".join),
    lambda inner: st.tuples(st.sampled_from(["b", "i", "a"]), inner, inner).map(
        lambda found: f"<{found[0]}>{found[1]}</{found[0]}> {found[2]}"
    ),
    max_leaves=6,
)


@given(TAGGED, st.lists(WORD, max_size=12).map(" ".join))
def test_tags_keep_their_order_and_the_text_is_unchanged(source, translation):
    written = put(source, translation)
    assert TAG.findall(written) == TAG.findall(source)
    assert TAG.sub("", written) == translation


@given(TAGGED, st.lists(WORD, min_size=12, max_size=20).map(" ".join))
def test_no_tag_pair_becomes_empty(source, translation):
    assert re.search(r"<(\w)></\1>", put(source, translation)) is None


@given(TAGGED)
def test_an_unchanged_text_keeps_its_markup_exactly(source):
    words = TAG.sub("", source)
    if len(set(words.split())) == len(words.split()):
        assert put(source, words) == source
        assert put(source, words.upper()).casefold() == source.casefold()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("I asked Tom <b>not</b> to overreact.", "Ich bat Tom, <b>nicht</b> überzureagieren."),
        ("He pretended that <b>he</b> was a lawyer.", "Er gab vor, <b>Anwalt</b> zu sein."),
        ("There's no doubt that he's <b>English</b>.", "Er ist zweifellos <b>Engländer</b>."),
        (
            "I'll show you the <b>car</b> I've just bought.",
            "Ich zeige dir den Wagen, <b>den</b> ich gekauft habe.",
        ),
        ("You like <b>it</b>?", "Tu aimes <b>ça</b> ?"),
        ("He said <b>no</b>.", "Er sagte: „<b>nein</b>“."),
        ("It is <b>(no)</b> word", "Das ist <b>(kein)</b> Wort"),
        ("Look <b>…</b> there", "Da <b>…</b> dort"),
        ("Look <b>here</b>", "<b>…</b>"),
    ],
)
def test_a_tag_pair_encloses_a_word_rather_than_punctuation(source, expected):
    assert put(source, TAG.sub("", expected)) == expected


POINTED = st.lists(st.sampled_from(["one", "two,", "(3)", "„Jane“", "!", "été ?", "漢字。"]), max_size=12)


@given(TAGGED, POINTED.map(" ".join))
def test_a_tag_pair_encloses_a_word_while_one_is_left(source, translation):
    """One pair after the other; those that find no word any more stand at the end."""
    written = put(source, translation)
    for pair in re.finditer(r"<(\w)>([^<>]*)</\1>", written):
        rest = TAG.sub("", written[pair.end() :])
        assert re.search(r"\w", pair[2]) or not re.search(r"\w", rest)

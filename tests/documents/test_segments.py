import pytest

from regard.documents.segments import URL_OR_EMAIL, InlineFragment, InlineKind, protect_matches


def text(words):
    return InlineFragment(InlineKind.TEXT, words, words)


def kept(*pieces):
    return [
        piece.raw for piece in protect_matches(pieces, URL_OR_EMAIL) if piece.kind is InlineKind.PROTECTED
    ]


@pytest.mark.parametrize(
    ("words", "addresses"),
    [
        ("See https://example.org/a/b?c=1.", ["https://example.org/a/b?c=1"]),
        ("(http://a.org/x_y), or ftp://b.org!", ["http://a.org/x_y", "ftp://b.org"]),
        (
            "Go to www.example.org; write to tom+a@mail.example.org.",
            ["www.example.org", "tom+a@mail.example.org"],
        ),
        ("https://a.org https://b.org", ["https://a.org", "https://b.org"]),
        ("http://a.orghttp://b.org", ["http://a.orghttp://b.org"]),
        ("Www. is short, a@b is none, and 3:4 is a score: https://", []),
    ],
)
def test_urls_and_emails_exclude_final_punctuation(words, addresses):
    assert kept(text(words)) == addresses


def test_a_url_may_contain_entities():
    pieces = [
        text("See https://a.org/?b=1"),
        InlineFragment(InlineKind.TEXT, "&amp;", "&"),
        text("c=2 there"),
    ]
    assert kept(*pieces) == ["https://a.org/?b=1&amp;c=2"]


def test_no_character_is_lost_and_markup_ends_a_url():
    pieces = [
        text("a https://b.org/"),
        InlineFragment(InlineKind.OPEN, "<b>"),
        text("c d@e.fr"),
        InlineFragment(InlineKind.TEXT, "&fjlig;", "fj"),
        text(" https://g.h"),
    ]
    found = list(protect_matches(pieces, URL_OR_EMAIL))
    assert "".join(piece.raw for piece in found) == "".join(piece.raw for piece in pieces)
    assert kept(*pieces) == ["https://b.org/", "d@e.fr&fjlig;", "https://g.h"]

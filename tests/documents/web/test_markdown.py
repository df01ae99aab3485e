import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from regard.documents.formats import DocumentOptions, read_document
from sample_documents import MARKDOWN


def read(content):
    return read_document(content.encode(), "x.md", DocumentOptions())


def put(content, *translations):
    return read(content).render(translations).decode()


def test_visible_markdown_text_is_translated():
    assert read(MARKDOWN).segments == (
        "Hello big world",
        "Some bold text and code here, a link to us, see https://a.b or https://c.d/e_f. A second line and "
        "H2O, 2*3 & more",
        "A quote over two lines ends code here too",
        "item one",
        "item two goes on",
        "a second paragraph",
        "a ref gone both snake_case 2 * 3",
        *("Head", "b | c", "x y", "k z"),
        "Another heading",
        "The note. 你好 🙂 مرحبا",
        "My cat",
    )


def test_upper_casing_segments_changes_only_the_case():
    document = read(MARKDOWN)
    changed = document.render([text.upper() for text in document.segments]).decode()
    assert changed != MARKDOWN
    assert changed.casefold() == MARKDOWN.casefold()


def test_markdown_without_text_is_unchanged():
    document = read(MARKDOWN)
    changed = document.render([text.upper() for text in document.segments]).decode()
    for kept in (
        "title: not this\n",
        'print("not this")',
        "    nor this",
        "<div>nor <b>this</b></div>",
        *("`code here`", "`code\n> here`", "`k`", "(http://x.y/z_a", "<https://a.b>", "https://c.d/e_f."),
        *("[^1]", "(cat.png)", "[r]", '[r]: http://z "title"', "|------|:------:|", "- [ ] "),
    ):
        assert kept in changed


SIGNS = [
    *(
        "# x",
        "- x",
        "+ x",
        "1. x",
        "> x",
        "---",
        "=== x",
        "* x",
        "a * b",
        "*a*",
        "_a_",
        "__a__",
        "a_b",
        "`a`",
    ),
    *("[a](b)", "![a](b)", "[r]", "<b>", "<https://x.y> x", "&amp;", "a\\*b", "~~a~~", "a | b", "\\"),
    *("1) x", "!", "x!", "a: b", "[^1]: x", "[x]: y", "***", "2 < 3", "#", "100% [sure] (yes)", "C:\\dir\\"),
]


@pytest.mark.parametrize("text", SIGNS)
@pytest.mark.parametrize(
    "around",
    [
        *("{}\n", "- {}\n", "> {}\n", "# {}\n", "{}\n===\n", "> {}\n> ---\n"),
        *("| a |\n|---|\n| {} |\n", "one **two** {} three\n"),
    ],
)
def test_a_translation_never_renders_as_markup(text, around):
    """A reader of the page sees the very characters of the translation."""
    source = f"{around.format('word')}\n[r]: http://z\n"
    document = read(source)
    new = [segment.replace("word", f"See {text}, said") for segment in document.segments]
    if around.split("\n")[0] in ("{}", "# {}", "> {}"):
        new = [segment.replace("word", text) for segment in document.segments]
    after = read(document.render(new).decode())
    if any(letter.isalnum() for letter in text):
        assert list(after.segments) == new
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    shape = [token.type for token in page.parse(source)]
    assert [token.type for token in page.parse(document.render(new).decode())] == shape


def test_a_paragraph_keeps_its_line_prefixes():
    assert put("> one two\r\n> three four\r\n", "un deux trois quatre") == "> un deux\r\n> trois quatre\r\n"
    assert put("- one two  \n  three four\n", "un deux trois") == "- un deux  \n  trois\n"
    assert put("- one two\n  three four\n", "un") == "- un\n"


@pytest.mark.parametrize(
    "mark", ["[!NOTE]", "[!tip]", "[!Important]", "[!WARNING]", "[!caution]", "[!info]-"]
)
def test_alert_markers_are_unchanged(mark):
    source = f"> {mark}\n> Some text here.\n"
    assert read(source).segments == ("Some text here.",)
    assert put(source, "Etwas Text [hier].") == f"> {mark}\n> Etwas Text [hier].\n"
    assert read("Not [!NOTE] here\n").segments == ("Not [!NOTE] here",)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# One two {#some_id}\n", "# ONE TWO {#some_id}\n"),
        ('One *two*{.red key="a b"} three\n{: .note}\n', 'ONE *TWO*{.red key="a b"} THREE\n{: .note}\n'),
        ("One {{ page.a_title | x }} two\n", "ONE {{ page.a_title | x }} TWO\n"),
        ("One {% if a_b < c_d %}two{% endif %}.\n", "ONE {% if a_b < c_d %}TWO{% endif %}.\n"),
        ('One {{< figure "a*b*c.png" >}} two\n', 'ONE {{< figure "a*b*c.png" >}} TWO\n'),
        ('See [two]({{< ref "a.md" >}}) three\n', 'SEE [TWO]({{< ref "a.md" >}}) THREE\n'),
        ("See [two]({% link a.md %}) `{{ a_b }}` c\n", "SEE [TWO]({% link a.md %}) `{{ a_b }}` C\n"),
        ("One {{<b x>}}two{{</b>}} ![{{ three }}](x)\n", "ONE {{<b x>}}TWO{{</b>}} ![{{ three }}](x)\n"),
        ("- {{ one }}\n- {% include two.html %}\n", "- {{ one }}\n- {% include two.html %}\n"),
        ("A {set} of {1, 2}, {{ and { more\n", "A {SET} OF {1, 2}, {{ AND { MORE\n"),
    ],
)
def test_template_tags_are_unchanged(source, expected):
    document = read(source)
    assert document.render([text.upper() for text in document.segments]).decode() == expected


def test_template_variables_are_visible_to_the_model_and_unchanged():
    assert read("Hello {{ user.name }}, go\n").segments == ("Hello {{ user.name }}, go",)
    assert put("Hello {{ user.name }}, go\n", "Los, {{ USER.NAME }}!") == "Los, {{ user.name }}!\n"


def test_a_protected_span_missing_in_the_translation_is_inserted():
    source = "Run `ls` in [the docs](x), see https://a.b now\n"
    assert put(source, "Lancez dans la doc") == "Lancez `ls` [dans](x) la https://a.b doc\n"


def test_trailing_hashes_of_a_heading_are_escaped():
    assert put("# Word\n", "Note C # ##") == "# Note C # \\##\n"
    assert put("# Word\n", "C#") == "# C#\n"


NAMES = "\n[manual]: http://m\n[guide]: http://g\n[`ls`]: http://l\n"


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (
            "I read the [manual] and the [guide][].\n",
            "Ich las das Handbuch und die Anleitung.",
            "Ich las das [Handbuch][manual] und die [Anleitung][guide].\n",
        ),
        ("See the [manual] now\n", "Sieh jetzt das Manual", "Sieh jetzt das [Manual]\n"),
        ("See the [manual] now\n", "Das manual ansehen", "Das [manual] ansehen\n"),
        ("See the [manual][] now\n", "Das manual ansehen", "Das [manual][] ansehen\n"),
        ("See the [manual] now\n", "Das manual: neu", "Das [manual][manual]: neu\n"),
        ("See the [manual] now\n", "Das manual(1) neu", "Das [manual][manual](1) neu\n"),
        ("Try [`ls`] now\n", "Jetzt ls versuchen", "Jetzt [`ls`] versuchen\n"),
        ("- [manual]\n", "Handbuch", "- [Handbuch][manual]\n"),
        ("- **The [manual]**\n", "Das Handbuch", "- **Das [Handbuch][manual]**\n"),
        ("> See [the\n> manual][guide] now\n", "Das Handbuch nun", "> Das [Handbuch][guide]\n> nun\n"),
    ],
)
def test_a_link_with_an_implicit_label_keeps_its_target(source, translation, expected):
    assert put(source + NAMES, translation) == expected + NAMES
    assert put(source + NAMES, *read(source + NAMES).segments) == source + NAMES


def test_an_image_with_an_implicit_label_keeps_its_source():
    names = "\n[my logo]: logo.png\n"
    source = f"See ![my logo], ![my logo][] and ![a cat][my logo].\n{names}"
    new = ["Sieh, und", "mein Logo", "mein Logo", "eine Katze"]
    assert put(source, *new).count("![mein Logo][my logo]") == 2
    assert MarkdownIt().render(put(source, *new)).count('src="logo.png"') == 3
    assert put(source, *read(source).segments) == source


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (
            "I asked Tom **not** to overreact.",
            "Ich bat Tom, nicht zu spinnen.",
            "Ich bat Tom, **nicht** zu spinnen.",
        ),
        ("Hello **world!** You", "Hallo Welt! Du", "Hallo **Welt!** Du"),
        ("Hello _world_ now", "你好世界吧", "你好*世*界吧"),
        ("See __[docs](x)__ now", "请看文档吧", "请看<strong>[文](x)</strong>档吧"),
        ("One **two** three **four** five", "Eins", "**Eins**"),
        ("One *two* ~~three~~ four", "…", "*…*"),
    ],
)
def test_no_literal_star_remains_of_an_emphasis_marker(source, translation, expected):
    assert put(f"{source}\n", translation) == f"{expected}\n"


PAGE = MarkdownIt("commonmark").enable(["strikethrough"])
PHRASE = st.lists(st.sampled_from(["one", "two", "three,", "(four)", "Jane"]), min_size=1, max_size=3)
EMPHASIZED = st.recursive(
    PHRASE.map(" ".join),
    lambda inner: st.tuples(
        st.sampled_from(["*{}*", "**{}**", "_{}_", "__{}__", "[{}](x)"]), inner, inner
    ).map(lambda found: f"{found[0].format(found[1])} {found[2]}"),
    max_leaves=6,
)
SAID = [
    "eins",
    "zwei,",
    "„drei“",
    "(x)",
    "漢字",
    "。",
    "（字）",
    "-",
    "!",
    "a*b",
    "*",
    "_",
    "a_b",
    "[x]",
    "été ?",
]


@given(EMPHASIZED, st.lists(st.sampled_from(SAID), min_size=1, max_size=10), st.sampled_from([" ", ""]))
def test_rendered_markdown_shows_the_translation_without_markers(source, words, space):
    """Whatever the scripts, and however words and punctuation stand together."""
    page = PAGE.render(put(f"z {source} z\n", space.join(words)))
    shown = unescape(re.sub(r"<[^>]*>", "", page))
    assert "".join(shown.split()) == "".join("".join(words).split())

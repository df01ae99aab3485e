import pytest
from markdown_it import MarkdownIt

from documents import MARKDOWN
from regard.text.documents.document import Reading, read_document


def read(content):
    return read_document(content.encode(), "x.md", Reading())


def put(content, *translations):
    return read(content).written(translations).decode()


def test_what_people_read_is_translated():
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


def test_upper_case_changes_nothing_but_case():
    document = read(MARKDOWN)
    changed = document.written([text.upper() for text in document.segments]).decode()
    assert changed != MARKDOWN
    assert changed.casefold() == MARKDOWN.casefold()


def test_what_is_no_text_stays_as_it_is():
    document = read(MARKDOWN)
    changed = document.written([text.upper() for text in document.segments]).decode()
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
    *("# x", "- x", "+ x", "1. x", "> x", "---", "=== x", "* x", "a * b", "*a*", "_a_", "a_b", "`a`"),
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
def test_a_translation_is_shown_as_it_is_and_makes_no_markup(text, around):
    """A reader of the page sees the very characters of the translation."""
    source = f"{around.format('word')}\n[r]: http://z\n"
    document = read(source)
    new = [segment.replace("word", f"See {text}, said") for segment in document.segments]
    if around.split("\n")[0] in ("{}", "# {}", "> {}"):
        new = [segment.replace("word", text) for segment in document.segments]
    after = read(document.written(new).decode())
    if any(letter.isalnum() for letter in text):
        assert list(after.segments) == new
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    shape = [token.type for token in page.parse(source)]
    assert [token.type for token in page.parse(document.written(new).decode())] == shape


def test_a_paragraph_keeps_its_lines_and_their_marks():
    assert put("> one two\r\n> three four\r\n", "un deux trois quatre") == "> un deux\r\n> trois quatre\r\n"
    assert put("- one two  \n  three four\n", "un deux trois") == "- un deux  \n  trois\n"
    assert put("- one two\n  three four\n", "un") == "- un\n"


@pytest.mark.parametrize(
    "mark", ["[!NOTE]", "[!tip]", "[!Important]", "[!WARNING]", "[!caution]", "[!info]-"]
)
def test_what_makes_a_quotation_a_note_stays(mark):
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
def test_what_a_site_generator_reads_stays(source, expected):
    document = read(source)
    assert document.written([text.upper() for text in document.segments]).decode() == expected


def test_the_name_of_a_thing_is_read_by_the_model_and_comes_back():
    assert read("Hello {{ user.name }}, go\n").segments == ("Hello {{ user.name }}, go",)
    assert put("Hello {{ user.name }}, go\n", "Los, {{ USER.NAME }}!") == "Los, {{ user.name }}!\n"


def test_what_the_model_loses_is_put_back():
    source = "Run `ls` in [the docs](x), see https://a.b now\n"
    assert put(source, "Lancez dans la doc") == "Lancez `ls` [dans](x) la https://a.b doc\n"


def test_a_heading_shows_the_hashes_at_its_end():
    assert put("# Word\n", "Note C # ##") == "# Note C # \\##\n"
    assert put("# Word\n", "C#") == "# C#\n"

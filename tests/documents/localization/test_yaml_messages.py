import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.documents.formats import DocumentOptions, read_document
from regard.documents.localization import yaml_messages
from regard.documents.localization.yaml_scalars import is_plain
from regard.errors import DataError

RAILS = """\
# A comment: "kept"
en: # the locale
  plain: Hello world   # after it
  double: "A \\"quoted\\" text\\nand more \\u00e9"
  single: 'It''s fine'
  literal: |
    The first line
      an indented line

    key: value
  folded: >-
    A long text that
    goes on

    A paragraph
  keep: |+
    The end

  indented: |2-
      Two more
     spaces
  anchor: &anchor Anchored text
  alias: *anchor
  days: [Sunday, "Monday", 3, ~]
  symbols:
    - :year
    - :month
  yes: yes
  number: 1_000.5
  date: 2001-12-14
  format: "%Y-%m-%d"
  long: "%B %d, %Y at noon"
  tagged: !!str Tagged text
  other: !ruby/symbol not_this
  lines: On two
    lines
  flow: {a: Flow text, "b": 'Other text', c: [deep]}
  base: &base {x: Based text}
  merged:
    <<: *base
  empty:
  count: "%{count} files"
  ? Complex key
  : Complex value
  url: https://example.org
  中文: 你好
"""
TEXTS = (
    "Hello world",
    'A "quoted" text and more é',
    "It's fine",
    "The first line an indented line",
    "key: value",
    "A long text that goes on A paragraph",
    "The end",
    "Two more spaces",
    "Anchored text",
    "Sunday",
    "Monday",
    "%B %d, %Y at noon",
    "Tagged text",
    "On two lines",
    "Flow text",
    "Other text",
    "deep",
    "Based text",
    "%{count} files",
    "Complex value",
    "你好",
)


def read(content, **options):
    content = content if isinstance(content, bytes) else content.encode()
    return read_document(content, "x.yml", DocumentOptions(**options))


def render(content, translate, **options):
    document = read(content, **options)
    return document.render([translate(text) for text in document.segments]).decode()


def load(content):
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!ruby/symbol", lambda loader, node: loader.construct_scalar(node))
    return yaml.load(content, Loader=Loader)


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_texts_are_found_and_every_other_byte_is_kept(loader, newline, monkeypatch):
    monkeypatch.setattr(yaml_messages, "YAML_LOADER", getattr(yaml, loader))
    content = RAILS.replace("\n", newline).encode()
    document = read(content)
    assert document.segments == TEXTS
    assert document.render(document.segments) == content
    changed = document.render([f"X{text[1:]}" for text in document.segments])
    assert load(changed)["en"]["literal"] == "Xhe first line\n  an indented line\n\nXey: value\n"
    assert load(changed)["en"]["folded"] == "X long text that goes on\nA paragraph"
    assert load(changed)["en"]["keep"] == "Xhe end\n\n"
    assert load(changed)["en"]["indented"] == "  Xwo more\n spaces"
    assert load(changed)["en"]["merged"] == {"x": "Xased text"}
    assert load(changed)["en"]["alias"] == "Xnchored text"
    assert (
        changed.count(newline.encode()) == content.count(newline.encode()) - 1
    )  # the plain text on two lines


def test_each_style_is_kept_if_it_can_hold_the_text():
    written = render(RAILS, lambda text: f"so {text}").splitlines()
    for line in [
        "  plain: so Hello world   # after it",
        "  single: 'so It''s fine'",
        "    so The first line",
        "      an indented line",
        "  anchor: &anchor so Anchored text",
        '  days: [so Sunday, "so Monday", 3, ~]',
        "  tagged: !!str so Tagged text",
        "  other: !ruby/symbol not_this",
    ]:
        assert line in written
    assert '  double: "so A \\"quoted\\" text\\nand more é"' in written


SYNTAX = [
    "yes",
    "No",
    "null",
    "~",
    "12",
    "1,000",
    "0x1F",
    "12:30:45",
    "2001-12-14",
    ":sym",
    "-",
    "a",
    "a:",
    "*a",
    "&a",
    "!a",
    "@a",
    "`a",
    "'a",
    '"a',
    "[a",
    "]a",
    ">",
    "#a",
    "=",
    "<<",
    "y",
    ".5",
    "+1",
    "1e3",
    "on",
    "-",
]
STYLES = [
    "a: Text one",
    "a: 'Text one'",
    'a: "Text one"',
    "a: |\n  Text one",
    "a: >-\n  Text one",
    "a: [Text one]",
    "a: Text one # c",
    "- Text one",
    "a: |\n  Text one\n",
]


@pytest.mark.parametrize(
    "text",
    [*SYNTAX, "- a", "? a", "a? b", "a: b", "a #b", "--- a", "... a", "é: \u2028 x", "a\tb", "\U0001f600 ok"],
)
@pytest.mark.parametrize("style", STYLES)
def test_a_translation_with_syntax_is_quoted(text, style):
    written = render(style, lambda _: text, any_content=True)
    value = yaml.safe_load(written)
    found = value[0] if isinstance(value, list) else value["a"]
    found = found[0] if isinstance(found, list) else found
    assert isinstance(found, str)
    assert found.removesuffix("\n").split() == text.split()


@pytest.mark.parametrize("text", ["1,000", "y", "N", "off", "0o17", "1e3", ".5"])
def test_what_another_parser_reads_as_a_number_or_boolean_is_quoted(text):
    assert render("a: Text one", lambda _: text) == f'a: "{text}"'


def test_escapes_of_an_ascii_file_stay_ascii():
    assert render('a: "One \\u00e9"\nb: Two words', lambda _: "ß 漢😀") == (
        'a: "\\xdf \\u6f22\\U0001f600"\nb: "\\xdf \\u6f22\\U0001f600"'
    )
    assert render('a: "One"\nb: Two words', lambda _: "ß") == 'a: "ß"\nb: ß'


def test_the_locale_follows_the_target_language():
    assert render(RAILS, str, target_language="fr") == RAILS.replace("en: #", "fr: #")
    assert render("'en':\n  a: Some text", str, target_language="no") == "'no':\n  a: Some text"
    assert render("en:\n  a: Some text", str, target_language="no") == '"no":\n  a: Some text'
    assert render("en:\n  a: Some text", str, target_language="de") == "de:\n  a: Some text"
    with pytest.raises(DataError, match=r"x.yml holds several languages \(en, fr\)"):
        read("en:\n  a: Some text\nfr:\n  a: Un texte")
    assert read("fr:\n").segments == ()


def test_a_file_may_hold_several_documents():
    content = (
        "%YAML 1.1\n---\nen:\n  a: One text\n...\n# c\n---\nen:\n  a: Other text\n--- \nLast: Last text\n"
    )
    document = read(content)
    assert document.segments == ("One text", "Other text", "Last text")
    assert document.render(document.segments) == content.encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("en:\n\ta: b", "x.yml line 2 is not valid YAML: found character"),
        ("en:\n  a: b: c", "x.yml line 2 is not valid YAML: mapping values are not allowed"),
        ("en:\n  a: 'b", "x.yml line 2 is not valid YAML"),
        ("en:\n  a: \x07b", "x.yml line 2 is not valid YAML: "),
        ("en:\n  a: \0b", "x.yml line 2 has the character NUL"),
        ("a: " + "[" * 100_000, "x.yml line 1 is nested more than 200 levels deep"),
        (
            "version: 2\nservices:\n  a:\n    image: b\n    ports: [80]",
            "x.yml has 0 texts and 3 other values",
        ),
        ("- One text\n- Other text", "x.yml is not a mapping of keys to messages; to translate its texts"),
        ("on: push\njobs: {a: {name: Build it}}", "x.yml is a workflow (it has 'on' and 'jobs')"),
    ],
)
def test_what_is_not_messages_is_rejected_with_one_line(content, message):
    with pytest.raises(DataError) as error:
        read(content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_alias_bombs_are_not_expanded():
    rows = ["a0: &a0 [Some text, Some text]"]
    rows += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 60)]
    assert read("\n".join(rows)).segments == ("Some text", "Some text")


def test_time_is_linear_in_the_size():
    def seconds(rows):
        content = (
            "en:\n" + 'k: Some text\nl: "Other text"\nm: |\n  a\n  b\n'.replace("\n", "\n  ") * rows
        ).replace("en:\n", "en:\n  ", 1)
        start = time.process_time()
        document = read(content.rstrip(" "))
        document.render([text.upper() for text in document.segments])
        return time.process_time() - start

    small, large = (min(seconds(rows) for _ in range(3)) for rows in (500, 4000))
    assert large < 30 * small


WORDS = st.text(
    st.characters(
        codec="utf-8",
        exclude_categories=["Cs", "Cc", "Cn"],
        exclude_characters="\ufeff\u2028\u2029\x85<{}|%$@",
    ),
    max_size=25,
).map(lambda text: " ".join(text.split()))


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.text("abcdefg", min_size=2), st.lists(WORDS, min_size=1, max_size=2), min_size=1, max_size=4
    ),
    WORDS,
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.sampled_from([None, True, False]),
)
def test_yaml_parsers_read_the_translation(messages, translation, style, flow):
    content = yaml.safe_dump(
        messages, allow_unicode=True, default_style=style, default_flow_style=flow, sort_keys=False
    )
    document = read(content, any_content=True)
    assert document.render(document.segments) == content.encode()
    written = document.render([f"{translation} So".strip()] * len(document.segments)).decode()
    parsed = yaml.safe_load(written)
    assert list(parsed) == list(messages)
    for key, texts in parsed.items():
        for new, old in zip(texts, messages[key], strict=True):
            assert new == old or "So" in new
            if any(map(str.isalpha, old)) and new == old:
                assert document.unsafe_segments(
                    [f"{translation} So".strip()] * len(document.segments)
                ) or not any(old in text for text in document.segments)


@given(WORDS.filter(bool), st.booleans())
def test_what_is_plain_is_read_back(text, in_flow):
    if is_plain(text, in_flow):
        for loader in (yaml.SafeLoader, yaml.CSafeLoader):
            assert yaml.load(f"[{text}, b]" if in_flow else f"- {text}\n- b", Loader=loader) == [text, "b"]


def test_the_toolkit_reads_the_translation():
    toolkit = pytest.importorskip("translate.storage.yaml")
    content = "en:\n  a: One text\n  b:\n    one: \"%{count} file\"\n    other: '%{count} files'\n"
    store = toolkit.RubyYAMLFile.parsestring(
        render(content, lambda text: f"So {text}", target_language="fr").encode()
    )
    assert "So One text" in [str(unit.target) for unit in store.units]
    assert "So %{count} file" in [
        text for unit in store.units for text in getattr(unit.target, "strings", [])
    ]

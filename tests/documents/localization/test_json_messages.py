import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError

I18NEXT = """{
  "title": "Hello world",\r
\t"nested" : { "key_one": "{{count}} item", "key_other":"{{count}} items of $t(other.key)" },
  "list": ["Monday", "See <1>the docs</1>"], "days": ["Sun", "Mon", "Tue", "Wed"],
  "url": "https://example.org/a", "colour": "#FF00AA", "n": 3.10e5, "yes": true, "nothing": null,
  "icon": "iconArrowLeft", "format": "YYYY-MM-DD", "locale": "en", "path": "./img/a.png", "blank": " ",
  "title": "Twice \\"quoted\\" \\u00e9"
}
"""
ARB = """{
  "@@locale": "en",
  "hello": "Hello {name}",
  "@hello": {"description": "Not this", "placeholders": {"name": {"type": "String", "example": "Not Bob"}}},
  "files": "{count, plural, =0{No files} one{One file} other{{count} files}}"
}"""
CHROME = """{"appName": {"message": "Save $NAME$ now", "description": "Not this",
 "placeholders": {"name": {"content": "$1", "example": "Not Bob"}}}, "other": {"message": "Cost: $$5"}}"""
VUE = """{"car": "one car | {n} cars", "link": "See @:car and @.lower:title",
 "at": "Mail {'@'} us", "A": "Über"}"""


def read(content, name="x.json", **options):
    content = content if isinstance(content, bytes) else content.encode()
    return read_document(content, name, DocumentOptions(**options))


def render(content, translate, **options):
    document = read(content, **options)
    return document.render([translate(text) for text in document.segments]).decode()


@pytest.mark.parametrize("content", [I18NEXT, ARB, CHROME, VUE, "{}", '\ufeff{"a": "The text"}\n\n'])
def test_identity_translation_reproduces_every_byte(content):
    document = read(content)
    assert document.render(document.segments) == content.encode()


def test_only_texts_are_translated():
    assert read(I18NEXT).segments == (
        "Hello world",
        "{{count}} item",
        "{{count}} items of $t(other.key)",
        "Monday",
        "See the docs",
        "Sun",
        "Mon",
        "Tue",
        "Wed",
        'Twice "quoted" é',
    )
    assert read(ARB).segments == ("Hello {name}", "No files", "One file", "{count} files")
    assert read(CHROME).segments == ("Save $NAME$ now", "Cost: $$5")
    assert read(VUE).segments == (
        "one car",
        "{n} cars",
        "See @:car and @.lower:title",
        "Mail {'@'} us",
        "Über",
    )
    structured = '{"a": {"defaultMessage": "Hi there", "description": "No"}, "b": {"defaultMessage": "You"}}'
    assert read(structured).segments == ("Hi there", "You")
    mixed = (
        '{"a": "Open it", "b": {"message": "Close it", "comment": ["No, never"]}, "c": {"text": "Yes, ever"}}'
    )
    assert read(mixed).segments == ("Open it", "Close it", "Yes, ever")


def test_placeholders_survive_a_translation_that_drops_or_invents_them():
    written = json.loads(
        render('{"a": "Hello {{name}} and $t(key)", "b": "Plain text"}', lambda _: "Bonjour {x} toi")
    )
    assert sorted(written["a"].split()) == ["$t(key)", "Bonjour", "toi", "{{name}}"]
    assert written["b"] == "Bonjour toi"
    assert json.loads(render(CHROME, lambda _: "Coût"))["appName"]["message"].split() == ["Coût", "$NAME$"]


def test_a_translation_that_breaks_the_message_is_left_out_and_listed():
    document = read('{"car": "one car | {n} cars", "b": "Plain text"}')
    translations = ["une | deux", "{n} voitures", "Texte"]
    assert document.unsafe_segments(translations) == [0, 1]
    assert json.loads(document.render(translations)) == {"car": "one car | {n} cars", "b": "Texte"}
    assert document.unsafe_segments(document.segments) == []


def test_an_apostrophe_before_an_argument_cannot_quote_it():
    assert json.loads(render('{"a": "Of {name}!"}', lambda _: "D'{name}!"))["a"] == "D’{name}!"


def test_escapes_are_written_as_the_file_writes_them():
    assert (
        render('{"a": "One \\u00E9"}', lambda _: 'ß "漢\n😀')
        == '{"a": "\\u00DF \\"\\u6F22\\n\\uD83D\\uDE00"}'
    )
    assert render('{"a": "One thing"}', lambda _: "ß/<") == '{"a": "ß/<"}'
    assert render('{"a": "A\\/b \\u003cb\\u003e text é"}', lambda _: "1/2 è") == (
        '{"a": "1\\/2 \\u003cb\\u003e è"}'
    )


def test_the_language_of_a_file_follows_the_target_language():
    assert '"@@locale": "pt_BR"' in render(ARB, str.upper, target_language="pt-BR")
    assert render('{"en": {"a": "The text"}}', str, target_language="fr") == '{"fr": {"a": "The text"}}'
    assert render('{"en": {"a": "The text"}}', str) == '{"en": {"a": "The text"}}'
    assert render('{"app": {"a": "The text"}}', str, target_language="fr") == '{"app": {"a": "The text"}}'
    with pytest.raises(DataError, match=r"x.json holds several languages \(en, fr\); keep only"):
        read('{"en": {"a": "The text"}, "fr": {"a": "Le texte"}}')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"name": "my-app", "version": "1.0.0", "description": "A fine app", "scripts": {"a": "Run it"}}',
            "x.json is the manifest of a package (it has 'name' and 'version'); to translate its texts "
            "nevertheless, give --format json",
        ),
        ('{"compilerOptions": {"strict": true}}', "x.json is a TypeScript configuration"),
        ('{"type": "FeatureCollection", "features": [{"name": "Big City"}]}', "x.json is GeoJSON"),
        ('{"lockfileVersion": 3, "packages": {}}', "x.json is a lock file"),
        ("[1, 2, 3]", "x.json is not a mapping of keys to messages; to translate its texts"),
        ('"text"', "x.json is not a mapping of keys to messages"),
        ('{"a": [1, 2, 3], "b": "Some text"}', "x.json has 1 texts and 3 other values"),
        ('{"rules": {"semi": "error", "quotes": "off"}}', "x.json has 0 texts and 2 other values"),
        ('{"a": "x",\n "b": "y",}', "x.json line 2 is not valid JSON: expected a key, found '}'"),
        ('{"a":\n', "x.json line 2 is not valid JSON: expected a value, the file ends"),
        ('{"a": 1} x', "x.json line 1 is not valid JSON: expected the end of the file, found 'x'"),
        ('{"a": "b"\n"c": "d"}', "x.json line 2 is not valid JSON: expected , or }, found '\"c\"'"),
        ('// no\n{"a": "b"}', "x.json line 1 has a comment, which JSON does not allow; remove it"),
        ('{"a": "b\nc"}', "x.json line 1 is not valid JSON: expected a value, found '\"'"),
        ('{\n"a": "\\ud800"}', "x.json line 2 has half of a surrogate pair"),
        ("[" * 100_000, "x.json line 1 is nested more than 200 levels deep"),
        ('{"a":' * 100_000, "x.json line 1 is nested more than 200 levels deep"),
    ],
)
def test_what_is_not_messages_is_rejected_with_one_line(content, message):
    with pytest.raises(DataError) as error:
        read(content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_any_json_is_read_if_the_format_is_given():
    assert read('["The text", 1]', any_content=True).segments == ("The text",)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
PLAIN = st.text(
    st.characters(codec="utf-8", exclude_characters="{}|@$%#'<&\0", exclude_categories=["Cs"]), max_size=30
)


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_any_json_is_reproduced(value, ascii_only, indent):
    content = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    document = read(content, any_content=True)
    assert document.render(document.segments) == content


@given(st.text(alphabet='{}[]",:\\ \n01-.eutrnals/', max_size=30))
def test_what_python_parses_is_read_and_all_else_rejected(text):
    try:
        json.loads(text)
    except ValueError:
        with pytest.raises(DataError):
            read(text, any_content=True)
    else:
        assert read(text, any_content=True).content.template.document == text


@settings(max_examples=50)
@given(st.dictionaries(st.text(alphabet="abcxyz_", min_size=1), PLAIN, min_size=1), PLAIN, st.booleans())
def test_json_parsers_read_the_translation(messages, translation, ascii_only):
    toolkit = pytest.importorskip("translate.storage.jsonl10n")
    content = json.dumps(messages, ensure_ascii=ascii_only).encode()
    document = read(content, any_content=True)
    found = [text for text in messages.values() if any(map(str.isalnum, text))]
    assert len(document.segments) <= len(found) * 30
    words = " ".join(f"So {translation}".split())
    written = document.render([words] * len(document.segments))
    parsed = json.loads(written)
    assert list(parsed) == list(messages)
    for key, text in parsed.items():
        assert text == messages[key] or "So" in text
    store = toolkit.JsonFile.parsestring(written)
    assert {unit.getid().lstrip("."): unit.target for unit in store.units} == parsed


def test_the_toolkit_reads_the_translations():
    toolkit = pytest.importorskip("translate.storage.jsonl10n")
    cases = {ARB: toolkit.ARBJsonFile, CHROME: toolkit.WebExtensionJsonFile, I18NEXT: toolkit.I18NextFile}
    for content, reader in cases.items():
        before = reader.parsestring(content.encode()).units
        after = reader.parsestring(render(content, lambda text: f"So {text}").encode()).units
        assert [unit.getid() for unit in after] == [unit.getid() for unit in before]
        assert sum("So" in str(unit.target) for unit in after) >= 2
        assert [unit.getnotes() for unit in after] == [unit.getnotes() for unit in before]

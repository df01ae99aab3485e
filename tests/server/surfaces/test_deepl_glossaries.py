"""DeepL's glossaries, versions 2 and 3, as its clients use them."""

from datetime import datetime
from urllib.parse import urlencode

import pytest

from regard.server.surfaces.deepl.deepl_group import deepl_groups
from regard.server.surfaces.deepl.glossaries import parse_entries
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.glossary_store import GlossaryLimitError, GlossaryStore, NoGlossaryError
from regard.server.web.responses import RequestError
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

PAIR = {"source_lang": "EN", "target_lang": "FR"}
EN_FR, EN_DE = ("EN", "FR"), ("EN", "DE")


@pytest.fixture(scope="module")
def server():
    service = FakeTranslationService()
    with run_server(*deepl_groups(SurfaceContext(service, glossaries=GlossaryStore(limit=4)))) as client:
        yield service, client


@pytest.fixture
def client(server):
    service, client = server
    service.requests.clear()
    for each in client("/v3/glossaries").json["glossaries"]:
        assert client(f"/v3/glossaries/{each['glossary_id']}", method="DELETE").status == 204
    return client


def create(client, entries="cat\tmatou\r\ndog\tchien\n", **changes):
    return client(
        "/v2/glossaries", {"name": "mine", **PAIR, "entries": entries, "entries_format": "tsv", **changes}
    )


def test_a_glossary_of_version_2(client):
    response = create(client)
    assert response.status == 201
    made = response.json
    assert datetime.strptime(made["creation_time"], "%Y-%m-%dT%H:%M:%S.%f%z").year >= 2026
    expected = {"name": "mine", "ready": True, "source_lang": "en", "target_lang": "fr", "entry_count": 2}
    assert {name: made[name] for name in expected} == expected
    address = f"/v2/glossaries/{made['glossary_id']}"
    assert client(address).json == made
    assert client("/v2/glossaries").json == {"glossaries": [made]}
    entries = client(f"{address}/entries", Accept="text/tab-separated-values")
    assert (entries.body, entries.headers["content-type"]) == (
        b"cat\tmatou\ndog\tchien",
        "text/tab-separated-values; charset=utf-8",
    )
    assert client(address, method="DELETE").status == 204
    assert client(address).status == client(f"{address}/entries").status == 404
    assert client(address, method="DELETE").status == 404


def test_csv_with_quotes_and_further_columns(client):
    made = create(client, 'a,b,en,fr\n"c""d","e,f",en,fr\n\n', entries_format="csv").json
    entries = client(f"/v2/glossaries/{made['glossary_id']}/entries").body
    assert entries == b'a\tb\nc"d\te,f'


def test_a_glossary_of_version_3(client):
    dictionaries = [
        {**PAIR, "entries": "cat\tmatou", "entries_format": "tsv"},
        {"source_lang": "EN-US", "target_lang": "de", "entries": "cat,Kater", "entries_format": "csv"},
    ]
    response = client("/v3/glossaries", {"name": "two", "dictionaries": dictionaries})
    assert response.status == 201
    made = response.json
    assert made["dictionaries"] == [
        {"source_lang": "en", "target_lang": "fr", "entry_count": 1},
        {"source_lang": "en", "target_lang": "de", "entry_count": 1},
    ]
    address = f"/v3/glossaries/{made['glossary_id']}"
    assert client(address).json == made
    assert client("/v2/glossaries").json == {"glossaries": []}  # several dictionaries
    change = {"name": "new", "dictionaries": [{**PAIR, "entries": "cat\tchat\ndog\tchien"}]}
    changed = client(address, change, "PATCH").json
    assert (changed["name"], changed["dictionaries"][0]["entry_count"]) == ("new", 2)
    query = "source_lang=EN&target_lang=FR"
    assert client(f"{address}/entries?{query}").json["dictionaries"] == [
        {
            "source_lang": "en",
            "target_lang": "fr",
            "entries": "cat\tchat\ndog\tchien",
            "entries_format": "tsv",
        }
    ]
    replaced = client(f"{address}/dictionaries", {**PAIR, "entries": "bird\toiseau"}, "PUT")
    assert replaced.json == {"source_lang": "en", "target_lang": "fr", "entry_count": 1}
    assert client(f"{address}/dictionaries?{query}", method="DELETE").status == 204
    assert [each["target_lang"] for each in client(address).json["dictionaries"]] == ["de"]
    assert client(f"{address}/entries?{query}").status == 404


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"name": ""}, "'name' not specified"),
        ({"target_lang": "XX"}, "no model translates EN to XX"),
        ({"source_lang": "DE"}, "no model translates DE to FR"),
        ({"entries": ""}, "'entries' not specified"),
        ({"entries": "\n\n"}, "there is none"),
        ({"entries": "cat"}, "line 1 is not a term"),
        ({"entries": "a\tb\nc\td\te"}, "line 2 is not a term"),
        ({"entries": "a\t"}, "line 1 has an empty term"),
        ({"entries": "a\tb\x07"}, "control characters"),
        ({"entries": "a\tb\u2028c"}, "control characters"),
        ({"entries": "a\tb\na\tc"}, "line 2 has a term that another has"),
        ({"entries": 3}, "must be a string"),
        ({"entries_format": "xml"}, "'entries_format' not supported"),
        ({"entries_format": "csv", "entries": '"' + "a" * 200_000}, "not CSV"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_glossary(client, changes, detail):
    response = create(client, **changes)
    assert response.status == 400
    assert detail in response.json["detail"]
    assert client("/v2/glossaries").json == {"glossaries": []}


def test_a_full_store_keeps_what_it_has(client):
    assert [create(client).status for _ in range(5)] == [201, 201, 201, 201, 456]
    assert len(client("/v2/glossaries").json["glossaries"]) == 4


def test_texts_are_translated_with_the_entries_that_occur_in_them(client, server):
    identity = create(
        client, "\n".join(f"cat {n}\tmatou {n}" for n in range(500)) + "\nR & D\tla R et D"
    ).json
    body = {"text": ["Cat 7 and cat <b>99</b>", "R &amp; D"], "source_lang": "EN", "target_lang": "FR"}
    body |= {"glossary_id": identity["glossary_id"], "tag_handling": "xml"}
    assert client("/v2/translate", body).status == 200
    terms = (("Cat 7", "matou 7"), ("cat 99", "matou 99"), ("R & D", "la R et D"))
    assert server[0].requests[-1].glossary == terms
    assert client("/v2/translate", {**body, "source_lang": None}).status == 400
    assert client("/v2/translate", {**body, "target_lang": "DE"}).status == 404
    assert client("/v2/translate", {**body, "glossary_id": "x"}).status == 404


def test_dictionaries_in_a_form(client):
    dictionaries = ((1, "DE", "cat\tKater"), (0, "FR", "cat\tmatou"))
    fields = {"name": "two"}
    for index, target, entries in dictionaries:
        values = {"source_lang": "en", "target_lang": target, "entries": entries, "entries_format": "tsv"}
        fields |= {f"dictionaries[{index}].{name}": value for name, value in values.items()}
    form = "application/x-www-form-urlencoded"
    made = client("/v3/glossaries", urlencode(fields).encode(), Content_Type=form)
    assert [each["target_lang"] for each in made.json["dictionaries"]] == ["fr", "de"]


def test_language_pairs(client):
    pairs = client("/v2/glossary-language-pairs").json["supported_languages"]
    assert {"source_lang": "en", "target_lang": "de"} in pairs


def test_a_store_on_disk_keeps_glossaries_of_each_client(tmp_path):
    store = GlossaryStore(tmp_path / "data")
    made = store.create("a", "mine", {EN_FR: {"cat": "matou"}, EN_DE: {"cat": "Kater"}})
    store.close()
    store = GlossaryStore(tmp_path / "data")
    assert store.list_all("a") == [made]
    assert store.list_all("b") == []
    with pytest.raises(NoGlossaryError):
        store.delete("b", made.id)
    assert store.find_terms("a", made.id, EN_DE, ["a cat"]) == [("cat", "Kater")]
    store.merge("a", made.id, EN_DE, {"dog": "Hund"})
    assert store.entries("a", made.id, EN_DE) == {"cat": "Kater", "dog": "Hund"}
    store.delete("a", made.id)
    full = GlossaryStore(limit=1)
    with pytest.raises(GlossaryLimitError):
        full.create("a", "mine", {EN_FR: {"a": "b"}, EN_DE: {"a": "b"}})
    assert full.list_all("a") == []


def test_entries_of_one_term_are_trimmed():
    assert parse_entries(" a b \t c \n", "tsv") == {"a b": "c"}
    with pytest.raises(RequestError):
        parse_entries("a;b", "csv")

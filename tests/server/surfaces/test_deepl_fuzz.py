"""Whatever a client sends to DeepL's addresses, the answer is no server error and has the right shape."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.server.surfaces.deepl.deepl_group import deepl_groups
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.document_jobs import DocumentJobs
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

NAMES = st.sampled_from(
    [
        *(
            "text",
            "target_lang",
            "source_lang",
            "tag_handling",
            "ignore_tags",
            "split_sentences",
            "formality",
        ),
        *("glossary_id", "name", "entries", "entries_format", "dictionaries", "document_key", "type"),
    ]
)
WORDS = st.sampled_from(
    ["FR", "EN", "xml", "html", "1", "a\tb", "a,b", "<x>a</x> & b", "tsv", "target", "\x00"]
)
SCALARS = WORDS | st.none() | st.booleans() | st.integers() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
PATHS = st.sampled_from(
    [
        *("/v2/translate", "/v2/languages", "/v2/usage", "/v2/glossaries", "/v2/glossaries/x/entries"),
        *("/v3/glossaries", "/v3/glossaries/x", "/v3/glossaries/x/dictionaries", "/v2/document/x/result"),
    ]
)


@pytest.fixture(scope="module")
def client():
    service = FakeTranslationService()
    with run_server(*deepl_groups(SurfaceContext(service, documents=DocumentJobs(service)))) as client:
        yield client


@settings(max_examples=150)
@given(
    PATHS,
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    st.dictionaries(NAMES, VALUES, max_size=6) | VALUES,
    st.dictionaries(NAMES, WORDS, max_size=2),
)
def test_any_fields(client, path, method, body, query):
    address = path + "?" + "&".join(f"{name}={quote(value)}" for name, value in query.items())
    response = client(address, json.dumps(body).encode("utf-8", "replace"), method)
    assert response.status < 500, (address, body, response.body)
    if response.status >= 400:
        assert sorted(response.json) == ["detail", "message"]
        assert "\n" not in response.json["detail"]

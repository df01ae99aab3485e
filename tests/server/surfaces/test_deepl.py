"""DeepL's API as its clients and its documentation use it."""

import json
from urllib.parse import urlencode

import pytest

from regard.server.operations.access import (
    KeyRequiredError,
    KeyUsage,
    QuotaExceededError,
    RateExceededError,
    UnknownKeyError,
)
from regard.server.surfaces.deepl.deepl_group import deepl_groups
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.requests import (
    DeadlineExceededError,
    OverloadedError,
    TextTooLongError,
    TranslationFailedError,
)
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

FORM = "application/x-www-form-urlencoded"
KEY = "DeepL-Auth-Key good"


class FakeAccess:
    """Knows the key "good"; `error` is raised for every text if it is set."""

    has_keys = key_required = True

    def __init__(self):
        self.error = None
        self.characters = 0

    async def admit(self, key, address, characters):  # noqa: ARG002
        if self.error:
            raise self.error
        await self.usage(key)
        self.characters += characters
        return "team"

    def refund(self, key, characters):  # noqa: ARG002
        self.characters -= characters

    async def usage(self, key):
        if key is None:
            raise KeyRequiredError("an API key is needed")
        if key != "good":
            raise UnknownKeyError("unknown API key")
        return KeyUsage(self.characters, 100)


@pytest.fixture(scope="module")
def server():
    service, access = FakeTranslationService(), FakeAccess()
    with run_server(*deepl_groups(SurfaceContext(service, access=access))) as client:
        yield service, access, client


@pytest.fixture
def service(server):
    service, access, _ = server
    service.state, service.error = "ready", None
    access.error, access.characters = None, 0
    service.requests.clear()
    return service


@pytest.fixture
def call(server, service):  # noqa: ARG001, the service is reset
    client = server[2]

    def send(path, body=None, method=None, kind="application/json", key=KEY, **headers):
        content = body if body is None or isinstance(body, dict | list | bytes) else body.encode()
        return client(path, content, method, Content_Type=kind, Authorization=key, **headers)

    return send


def texts(response):
    assert response.status == 200, response.body
    return [each["text"] for each in response.json["translations"]]


def test_a_list_of_texts_in_json(call):
    response = call("/v2/translate", {"text": ["a cat", "le chat"], "target_lang": "DE"})
    assert response.status == 400  # no model translates French to German
    response = call(
        "/v2/translate", {"text": ["a cat", "", "x\ny"], "source_lang": "EN", "target_lang": "de"}
    )
    assert response.json == {
        "translations": [
            {"detected_source_language": "EN", "text": "A CAT", "billed_characters": 5},
            {"detected_source_language": "EN", "text": "", "billed_characters": 0},
            {"detected_source_language": "EN", "text": "X\nY", "billed_characters": 3},
        ]
    }


def test_a_form_with_repeated_texts_and_the_key_in_a_field(call, service):
    fields = [("auth_key", "good"), ("text", "a & b"), ("text", "c"), ("target_lang", "FR")]
    assert texts(call("/v2/translate", urlencode(fields), kind=FORM, key=None)) == ["A & B", "C"]
    assert service.requests[0].client == "team"


@pytest.mark.parametrize(
    ("source", "target", "pair"),
    [
        ("EN", "FR", ("en", "fr")),
        ("en-us", "fr-CA", ("en", "fr")),
        ("FR", "EN", ("fr", "en")),
        ("FR", "EN-US", ("fr", "en")),
        ("fr", "en_GB", ("fr", "en")),
        ("EN", "DE-AT", ("en", "de")),
    ],
)
def test_languages_with_and_without_region(call, service, source, target, pair):
    texts(call("/v2/translate", {"text": ["a"], "source_lang": source, "target_lang": target}))
    request = service.requests[0]
    assert (request.source_language, request.target_language) == pair


def test_split_sentences(call, service):
    text = "a b\n  c d\r\ne\n\nf"
    for split, mode, sent in (
        ("0", "lines", text),
        ("1", "sentences", text),
        (1, "sentences", text),
        ("nonewlines", "sentences", "a b c d e\n\nf"),
    ):
        call("/v2/translate", {"text": [text], "target_lang": "FR", "split_sentences": split})
        assert (service.requests[-1].segments, service.requests[-1].texts) == (mode, (sent,))


def test_markup_of_xml_and_html(call):
    text = 'a <x id="7"></x> cat &amp; <g id="1">the <raw>Dog</raw></g> &lt;i&gt;'
    body = {"text": [text], "target_lang": "FR", "tag_handling": "xml", "ignore_tags": ["x", "raw"]}
    written = 'A <x id="7"></x> CAT &amp; <g id="1">THE <raw>Dog</raw></g> &lt;I&gt;'
    assert texts(call("/v2/translate", body)) == [written]
    assert texts(call("/v2/translate", {**body, "ignore_tags": "x,raw"})) == [written]
    page = "<h1>a</h1><p translate=no>b</p>"
    body = {"text": [page], "target_lang": "FR", "tag_handling": "html"}
    assert texts(call("/v2/translate", body)) == ["<h1>A</h1><p translate=no>b</p>"]


def test_what_has_no_effect_is_accepted(call):
    body = {"text": ["a"], "target_lang": "FR", "context": "b", "preserve_formatting": True}
    body |= {"show_billed_characters": False, "formality": "prefer_more", "model_type": "latency_optimized"}
    assert call("/v2/translate", body).json["translations"] == [
        {
            "detected_source_language": "EN",
            "text": "A",
            "billed_characters": 1,
            "model_type_used": "latency_optimized",
        }
    ]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"text": None}, "'text' not specified"),
        ({"text": []}, "'text' not specified"),
        ({"text": [1]}, "list of strings"),
        ({"text": {"a": 1}}, "list of strings"),
        ({"target_lang": None}, "'target_lang' not specified"),
        ({"target_lang": "XX"}, "'target_lang' not supported"),
        ({"target_lang": ["FR"]}, "'target_lang' not supported"),
        ({"source_lang": "XX"}, "'source_lang' not supported"),
        ({"source_lang": "DE"}, "no model translates de to fr"),
        ({"formality": "more"}, "'formality' is not supported"),
        ({"formality": "Less"}, "'formality' is not supported"),
        ({"formality": "polite"}, "'formality' not supported"),
        ({"split_sentences": "maybe"}, "'split_sentences' not supported"),
        ({"split_sentences": True}, "'split_sentences' not supported"),
        ({"tag_handling": "latex"}, "'tag_handling' not supported"),
        ({"tag_handling": "html", "ignore_tags": "x"}, "'ignore_tags' not supported"),
        ({"tag_handling": "xml", "ignore_tags": [1]}, "'ignore_tags' not supported"),
        ({"outline_detection": "x", "tag_handling": "xml"}, "'outline_detection' not supported"),
        ({"text": ["12"]}, "the language is not clear"),
    ],
    ids=str,
)
def test_a_bad_request_is_one_line(call, changes, detail):
    body = {"text": ["a"], "target_lang": "FR", **changes}
    response = call("/v2/translate", body)
    assert (response.status, response.json["message"]) == (400, "Bad request")
    assert detail in response.json["detail"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OverloadedError("the queue is 9 s long", 3), 429),
        (TextTooLongError("too long", 5000), 413),
        (DeadlineExceededError("late"), 503),
        (TranslationFailedError("failed"), 503),
    ],
    ids=str,
)
def test_what_the_service_refuses(call, service, error, status):
    service.error = error
    response = call("/v2/translate", {"text": ["a"], "target_lang": "FR"})
    assert (response.status, response.json["detail"]) == (status, str(error))
    assert response.headers.get("retry-after") == ("3" if status == 429 else None)


@pytest.mark.parametrize(
    ("key", "status"),
    [(None, 403), ("", 403), ("good", 403), ("DeepL-Auth-Key bad", 403), (KEY, 200), (KEY.lower(), 200)],
)
@pytest.mark.parametrize("path", ["/v2/translate", "/v2/languages", "/v2/usage"])
def test_keys(call, path, key, status):
    body = {"text": ["a"], "target_lang": "FR"} if path.endswith("translate") else None
    response = call(path, body, key=key)
    assert response.status == status
    if status == 403:
        assert response.json["message"] == "Authorization failed"


def test_quota_and_rate(call, server):
    access = server[1]
    for error, status in ((QuotaExceededError("used up"), 456), (RateExceededError("wait", 7), 429)):
        access.error = error
        response = call("/v2/translate", {"text": ["a"], "target_lang": "FR"})
        assert (response.status, response.json["detail"]) == (status, str(error))


def test_languages(call):
    sources = [{"language": "EN", "name": "English"}, {"language": "FR", "name": "French"}]
    assert call("/v2/languages").json == sources
    assert call("/v2/languages?type=source").json == sources
    targets = call("/v2/languages?type=target").json
    assert [each["language"] for each in targets] == ["FR", "DE", "EN-GB", "EN-US"]
    assert {each["supports_formality"] for each in targets} == {False}
    assert call("/v2/languages", "type=target", "GET", FORM).json == targets
    assert call("/v2/languages", "type=target", "POST", FORM).json == targets
    assert call("/v2/languages?type=both").status == 400


def test_usage_counts_characters(call):
    assert call("/v2/usage").json == {"character_count": 0, "character_limit": 100}
    call("/v2/translate", {"text": ["abc", "de"], "target_lang": "FR"})
    assert call("/v2/usage").json == {"character_count": 5, "character_limit": 100}


def test_other_addresses_and_methods_in_the_same_shape(call):
    for path, method, status in (("/v2/x", "GET", 404), ("/v3/x", "GET", 404), ("/v2/translate", "PUT", 405)):
        response = call(path, method=method)
        assert (response.status, sorted(response.json)) == (status, ["detail", "message"])
    assert json.loads(call("/v2/x").body)["message"] == "Not found"

"""LibreTranslate's API as its clients and its documentation use it."""

import pytest

from regard.server.operations.access import (
    KeyRequiredError,
    KeyUsage,
    QuotaExceededError,
    RateExceededError,
    UnknownKeyError,
)
from regard.server.surfaces.libretranslate import libretranslate_group
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


class FakeAccess:
    """Knows the key "good"; `error` is raised for every request if it is set."""

    has_keys = key_required = True

    def __init__(self):
        self.error = None
        self.admitted, self.refunded = [], []

    async def admit(self, key, address, characters):
        if self.error:
            raise self.error
        if key is None:
            raise KeyRequiredError("Please contact the server operator to get an API key")
        if key != "good":
            raise UnknownKeyError("Invalid API key")
        self.admitted.append((key, address, characters))
        return "team"

    def refund(self, key, characters):
        self.refunded.append((key, characters))

    async def usage(self, key):  # noqa: ARG002
        return KeyUsage(sum(characters for *_, characters in self.admitted), 100)


@pytest.fixture(scope="module")
def server():
    service = FakeTranslationService()
    with run_server(libretranslate_group(SurfaceContext(service))) as client:
        yield service, client


@pytest.fixture
def service(server):
    service, _ = server
    service.state, service.error = "ready", None
    service.requests.clear()
    return service


@pytest.fixture
def client(server, service):  # noqa: ARG001, the service is reset
    return server[1]


def post(client, path, body, kind="application/json"):
    content = body if isinstance(body, dict | list) else body.encode()
    response = client(path, content, "POST", Content_Type=kind)
    return response.status, response.json


def test_a_text_as_json_form_multipart_and_query(client):
    answer = (200, {"translatedText": "A CAT & A DOG"})
    assert (
        post(client, "/translate", {"q": "a cat & a dog", "source": "en", "target": "fr", "format": "text"})
        == answer
    )
    assert post(client, "/translate", "q=a+cat+%26+a+dog&source=en&target=fr&unknown=1", FORM) == answer
    assert post(client, "/translate?q=a+cat+%26+a+dog&source=en&target=fr", "", FORM) == answer
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (("q", "a cat & a dog"), ("source", "en"), ("target", "fr"))
    )
    assert post(client, "/translate", f"{parts}--x--\r\n", "multipart/form-data; boundary=x") == answer


def test_a_list_keeps_order_line_breaks_and_blank_texts(client):
    body = {"q": ["a\n\n b ", "", "c|d"], "source": "en", "target": "fr"}
    assert post(client, "/translate", body) == (200, {"translatedText": ["A\n\nB", "", "C|D"]})


def test_a_list_of_one_is_answered_with_a_list(client):
    body = {"q": ["a"], "source": "auto", "target": "fr", "alternatives": 1}
    assert post(client, "/translate", body)[1] == {
        "translatedText": ["A"],
        "detectedLanguage": [{"confidence": 98.0, "language": "en"}],
        "alternatives": [["A 2"]],
    }


def test_detected_language_and_alternatives_only_where_asked(client):
    body = {"q": "le chat", "source": "auto", "target": "en", "alternatives": 2}
    assert post(client, "/translate", body)[1] == {
        "translatedText": "LE CHAT",
        "detectedLanguage": {"confidence": 98.0, "language": "fr"},
        "alternatives": ["LE CHAT 2", "LE CHAT 3"],
    }


def test_html_keeps_markup(client):
    body = {"q": "<p>a <b>cat</b> &lt;i&gt;</p>", "source": "en", "target": "fr", "format": "html"}
    assert post(client, "/translate", body)[1]["translatedText"] == "<p>A <b>CAT</b> &lt;I&gt;</p>"


def test_a_language_to_itself(client):
    body = {"q": "a", "source": "en", "target": "en"}
    assert post(client, "/translate", body) == (200, {"translatedText": "a"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": "a"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": 3, "source": "en", "target": "fr"}, "q must be a string or a list of strings"),
        ({"q": ["a", 3], "source": "en", "target": "fr"}, "q must be a string or a list of strings"),
        ({"q": {"a": 1}, "source": "en", "target": "fr"}, "q must be a string or a list of strings"),
        ({"q": "a", "source": ["en"], "target": "fr"}, "source must be a string"),
        ({"q": "a", "source": "en", "target": "zz"}, "zz is not supported"),
        ({"q": "a", "source": "zz", "target": "fr"}, "zz is not supported"),
        ({"q": "a", "source": "de", "target": "fr"}, "no model translates de to fr"),
        ({"q": "a", "source": "en", "target": "fr", "format": "pdf"}, "pdf format is not supported"),
        ({"q": "a", "source": "en", "target": "fr", "format": ["text"]}, "format is not supported"),
        ({"q": "a", "source": "en", "target": "fr", "alternatives": "x"}, "alternatives parameter is not"),
        ({"q": "a", "source": "en", "target": "fr", "alternatives": -1}, "alternatives parameter is not"),
        ({"q": "a", "source": "en", "target": "fr", "alternatives": True}, "alternatives parameter is not"),
        ({"q": "a", "source": "en", "target": "fr", "alternatives": 1.5}, "alternatives parameter is not"),
        ({"q": "a", "source": "en", "target": "fr", "api_key": 3}, "api_key must be a string"),
        ({"q": "12", "source": "auto", "target": "fr"}, "the language is not clear"),
        ([], "not a JSON object"),
        ('{"q": NaN}', "not JSON"),
        ('{"q": "\\ud800", "source": "en", "target": "fr"}', "lone surrogates"),
        ('{"q": "a", "q": "b"}', "not JSON"),
        ("q=a", "not JSON"),
    ],
)
def test_a_bad_request_is_one_line_and_no_server_error(client, body, message):
    status, answer = post(client, "/translate", body)
    assert status == 400
    assert list(answer) == ["error"]
    assert message in answer["error"]


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (OverloadedError("the queue is 9 s long", 3), 429, "3"),
        (TextTooLongError("text 1 has 6,000 characters; the limit is 5,000", 5000), 400, None),
        (DeadlineExceededError("not finished"), 504, None),
        (TranslationFailedError("the engine failed"), 503, None),
    ],
)
def test_what_the_service_refuses(client, service, error, status, retry_after):
    service.error = error
    response = client("/translate", b"q=a&source=en&target=fr", Content_Type=FORM)
    assert response.status == status
    assert str(error) in response.json["error"]
    assert response.json["error"].startswith("Slowdown: ") == (status == 429)
    assert response.headers.get("retry-after") == retry_after


def test_a_server_that_starts_or_drains(client, service):
    service.state = "starting"
    response = client("/translate", b"q=a&source=en&target=fr", Content_Type=FORM)
    assert (response.status, response.headers["retry-after"]) == (503, "5")
    response = client("/health")
    assert (response.status, response.json) == (503, {"status": "starting"})
    service.state = "ready"
    assert client("/health").json == {"status": "ok"}


def test_detect(client):
    assert post(client, "/detect", "q=le+chat", FORM) == (
        200,
        [{"confidence": 98.0, "language": "fr"}, {"confidence": 2.0, "language": "en"}],
    )
    assert post(client, "/detect", "", FORM)[0] == 400
    assert client("/detect").status == 405


def test_languages_list_also_those_that_are_only_targets(client):
    response = client("/languages", b"api_key=x", "GET", Content_Type=FORM)
    assert response.json == [
        {"code": "en", "name": "English", "targets": ["en", "fr", "de"]},
        {"code": "fr", "name": "French", "targets": ["fr", "en"]},
        {"code": "de", "name": "German", "targets": ["de"]},
    ]


def test_frontend_settings_and_suggestions(client):
    settings = client("/frontend/settings").json
    assert settings["charLimit"] == 5000
    assert settings["language"]["source"]["code"] == "auto"
    assert not settings["keyRequired"]
    status, answer = post(client, "/suggest", {"q": "a", "s": "b", "source": "en", "target": "fr"})
    assert (status, answer["error"]) == (403, "Suggestions are disabled on this server.")


@pytest.mark.parametrize(("key", "status"), [(None, 400), ("", 400), ("bad", 403), ("good", 200)], ids=str)
def test_keys(key, status):
    access, service = FakeAccess(), FakeTranslationService()
    entries = []
    group = libretranslate_group(SurfaceContext(service, access=access))
    with run_server(group, access_log=entries.append) as client:
        body = {"q": ["abc", "de"], "source": "en", "target": "fr"}
        body |= {} if key is None else {"api_key": key}
        assert post(client, "/translate", body)[0] == status
        assert client("/frontend/settings").json["keyRequired"]
        if status == 200:
            assert access.admitted == [("good", "127.0.0.1", 5)]
            assert service.requests[0].client == "team"
            assert entries[0].fields == {"characters": 5, "key": "team"}
            for error, code in ((RateExceededError("wait", 7), 429), (QuotaExceededError("used up"), 403)):
                access.error = error
                assert post(client, "/translate", body)[0] == code
        else:
            assert service.requests == []

"""The server's own API: every option reaches the service, and streams carry events in order."""

import json

import pytest

from regard.server.surfaces.native import native_group
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.requests import OverloadedError, TextRequest, TranslationFailedError
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

STREAM = {"Accept": "text/event-stream"}


class FailingService(FakeTranslationService):
    """Fails after the first segment of a stream."""

    async def stream(self, request):
        async for event in super().stream(request):
            yield event
            raise TranslationFailedError("the engine failed")


@pytest.fixture(scope="module")
def server():
    service = FakeTranslationService()
    with run_server(native_group(SurfaceContext(service))) as client:
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


def read_events(body):
    blocks = [block.split("\n") for block in body.decode().rstrip("\n").split("\n\n")]
    assert all(len(block) == 2 for block in blocks)
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_a_text_and_a_list(client):
    answer = client("/api/translate", {"text": "a cat", "source": "en", "target": "fr"})
    expected = {"text": "A CAT", "source": "en", "target": "fr", "model": "en-fr", "status": "whole"}
    assert (answer.status, answer.json) == (200, {"translations": [expected]})
    answer = client("/api/translate", {"text": ["le chat", "a"], "target": "en"})
    detected = {"language": "fr", "confidence": 0.98}
    assert answer.json["translations"][0]["detected"] == detected
    assert len(answer.json["translations"]) == 2


def test_every_field_reaches_the_service(client, service):
    body = {
        "text": ["a"],
        "source": "en",
        "target": "fr",
        "format": "text",
        "segments": "sentences",
        "alternatives": 2,
        "glossary": {"cat": "matou"},
        "forbidden": ["chat"],
        "prefix": "Le",
        "beam": 3,
        "confidences": True,
        "alignments": True,
        "sentences": True,
        "model": "en-fr",
        "timeout_ms": 1500,
    }
    assert client("/api/translate", body).status == 200
    assert service.requests == [
        TextRequest(
            ("a",),
            "fr",
            "en",
            "text",
            "sentences",
            2,
            (("cat", "matou"),),
            ("chat",),
            "Le",
            3,
            True,
            True,
            True,
            "en-fr",
            1.5,
            "127.0.0.1",
        )
    ]
    assert client("/api/translate", body | {"glossary": [["cat", "matou"]]}).status == 200
    assert service.requests[1] == service.requests[0]


def test_segments_with_words_and_alignment(client):
    body = {"text": "a cat", "source": "en", "target": "fr", "confidences": True, "alignments": True}
    [text] = client("/api/translate", body).json["translations"]
    assert text["segments"] == [
        {
            "source": "a cat",
            "text": "A CAT",
            "status": "whole",
            "score": -0.5,
            "alignment": [[0, 0], [1, 1]],
            "words": [{"text": "A", "confidence": 0.9}, {"text": "CAT", "confidence": 0.9}],
        }
    ]


def test_a_stream_has_segments_then_texts_then_its_end(client):
    body = {"text": ["a\nb", "c"], "source": "en", "target": "fr"}
    response = client("/api/translate", body, **STREAM)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = read_events(response.body)
    assert [name for name, _ in events] == ["segment", "segment", "text", "segment", "text", "done"]
    assert events[1][1] == {
        "text_index": 0,
        "segment_index": 1,
        "source": "b",
        "text": "B",
        "status": "whole",
        "score": -0.5,
    }
    assert events[2][1]["text"] == "A\nB"


def test_an_error_in_a_stream_is_its_last_event():
    with run_server(native_group(SurfaceContext(FailingService()))) as client:
        response = client("/api/translate", {"text": "a", "source": "en", "target": "fr"}, **STREAM)
    events = read_events(response.body)
    error = {"code": "translation_failed", "message": "the engine failed"}
    assert events[1:] == [("error", {"error": error})]


def test_a_stream_that_is_refused_is_no_stream(client, service):
    service.error = OverloadedError("the queue is 9 s long", 3)
    response = client("/api/translate", {"text": "a", "source": "en", "target": "fr"}, **STREAM)
    assert (response.status, response.headers["retry-after"]) == (429, "3")
    assert response.code == "overloaded"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "missing required field `text`"),
        ({"text": 3, "target": "fr"}, 400, "`$.text`"),
        ({"text": "a", "target": "fr", "beem": 3}, 400, "unknown field `beem`"),
        ({"text": "a", "target": "fr", "beam": "3"}, 400, "`$.beam`"),
        ({"text": "a", "target": "fr", "format": "pdf"}, 400, "`$.format`"),
        ({"text": "a", "target": "fr", "glossary": {"a": 1}}, 400, "`$.glossary"),
        ({"text": "a", "target": "fr", "timeout_ms": 10**400}, 400, ""),
        ({"text": "a", "target": "fr", "timeout_ms": 0}, 400, "timeout_ms must be from 1 to"),
        ({"text": "a"}, 400, "give target, one of de, en, fr"),
        ({"text": "a", "target": "zz"}, 400, "zz is not supported"),
        ({"text": "12", "target": "fr"}, 400, "the language is not clear"),
        ([], 400, "not a JSON object"),
    ],
)
def test_a_bad_request_names_the_field(client, body, status, message):
    response = client("/api/translate", body)
    assert response.status == status
    assert message in response.json["error"]["message"]


def test_an_authorization_of_another_kind(client):
    body = {"text": "a", "source": "en", "target": "fr"}
    assert client("/api/translate", body, Authorization="Basic eDp5").status == 401
    assert client("/api/translate", body, Authorization="Bearer x").status == 200


def test_languages_models_and_detection(client):
    languages = client("/api/languages").json["languages"]
    assert languages[0] == {"code": "en", "name": "English", "targets": ["en", "fr", "de"]}
    models = client("/api/models").json["models"]
    assert [each["name"] for each in models] == ["en-fr", "en-de", "fr-en"]
    answer = client("/api/detect", {"text": "le chat"}).json
    assert answer["languages"][0] == {"language": "fr", "confidence": 0.98}
    assert client("/api/nothing").code == "not_found"

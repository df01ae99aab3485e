"""Documents on the server's own API: upload, progress, result and refusals."""

import time
from contextlib import asynccontextmanager

import pytest

from regard.server.surfaces.native_documents import native_document_groups
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.document_jobs import DocumentJobs
from regard.server.translation.requests import TranslationFailedError
from regard.server.translation.serve_settings import StorageSettings
from server.fake_translation import FakeTranslationService
from server.http_client import run_server


@pytest.fixture(scope="module")
def server():
    service = FakeTranslationService()
    documents = DocumentJobs(service, StorageSettings(document_megabytes=1))

    @asynccontextmanager
    async def closing(_):
        yield
        await documents.close()

    groups = native_document_groups(SurfaceContext(service, documents=documents))
    with run_server(*groups, lifespan=closing) as client:
        yield service, client


def upload(client, content=b"a cat", name="a.txt", **fields):
    parts = [
        f'--X\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = f'--X\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    body = b"".join(parts) + head + content + b"\r\n--X--\r\n"
    return client("/api/documents", body, Content_Type="multipart/form-data; boundary=X")


def wait_until_finished(client, answer):
    while answer.json["state"] in ("queued", "translating"):
        time.sleep(0.02)
        answer = client(f"/api/documents/{answer.json['id']}")
    return answer.json


def test_a_document_is_uploaded_followed_and_fetched(server):
    service, client = server
    service.requests.clear()
    fields = {"source": "en", "target": "fr", "glossary": '[["cat", "matou"]]'}
    answer = upload(client, b"<p>a <b>cat</b></p>", "ä b.html", **fields)
    assert answer.status == 200
    progress = wait_until_finished(client, answer)
    assert progress["state"] == "done"
    assert (progress["translated"], progress["sentences"]) == (1, 1)
    result = client(f"/api/documents/{progress['id']}/result")
    assert result.body == b"<p>A <b>CAT</b></p>"
    assert (
        "attachment" in {name.lower(): value for name, value in result.headers.items()}["content-disposition"]
    )
    assert service.requests[0].glossary == (("cat", "matou"),)


@pytest.mark.parametrize(
    ("name", "fields", "status", "message"),
    [
        ("a.txt", {}, 400, "give target"),
        ("a.txt", {"target": "zz"}, 400, "zz is not supported"),
        ("a.exe", {"target": "fr"}, 400, "no known format"),
        ("a.txt", {"target": "fr", "glossary": "{}"}, 400, "list of pairs"),
        ("a.txt", {"target": "fr", "glossary": '[["a"]]'}, 400, "list of pairs"),
    ],
)
def test_a_refused_document_says_why(server, name, fields, status, message):
    answer = upload(server[1], name=name, **fields)
    assert answer.status == status
    assert message in answer.json["error"]["message"]


def test_a_document_that_fails_or_does_not_exist(server):
    service, client = server
    service.error = TranslationFailedError("the engine failed")
    progress = wait_until_finished(client, upload(client, target="fr", source="en"))
    service.error = None
    assert (progress["state"], progress["message"]) == ("error", "the engine failed")
    assert client(f"/api/documents/{progress['id']}/result").status == 404
    assert client("/api/documents/00").status == 404
    assert upload(client, b"x" * 2_000_000, target="fr").status == 413
    assert native_document_groups(SurfaceContext(service)) == []

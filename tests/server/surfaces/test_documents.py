"""Documents on the surfaces of DeepL and LibreTranslate: upload, progress, result and every refusal."""

import asyncio
import gc
import io
import tempfile
import time
import zipfile
from contextlib import asynccontextmanager

import pytest

from regard.server.surfaces.deepl.deepl_group import deepl_groups
from regard.server.surfaces.libretranslate import libretranslate_groups
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.collection_pause import CollectionPause
from regard.server.translation.document_jobs import DocumentJobs, DocumentRequest, clean_name, split_requests
from regard.server.translation.requests import OverloadedError, TranslationFailedError
from regard.server.translation.scratch_folder import ScratchFolder
from regard.server.translation.serve_settings import LimitSettings, StorageSettings
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

EN_FR = {"source_lang": "EN", "target_lang": "FR"}
PAGE = b"<html lang='en'><p>a <b>cat</b></p><p translate=no>b</p></html>"


class BusyService(FakeTranslationService):
    """Refuses the first `busy` requests."""

    busy = 0

    async def translate(self, request):
        if self.busy:
            self.busy -= 1
            raise OverloadedError("the queue is long", 0)
        return await super().translate(request)


def closing(documents):
    """Return the lifespan of a server with documents."""

    @asynccontextmanager
    async def lifespan(_):
        yield
        await documents.close()
        assert documents._folder is None

    return lifespan


@pytest.fixture(scope="module")
def server():
    service = BusyService()
    storage = StorageSettings(document_megabytes=1, document_jobs=3)
    documents = DocumentJobs(service, storage, LimitSettings(text_characters=500, texts=10))
    context = SurfaceContext(service, documents=documents)
    with run_server(
        *libretranslate_groups(context), *deepl_groups(context), lifespan=closing(documents)
    ) as client:
        yield service, client, documents


@pytest.fixture
def client(server):
    service, client, _ = server
    service.error, service.busy = None, 0
    service.requests.clear()
    return client


def send(client, path, content, name, fields):
    body = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (key.encode(), value.encode())
        for key, value in fields.items()
    )
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n\r\n' % name.encode()
    body += head + content + b"\r\n--x--\r\n"
    return client(path, body, "POST", Content_Type="multipart/form-data; boundary=x")


def wait(client, handle):
    address, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    for _ in range(500):
        status = client(address, key).json
        if status["status"] in ("done", "error"):
            return status, client(f"{address}/result", key)
        time.sleep(0.01)
    raise AssertionError(status)


def translate(client, content, name, **fields):
    response = send(client, "/v2/document", content, name, {**EN_FR, **fields})
    assert response.status == 200, response.body
    return wait(client, response.json)


def test_upload_status_and_result(client):
    status, result = translate(client, PAGE, "C:\\my page.html")
    assert (status["status"], status["billed_characters"]) == ("done", 5)
    assert result.body == b"<html lang='fr'><p>A <b>CAT</b></p><p translate=no>b</p></html>"
    assert "filename*=utf-8''my%20page.fr.html" in result.headers["content-disposition"]


def test_an_archive(client):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        text = "<office:text><text:p>a cat</text:p></office:text>"
        names = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        names += 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
        body = f"<office:document-content {names}><office:body>{text}</office:body></office:document-content>"
        archive.writestr("content.xml", body)
    status, result = translate(client, content.getvalue(), "a.odt")
    assert status["status"] == "done"
    with zipfile.ZipFile(io.BytesIO(result.body)) as archive:
        assert b"A CAT" in archive.read("content.xml")


def test_many_sentences_go_in_requests_that_the_server_takes(client, server):
    service = server[0]
    service.busy = 2  # it is tried again
    _, result = translate(client, b"".join(b"line %d\n" % n for n in range(95)), "a.txt")
    assert result.body == b"".join(b"LINE %d\n" % n for n in range(95))
    assert [len(each.texts) for each in service.requests] == [10] * 9 + [5]
    assert {each.client for each in service.requests} == {"127.0.0.1"}


def test_the_language_is_told_by_the_document(client, server):
    status, _ = translate(client, b"le chat\nle chien\n", "a.txt", source_lang="", target_lang="EN-GB")
    assert status["status"] == "done"
    assert server[0].requests[0].source_language == "fr"
    status, result = translate(client, b"le chat\n", "a.txt", source_lang="", target_lang="FR")
    assert (status["status"], status["error_message"]) == ("error", "Source and target language are equal.")
    assert result.status == 400


def test_an_error_on_the_way(client, server):
    server[0].error = TranslationFailedError("the engine failed")
    status, result = translate(client, b"a\n", "a.txt")
    assert (status["status"], status["error_message"]) == ("error", "the engine failed")
    assert (result.status, result.json["detail"]) == (400, "the engine failed")


@pytest.mark.parametrize(
    ("content", "name", "fields", "status", "detail"),
    [
        (b"a", "a.exe", {}, 400, "Invalid file data"),
        (b"a", "", {}, 400, ""),
        (b"a", "a.docx", {}, 400, "Invalid file data"),
        (b"\xff\xfe\x00", "a.json", {}, 400, "Invalid file data"),
        (b"a" * 501, "a.txt", {}, 400, "a sentence has 501 characters; it may have 500"),
        (b"a", "a.txt", {"target_lang": ""}, 400, "'target_lang' not specified"),
        (b"a", "a.txt", {"target_lang": "XX"}, 400, "'target_lang' not supported"),
        (b"a", "a.txt", {"formality": "more"}, 400, "formality"),
        (b"a", "a.txt", {"output_format": "pdf"}, 400, "'output_format' not supported"),
        (b"a", "a.txt", {"glossary_id": "x"}, 404, "no glossary"),
        (b"a" * (2**20 + 1), "a.txt", {}, 413, "larger than 1 MB"),
        (b"a" * (3 * 2**20), "a.txt", {}, 413, "larger than"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_document(client, content, name, fields, status, detail):
    response = send(client, "/v2/document", content, name, {**EN_FR, **fields})
    assert (response.status, sorted(response.json)) == (status, ["detail", "message"])
    assert detail in response.json["detail"]


def test_only_who_has_the_key_gets_a_document(client):
    handle = send(client, "/v2/document", b"a\n", "a.txt", EN_FR).json
    wait(client, handle)
    address = f"/v2/document/{handle['document_id']}"
    for path in (address, f"{address}/result"):
        assert client(path, {"document_key": "0" * 64}).status == 404
        assert client(path, {}).status == 400
    assert client(f"/v2/document/{'0' * 32}", {"document_key": handle["document_key"]}).status == 404


def test_glossary_terms_of_a_document(client, server):
    glossary = {"name": "mine", **EN_FR, "entries": "cat\tmatou\nbird\toiseau", "entries_format": "tsv"}
    identity = client("/v2/glossaries", glossary).json["glossary_id"]
    translate(client, b"a cat\na dog\n", "a.txt", glossary_id=identity)
    assert server[0].requests[-1].glossary == (("cat", "matou"),)


def test_files_with_the_api_of_libretranslate(client):
    fields = {"source": "auto", "target": "fr"}
    response = send(client, "/translate_file", PAGE, "page.html", fields)
    link = response.json["translatedFileUrl"]
    assert link.startswith(f"http://127.0.0.1:{client.port}/download_file/")
    path = link.partition(str(client.port))[2]
    assert client(path).body == b"<html lang='fr'><p>A <b>CAT</b></p><p translate=no>b</p></html>"
    assert client(path[:-1]).status == client("/download_file/x").status == 404
    settings = client("/frontend/settings").json
    assert settings["filesTranslation"]
    assert ".docx" in settings["supportedFilesFormat"]
    for content, name, changes, message in (
        (b"a", "a.exe", {}, "is of no known format"),
        (b"a", "a.txt", {"target": "zz"}, "zz is not supported"),
        (b"a", "a.txt", {"target": ""}, "missing target parameter"),
    ):
        response = send(client, "/translate_file", content, name, fields | changes)
        assert (response.status, message in response.json["error"]) == (400, True), response.body
    response = client("/translate_file", b"q=a", Content_Type="application/x-www-form-urlencoded")
    assert (response.status, list(response.json)) == (415, ["error"])


def test_documents_expire_and_leave_no_files():
    service = FakeTranslationService()
    documents = DocumentJobs(service, StorageSettings(document_minutes=0.01))
    groups = deepl_groups(SurfaceContext(service, documents=documents))
    with run_server(*groups, lifespan=closing(documents)) as client:
        handle = send(client, "/v2/document", b"a\n", "a.txt", EN_FR).json
        assert wait(client, handle)[0]["status"] == "done"
        folder = documents._folder.path
        assert [each.suffix for each in folder.iterdir() if each.name != "lock"] == [".result"]
        time.sleep(0.8)
        address = f"/v2/document/{handle['document_id']}"
        assert client(address, {"document_key": handle["document_key"]}).status == 404
        assert [each.name for each in folder.iterdir()] == ["lock"]
    assert not folder.exists()


def test_a_client_that_leaves_during_the_upload_leaves_no_document(monkeypatch):
    async def run():
        documents = DocumentJobs(FakeTranslationService())
        in_thread = documents._in_thread

        async def leave(work, *arguments):
            if work.__name__ == "write_bytes":
                raise asyncio.CancelledError
            return await in_thread(work, *arguments)

        async def admit(_):
            return "client"

        monkeypatch.setattr(documents, "_in_thread", leave)
        with pytest.raises(asyncio.CancelledError):
            await documents.submit(b"a\n", "a.txt", DocumentRequest("en", "fr"), admit)
        assert documents._jobs == {}
        assert documents._unread_bytes == 0
        await documents.close()

    asyncio.run(run())


def test_clients_take_turns_and_a_stop_ends_what_waits():
    class SlowService(FakeTranslationService):
        async def translate(self, request):
            await self.go_on.acquire()
            return await super().translate(request)

    service = SlowService()

    async def run():
        service.go_on = asyncio.Semaphore(0)
        documents = DocumentJobs(service)

        async def submit(client, text):
            async def admit(_):
                return client

            return await documents.submit(text, "a.txt", DocumentRequest("fr", "en"), admit)

        names = [("a", b"a1"), ("a", b"a2"), ("a", b"a3"), ("a", b"a4"), ("b", b"b1")]
        jobs = [await submit(*each) for each in names]
        for _ in range(4):
            service.go_on.release()
        for job in (*jobs[:3], jobs[4]):
            await asyncio.wait_for(job.finished.wait(), 20)
        assert jobs[4].started < jobs[2].started  # b has its turn before a has a third
        await documents.close()
        assert [job.state for job in jobs] == ["done", "done", "done", "error", "done"]
        assert all(job.finished.is_set() for job in jobs)

    asyncio.run(run())


def test_collections_wait_for_every_document():
    pause = CollectionPause()
    with pause.hold():
        with pytest.raises(ValueError, match="broken"), pause.hold():
            raise ValueError("broken")
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    pause.include_all()
    assert gc.get_freeze_count() == 0


def test_files_of_a_killed_server_are_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "documents-killed").mkdir()
    for name in ("lock", "a.source"):
        (tmp_path / "documents-killed" / name).touch()
    (tmp_path / "documents-of-another-program").mkdir()
    alive = ScratchFolder("documents-")
    new = ScratchFolder("documents-")
    names = {each.name for each in tmp_path.iterdir()}
    assert names == {"documents-of-another-program", alive.path.name, new.path.name}
    new.close()
    alive.close()
    assert [each.name for each in tmp_path.iterdir()] == ["documents-of-another-program"]


def test_file_names_and_requests():
    assert clean_name('../a/b\n"%c.txt') == "b___c.txt"
    assert clean_name("") == "document"
    assert len(clean_name("a" * 500 + ".html")) == 120
    limits = LimitSettings(text_characters=10, texts=3, request_characters=12)
    assert split_requests(["a"] * 4 + ["b" * 10, "ccc"], limits) == [("a",) * 3, ("a", "b" * 10), ("ccc",)]

"""What the operator of a server sees: health, metrics, reloads, HTTPS and the access log."""

import asyncio
import io
import json
import os
import signal
import ssl
import subprocess
import urllib.request
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from regard.errors import RegardError
from regard.server.operations.model_reload import reloading
from regard.server.operations.server_metrics import HttpMetrics, prometheus_text
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.requests import ReloadResult, ServedModel, ServiceMetrics
from regard.server.translation.serve_settings import LimitSettings, ModelSettings, ServeSettings
from regard.server.translation_server import translation_groups
from regard.server.web.access_log import JsonAccessLog, LogEntry
from regard.server.web.web_server import TlsFiles, WebServer
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

SETTINGS = ServeSettings({"model": ModelSettings("x")})


def read_metrics(text):
    """Return the samples by name and labels, as Prometheus' own parser reads them."""
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation for family in families)
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_parser_of_prometheus_reads_the_metrics():
    http = HttpMetrics()
    for milliseconds in (4.0, 40.0, 99_000.0):
        http.observe(LogEntry("POST", "/translate", 200, milliseconds))
    http.observe(LogEntry("POST", "/translate", 0, 1.0))
    metrics = ServiceMetrics(
        "ready",
        3,
        1.5,
        refused={"overloaded": 2},
        batch_sizes={1: 2, 8: 1},
        models=(ServedModel('a"b\\c\nd', "en", "fr", "abc", "ctranslate2 int8"),),
    )
    samples = read_metrics(prometheus_text(metrics, http))
    assert samples["regard_ready",] == 1
    assert samples["regard_queue_seconds",] == 1.5
    assert samples["regard_refused_requests_total", ("reason", "overloaded")] == 2
    assert samples["regard_batch_size_bucket", ("le", "1")] == 2
    assert samples["regard_batch_size_bucket", ("le", "8")] == 3
    assert samples["regard_batch_size_bucket", ("le", "+Inf")] == 3
    assert samples["regard_batch_size_sum",] == 10
    [model] = [dict(labels) for name, *labels in samples if name == "regard_model_info"]
    assert model == {
        "model": 'a"b\\c\nd',
        "pair": "en-fr",
        "version": "abc",
        "engine": "ctranslate2 int8",
    }
    route = ("route", "/translate")
    assert samples["regard_http_requests_total", route, ("status", "200")] == 3
    assert samples["regard_http_requests_total", route, ("status", "gone")] == 1
    assert samples["regard_http_request_seconds_bucket", ("le", "0.05"), route] == 3
    assert samples["regard_http_request_seconds_count", route] == 4
    assert samples["regard_http_request_seconds_sum", route] == pytest.approx(99.045)


def test_a_server_without_requests_has_metrics_too():
    samples = read_metrics(prometheus_text(ServiceMetrics(), HttpMetrics()))
    assert samples["regard_ready",] == 0
    assert samples["regard_batch_size_count",] == 0


def test_health_and_metrics_of_a_server_and_its_log():
    service, http, log = FakeTranslationService(), HttpMetrics(), io.StringIO()
    write = JsonAccessLog(log.write)

    def note(entry):
        http.observe(entry)
        write(entry)

    groups = translation_groups(SurfaceContext(service), SETTINGS, http)
    with run_server(*groups, access_log=note) as client:
        assert client("/livez").status == client("/readyz").status == 200
        assert client("/translate?q=secret&source=en&target=fr&api_key=hidden", b"", "POST").status == 200
        assert client("/nothing").json == {"error": "this address does not exist"}
        service.state = "draining"
        assert client("/livez").status == 200
        answer = client("/readyz")
        assert (answer.status, answer.json) == (503, {"status": "draining"})
        samples = read_metrics(client("/metrics").body.decode())
    assert samples["regard_http_requests_total", ("route", "/translate"), ("status", "200")] == 1
    assert samples["regard_http_requests_total", ("route", "-"), ("status", "404")] == 1
    entries = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(each["route"], each["status"]) for each in entries][2:4] == [("/translate", 200), ("-", 404)]
    assert entries[2]["characters"] == 6
    assert "secret" not in log.getvalue()
    assert "hidden" not in log.getvalue()


class ReloadingService(FakeTranslationService):
    """Counts reloads; `results` are those of the next ones."""

    def __init__(self, *results):
        super().__init__()
        self.results, self.reloads = list(results), 0

    async def reload(self):
        self.reloads += 1
        return self.results.pop(0) if self.results else ReloadResult()


def run_reloading(service, seconds, work):
    """Run a coroutine while models are reloaded; return what was reported."""
    lines = []

    async def run():
        async with reloading(service, seconds, lines.append):
            await work()

    asyncio.run(run())
    return lines


async def wait_for(condition):
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not happen")


def test_changed_folders_are_reloaded_and_failures_tried_less_often():
    failed = ReloadResult(failed={"b": "it is damaged"})
    service = ReloadingService(ReloadResult(("a",)), failed, failed, failed)
    lines = run_reloading(service, 0.01, lambda: wait_for(lambda: service.reloads > 4))
    assert lines == ["a was reloaded", *["b stays as it was: it is damaged"] * 3]


def test_sighup_reloads_at_once():
    service = ReloadingService()

    async def work():
        for number in (1, 2):
            os.kill(os.getpid(), signal.SIGHUP)
            await wait_for(lambda number=number: service.reloads == number)

    before = signal.getsignal(signal.SIGHUP)
    assert run_reloading(service, 0, work) == ["no model has changed"] * 2
    assert signal.getsignal(signal.SIGHUP) == before


def test_a_server_that_drains_reloads_nothing():
    service = ReloadingService()
    service.state = "draining"
    assert run_reloading(service, 0.01, lambda: asyncio.sleep(0.1)) == []
    assert service.reloads == 0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    files = TlsFiles(folder / "cert.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    output = ["-keyout", str(files.key), "-out", str(files.certificate)]
    subprocess.run([*command, *names, *output], check=True, capture_output=True)
    return files


def test_https(certificate):
    groups = translation_groups(SurfaceContext(FakeTranslationService()), SETTINGS, HttpMetrics())
    with run_server(*groups, tls=certificate) as client:
        assert client.server.url == f"https://127.0.0.1:{client.port}/"
        context = ssl.create_default_context(cafile=certificate.certificate)
        request = urllib.request.Request(f"{client.server.url}translate", b"q=a&source=en&target=fr")
        request.add_header("Origin", client.server.url.rstrip("/"))
        with urllib.request.urlopen(request, context=context, timeout=20) as response:
            assert json.load(response) == {"translatedText": "A"}


def test_files_that_are_no_certificate(certificate, tmp_path):
    with pytest.raises(RegardError, match="are not a certificate and its key in PEM"):
        WebServer("127.0.0.1", 0, tls=replace_key(certificate, tmp_path / "key.pem"))


def replace_key(certificate, path):
    path.write_text("no key")
    return certificate._replace(key=path)


def test_limits_reach_the_surfaces():
    settings = replace(SETTINGS, limits=LimitSettings(text_characters=77))
    context = SurfaceContext(FakeTranslationService(), settings.limits)
    groups = translation_groups(context, settings, HttpMetrics())
    with run_server(*groups) as client:
        assert client("/frontend/settings").json["charLimit"] == 77

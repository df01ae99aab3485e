"""The examples in docs/serving.md, with a server that has no model, and its settings."""

import re
import subprocess
from pathlib import Path

import pytest

from regard.server.operations.server_metrics import HttpMetrics, prometheus_text
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.document_jobs import DocumentJobs
from regard.server.translation.requests import ServiceMetrics
from regard.server.translation.serve_settings import (
    LimitSettings,
    ModelSettings,
    ServeSettings,
    StorageSettings,
    read_serve_settings,
)
from regard.server.translation_server import translation_groups
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "serving.md").read_text("utf-8")
ADDRESS = "127.0.0.1:5000"
SETTINGS = ServeSettings({"model": ModelSettings("x")})


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def curl_commands():
    scripts = (block.replace("\\\n", " ") for block in blocks("sh"))
    return [block for block in scripts if block.startswith("curl ")]


@pytest.fixture(scope="module")
def address():
    service = FakeTranslationService()
    documents = DocumentJobs(service, StorageSettings(), LimitSettings())
    context = SurfaceContext(service, documents=documents)
    with run_server(*translation_groups(context, SETTINGS, HttpMetrics())) as client:
        yield f"127.0.0.1:{client.port}"


@pytest.mark.parametrize("command", curl_commands())
def test_a_curl_command_is_answered(command, address, tmp_path):
    (tmp_path / "report.docx").write_bytes(b"no document")
    script = command.replace("curl ", "curl --silent --show-error --fail ").replace(ADDRESS, address)
    result = subprocess.run(
        ["bash", "-ec", script], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )
    if "report.docx" in command:  # which is refused as what it is
        assert "400" in result.stderr
    else:
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith("{")


def test_there_are_commands_for_each_api():
    assert {re.search(r"5000(/\w+)", each)[1] for each in curl_commands()} >= {"/translate", "/api", "/v2"}


def test_the_python_runs(address, capsys):
    [program] = blocks("python")
    exec(compile(program.replace(ADDRESS, address), "serving.md", "exec"), {})
    assert capsys.readouterr().out == "THE CAT SLEEPS.\nA DOG BARKS.\n"


@pytest.mark.parametrize("text", blocks("toml"))
def test_the_settings_can_be_read(text, tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text(text if "[models" in text else f'[models.en-fr]\npath = "x"\n{text}')
    assert read_serve_settings(file).models


def test_the_metrics_of_the_pages_exist():
    pages = PAGE + (DOCS / "scale-out.md").read_text("utf-8")
    metrics = prometheus_text(ServiceMetrics(refused={"overloaded": 1}), HttpMetrics())
    named = set(re.findall(r"\bregard_\w+(?:\{\w+=\"\w+\"\})?", pages))
    assert len(named) > 1
    assert [name for name in named if f"\n{name} " not in metrics] == []

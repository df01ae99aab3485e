"""The files in deploy/: their commands, flags and addresses are real, and the image's packages suffice."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.parse
import urllib.request
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from regard.cli.main import _build_parser
from regard.server.operations.health import health_routes
from regard.server.operations.server_metrics import HttpMetrics, prometheus_text
from regard.server.translation.requests import ServiceMetrics
from regard.server.translation.serve_settings import LimitSettings, read_serve_settings
from server.fake_translation import FakeTranslationService
from server.random_model import save_random

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
UNIT = (DEPLOY / "regard.service").read_text("utf-8")
NOT_IN_THE_IMAGE = {"torch", "sacrebleu", "huggingface-hub"}
"""Requirements of regard and of its packages that the server does not import."""


def normalize(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def image_packages():
    lines = (DEPLOY / "requirements.txt").read_text("utf-8").splitlines()
    return {normalize(line) for line in lines if line and not line.startswith("#")}


def dockerfile_lists(instruction):
    """Return the arguments of an instruction in JSON form, as ENTRYPOINT, in all its places."""
    return [
        json.loads(each) for each in re.findall(rf"^ *{instruction} +(\[.*\])$", DOCKERFILE, re.MULTILINE)
    ]


def test_the_command_of_the_image_can_be_parsed():
    [entrypoint], [command] = dockerfile_lists("ENTRYPOINT"), dockerfile_lists("CMD")
    options = _build_parser().parse_args([*entrypoint[1:], *command])
    assert entrypoint[0] == "regard"
    assert (options.host, options.model) == ("0.0.0.0", Path("/model"))
    assert re.search(rf"^EXPOSE {options.port}$", DOCKERFILE, re.MULTILINE)
    [check] = [line for line in DOCKERFILE.splitlines() if line.startswith("HEALTHCHECK")]
    assert f"http://127.0.0.1:{options.port}/readyz" in check


def test_the_files_of_the_image_exist_and_are_in_its_context():
    allowed = re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8"), re.MULTILINE)
    copied = [
        name
        for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)


def test_the_packages_of_the_image_are_pinned_and_complete():
    """pip installs them with --no-deps: each requirement of each must be there, or known to be left out."""
    packages = image_packages()
    constraints = (ROOT / "constraints.txt").read_text("utf-8")
    pinned = {normalize(name) for name in re.findall(r"^([\w.-]+)==", constraints, re.MULTILINE)}
    assert packages <= pinned
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = {normalize(Requirement(each).name) for each in [*project["dependencies"], *extras["fast"]]}
    for package in packages:
        for line in requires(package) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed.add(normalize(requirement.name))
    assert needed - packages == NOT_IN_THE_IMAGE
    assert not packages & NOT_IN_THE_IMAGE


def test_a_server_without_torch_translates_with_the_packages_of_the_image(tmp_path):
    """Front and model process find only these packages: texts, HTML, files and detection."""
    model = save_random(tmp_path / "model", 1)
    packages = {*image_packages(), "regard"}
    hidden = [
        module
        for module, owners in packages_distributions().items()
        if not packages.intersection(map(normalize, owners))
    ]
    assert {"torch", "sacrebleu", "transformers"} <= set(hidden)
    shutil.copy(Path(__file__).with_name("without_packages.py"), tmp_path / "sitecustomize.py")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "REGARD_TEST_HIDDEN": json.dumps(hidden),
    }
    command = [sys.executable, "-m", "regard", "serve", str(model), "--port", "0", "--json"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        line = server.stdout.readline()
        assert line, server.stderr.read()
        url = json.loads(line)["url"]
        text = post(f"{url}translate", q="a cat sleeps", source="auto", target="fr")
        assert text["detectedLanguage"]["language"] == "en"
        page = post(f"{url}translate", q="<p>a <b>cat</b></p>", source="en", target="fr", format="html")
        assert page["translatedText"].startswith("<p>")
        with urllib.request.urlopen(f"{url}api/models", timeout=20) as response:
            assert json.load(response)["models"][0]["engine"].startswith("ctranslate2")
        assert post_file(f"{url}translate_file", "a.md", "# a cat\n\n- sleeps\n")["translatedFileUrl"]
    finally:
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=30)
    assert (server.returncode, errors) == (0, "")


def post(url, **fields):
    with urllib.request.urlopen(url, urllib.parse.urlencode(fields).encode(), timeout=30) as response:
        return json.load(response)


def post_file(url, name, text):
    fields = [('name="source"', "en"), ('name="target"', "fr"), (f'name="file"; filename="{name}"', text)]
    parts = "".join(
        f"--x\r\nContent-Disposition: form-data; {head}\r\n\r\n{value}\r\n" for head, value in fields
    )
    request = urllib.request.Request(url, f"{parts}--x--\r\n".encode())
    request.add_header("Content-Type", "multipart/form-data; boundary=x")
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def unit_values(name):
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def test_the_commands_of_the_unit_can_be_parsed_and_it_waits_for_the_drain():
    [start] = unit_values("ExecStart")
    words = shlex.split(start)
    assert words[0] == "/opt/regard/bin/regard"
    assert _build_parser().parse_args(words[1:]).run
    keys = re.search(r"(regard keys add .*)$", UNIT, re.MULTILINE)[1]
    assert _build_parser().parse_args(shlex.split(keys)[1:]).run
    assert float(unit_values("TimeoutStopSec")[0]) > LimitSettings().drain_seconds + 2


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_accepts_the_unit(tmp_path):
    unit = tmp_path / "regard.service"
    unit.write_text(UNIT.replace("/opt/regard/bin/regard serve", f"{sys.executable} -m regard serve"))
    result = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.fixture(scope="module")
def manifests():
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
    return {each["kind"]: each for each in documents}


def test_the_pods_of_kubernetes_serve_with_settings_that_can_be_read(manifests, tmp_path):
    spec = manifests["Deployment"]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    [entrypoint] = dockerfile_lists("ENTRYPOINT")
    options = _build_parser().parse_args([*entrypoint[1:], *container["args"]])
    [port] = container["ports"]
    assert port["containerPort"] == options.port
    routes = health_routes(FakeTranslationService(), HttpMetrics())
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        probe = container[name]["httpGet"]
        assert probe["path"] in routes
        assert probe["port"] == port["name"]
    ((file, text),) = manifests["ConfigMap"]["data"].items()
    assert Path(options.config).name == file
    (tmp_path / file).write_text(text)
    settings = read_serve_settings(tmp_path / file)
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert {each["name"] for each in spec["volumes"]} == set(mounts)
    assert str(Path(options.config).parent) == mounts["settings"]
    assert all(each.path.startswith(mounts["models"]) for each in settings.models.values())
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert spec["terminationGracePeriodSeconds"] > settings.limits.drain_seconds + pause + 2


def test_the_service_and_the_autoscaler_of_kubernetes_find_the_pods(manifests):
    template = manifests["Deployment"]["spec"]["template"]["metadata"]
    assert manifests["Service"]["spec"]["selector"] == template["labels"]
    assert manifests["Deployment"]["spec"]["selector"]["matchLabels"] == template["labels"]
    scaler = manifests["HorizontalPodAutoscaler"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == manifests["Deployment"]["metadata"]["name"]
    [metric] = [each["pods"]["metric"]["name"] for each in scaler["metrics"]]
    assert f"\n{metric} " in prometheus_text(ServiceMetrics(), HttpMetrics())

"""Clients that others wrote, unchanged, against `regard serve`; prints a table.

    python benchmarks/serve_clients.py --python VENV/bin/python --node FOLDER \\
        --deepl-suite deepl-python --libretranslate-tests site-packages/libretranslate/tests/test_api

Each part runs if its argument is given. --python is a Python with libretranslatepy, deep-translator, deepl,
pytest and pydantic 1; --node a folder with translate, libretranslate-ts and deepl-node installed by npm;
--deepl-suite a checkout of deepl-python. The models of the server have random weights: the test is of what is
sent and answered, not of translations. The suite of deepl-python runs against the server's DeepL surface
with a translator that knows the suite's phrases (`clients/deepl_stub_server.py`).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from regard.config import to_toml
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun

CLIENTS = Path(__file__).parent / "clients"
SHAPE = ModelConfig(
    vocab_size=300, d_model=32, heads=4, d_ff=64, encoder_layers=2, decoder_layers=2, max_length=64
)
TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings.", "a cat sleeps under the tree."]
PAIRS = (("en", "fr"), ("fr", "en"), ("en", "es"), ("es", "en"))
OUTCOME = re.compile(r"(\d+) (passed|failed|skipped|error)")
Row = tuple[str, str, str, str]
"""Client, version, check, and the problem or an empty text."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", metavar="FILE", help="Python whose packages are tested")
    parser.add_argument("--node", metavar="DIR", type=Path, help="folder with node_modules")
    parser.add_argument("--deepl-suite", metavar="DIR", type=Path, help="checkout of deepl-python")
    parser.add_argument("--libretranslate-tests", metavar="DIR", type=Path, help="LibreTranslate's test_api")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_server(folder) as url:
            rows: list[Row] = []
            if options.python:
                rows += run_checks([options.python, CLIENTS / "python_clients.py", url, folder])
            if options.node:
                rows += run_node(options.node, url, folder)
            print_checks(rows)
            if options.libretranslate_tests:
                run_libretranslate_tests(
                    options.python or sys.executable, options.libretranslate_tests, url, folder
                )
        if options.deepl_suite:
            run_deepl_suite(options.python or sys.executable, options.deepl_suite)


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Run `regard serve` with random models, and yield its address."""
    settings = []
    tokenizer = learn_tokenizer(TEXTS * 3, 300)
    for seed, (source, target) in enumerate(PAIRS):
        torch.manual_seed(seed)
        model = Transformer(replace(SHAPE, vocab_size=tokenizer.vocab_size)).eval()
        path = folder / f"{source}-{target}"
        data = {"source_language": source, "target_language": target}
        run = to_toml(TranslationRun(model.config))
        save_translation_model(path, model, tokenizer, run, {"step": seed, "data": data})
        settings.append(f'[models.{source}-{target}]\npath = "{path.name}"\ndevice = "cpu"\n')
    config = folder / "serve.toml"
    config.write_text("\n".join(settings))
    command = [sys.executable, "-m", "regard", "serve", "--config", str(config), "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"].rstrip("/")
    finally:
        server.terminate()
        if server.wait(60) != 0:
            raise SystemExit(f"the server ended with {server.returncode}")


def run_checks(command: list[object], folder: Path | None = None) -> list[Row]:
    result = subprocess.run(
        list(map(str, command)), cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    return [tuple(json.loads(line)) for line in result.stdout.splitlines() if line.startswith("[")]


def run_node(folder: Path, url: str, files: Path) -> list[Row]:
    """Run the Node clients from a copy of the script: Node looks for packages beside it."""
    script = shutil.copy(CLIENTS / "node_clients.mjs", folder / "regard_node_clients.mjs")
    try:
        return run_checks(["node", script, url, files], folder)
    finally:
        Path(script).unlink()


def print_checks(rows: list[Row]) -> None:
    print("| client | version | what | result |\n| --- | --- | --- | --- |")
    for client, version, what, problem in rows:
        print(f"| {client} | {version} | {what} | {problem or 'passed'} |", flush=True)


def run_libretranslate_tests(python: str, tests: Path, url: str, folder: Path) -> None:
    """Run LibreTranslate's API tests; only the fixture of the client is another."""
    copy = Path(
        shutil.copytree(tests, folder / "test_api", ignore=shutil.ignore_patterns("conftest.py", "__*"))
    )
    shutil.copy(CLIENTS / "libretranslate_conftest.py", copy / "conftest.py")
    run_pytest("LibreTranslate's API tests", python, copy, {"LIBRETRANSLATE_URL": url})


def run_deepl_suite(python: str, checkout: Path) -> None:
    """Run the test suite of deepl-python."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(
            shutil.copytree(
                checkout, Path(name) / "suite", ignore=shutil.ignore_patterns(".git", "venv", "node*")
            )
        )
        command = [sys.executable, CLIENTS / "deepl_stub_server.py", copy / "tests" / "conftest.py"]
        server = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            port = url.rstrip("/").rpartition(":")[2]
            variables = {"SERVER_URL": url, "MOCK_SERVER_PORT": port, "AUTH_KEY": "mock_server"}
            environment = {f"DEEPL_{name}": value for name, value in variables.items()}
            run_pytest("The tests of deepl-python", python, copy / "tests", environment, copy)
        finally:
            server.terminate()
            server.wait(30)


def run_pytest(
    title: str, python: str, tests: Path, environment: dict[str, str], folder: Path | None = None
) -> None:
    """Run tests and print their counts, and the reason of each that did not pass."""
    flags = ["-q", "-rfsE", "--tb=line", "-p", "no:cacheprovider", "--no-header"]
    path = {} if folder is None else {"PYTHONPATH": str(folder)}
    result = subprocess.run(
        [python, "-m", "pytest", *flags, str(tests)],
        cwd=folder or tests,
        env={**os.environ, **environment, **path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = result.stdout.splitlines()
    counts = {name: int(count) for count, name in OUTCOME.findall(lines[-1] if lines else "")}
    print(f"\n{title}: {counts or result.stdout[-2000:]}\n")
    for line in lines:
        if line.startswith(("FAILED", "SKIPPED", "ERROR")):
            print(f"    {line}")


if __name__ == "__main__":
    main()

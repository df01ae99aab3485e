"""`regard serve`: answer translation requests over HTTP."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from regard.cli.args.common_args import add_json_argument
from regard.cli.args.number_args import NumberArgument, setting_argument
from regard.cli.args.path_args import INPUT_PATH, OUTPUT_FILE, OUTPUT_FOLDER, STDOUT_NAME
from regard.cli.output import print_json
from regard.search.config import PAPER_SEARCH, SearchConfig

if TYPE_CHECKING:
    from regard.server.translation.requests import TranslationService
    from regard.server.translation.serve_settings import ServeSettings

DEFAULT_PORT = 5000
DESCRIPTION = """\
Answer translation requests over HTTP, as LibreTranslate does, so that its clients
work unchanged. Sentences of all clients are translated together in batches.
"""

EPILOG = """\
With MODEL the server has one pair of languages; serve.toml describes several
models, limits, and texts that must have a translation before a model is used.
docs/serving.md describes the API and the settings.

The server listens at once and loads its models after; GET /readyz answers 503
until they are loaded. Ctrl-C and SIGTERM finish the requests in progress. A model
folder that was replaced is loaded without an interruption, at once with SIGHUP.

examples
  regard serve runs/en-fr
  regard serve runs/en-fr --port 8080 --source-language en --target-language fr
  regard serve --config serve.toml --host 0.0.0.0
  curl http://127.0.0.1:5000/translate -d q=Hello -d source=en -d target=fr
"""


def add_serve_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "serve", help="answer translation requests over HTTP", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "model", metavar="MODEL", type=INPUT_PATH, nargs="?", help="run or model folder of `regard train`"
    )
    parser.add_argument(
        "--config", metavar="serve.toml", type=INPUT_PATH, help="settings file with several models"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=NumberArgument(int, 0, 65535),
        default=DEFAULT_PORT,
        help=f"port, %(type)s (default: {DEFAULT_PORT}; 0: any free port)",
    )
    parser.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="address to serve on (default: 127.0.0.1, this machine only; 0.0.0.0: every network)",
    )
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-language",
            metavar="CODE",
            help=f"{side} language of MODEL, such as en or pt-BR (default: as the model says)",
        )
    parser.add_argument(
        "--beam",
        metavar="N",
        type=setting_argument(SearchConfig, "beam"),
        help=f"beam size where a request does not give one, %(type)s (default: {PAPER_SEARCH.beam})",
    )
    group = parser.add_argument_group("operation")
    group.add_argument(
        "--data",
        metavar="DIR",
        type=OUTPUT_FOLDER,
        help="folder for what clients store, which are glossaries (default: memory, until the server stops)",
    )
    group.add_argument(
        "--access-log",
        metavar="FILE",
        type=OUTPUT_FILE,
        help="append a line of JSON for each request, without texts and keys; - is stderr",
    )
    group.add_argument(
        "--tls-certificate",
        metavar="FILE",
        type=INPUT_PATH,
        help="serve HTTPS with this certificate chain (PEM)",
    )
    group.add_argument("--tls-key", metavar="FILE", type=INPUT_PATH, help="and its key, without a password")
    group.add_argument(
        "--keys",
        metavar="FILE",
        type=INPUT_PATH,
        help="require an API key of this file, which `regard keys` writes",
    )
    group.add_argument(
        "--public-url",
        metavar="URL",
        help="address that browsers use, where a proxy stands in front of the server",
    )
    add_json_argument(parser, "print the address as one JSON object, when the models are loaded")
    parser.set_defaults(run=run_serve)


def run_serve(options: argparse.Namespace) -> None:
    settings = _resolve_settings(options)
    from regard.server.translation.service import ScheduledTranslationService
    from regard.server.translation_server import run_translation_server
    from regard.server.web.access_log import JsonAccessLog
    from regard.server.web.web_server import TlsFiles, WebServer

    if (options.tls_certificate is None) != (options.tls_key is None):
        options.parser.error("give --tls-certificate and --tls-key, both or none")
    tls = None if options.tls_key is None else TlsFiles(options.tls_certificate, options.tls_key)
    access = settings.access
    any_name = () if options.host in ("127.0.0.1", "localhost", "::1") else ("*",)
    with (
        _open_access_log(options.access_log) as log,
        WebServer(
            options.host,
            options.port,
            names=access.public_names or any_name,
            origins=[access.public_origin] if access.public_origin else [],
            trusted_proxies=access.trusted_proxies,
            tls=tls,
        ) as server,
    ):
        service = ScheduledTranslationService(settings)

        def show_address() -> None:
            _show_address(options, service, server.url)

        run_translation_server(
            server,
            service,
            settings,
            access_log=None if log is None else JsonAccessLog(log.write),
            on_ready=show_address,
            report=_report,
        )
    sys.stdout.write("" if options.json else "\n")
    sys.stdout.flush()


def _resolve_settings(options: argparse.Namespace) -> "ServeSettings":
    from regard.server.translation.serve_settings import read_serve_settings, settings_of_model

    if (options.model is None) == (options.config is None):
        options.parser.error("give one MODEL, or --config serve.toml for several")
    if options.config is None:
        settings = settings_of_model(Path(options.model), options.source_language, options.target_language)
    else:
        for flag in ("source_language", "target_language"):
            if getattr(options, flag) is not None:
                name = flag.replace("_", "-")
                options.parser.error(f"--{name} is for one MODEL; with --config write it into the file")
        settings = read_serve_settings(options.config)
    if options.data is not None:
        settings = replace(settings, storage=replace(settings.storage, folder=str(options.data)))
    if options.beam is not None:
        settings = replace(settings, search=replace(settings.search, beam=options.beam))
    access = settings.access
    if options.keys is not None:
        access = replace(access, keys_file=str(options.keys), key_required=True)
    if options.public_url is not None:
        access = replace(access, public_url=options.public_url)
    return replace(settings, access=access)


@contextmanager
def _open_access_log(path: Path | None) -> Iterator[TextIO | None]:
    """Open the file of the access log, which is stderr for `-`."""
    if path is None:
        yield None
    elif str(path) == STDOUT_NAME:
        yield sys.stderr
    else:
        with path.open("a", encoding="utf-8", buffering=1) as file:
            yield file


def _report(line: str) -> None:
    sys.stderr.write(f"regard: {line}\n")
    sys.stderr.flush()


def _show_address(options: argparse.Namespace, service: "TranslationService", url: str) -> None:
    models = service.models()
    if options.json:
        names = {each.name: f"{each.source_language}-{each.target_language}" for each in models}
        print_json({"url": url, "models": names}, indent=None)
        return
    for each in models:
        sys.stdout.write(
            f"{each.name}: {each.source_language} to {each.target_language}, {each.engine}, "
            f"version {each.version}\n"
        )
    sys.stdout.write(f"serving at {url}\nCtrl-C stops the server.\n")
    sys.stdout.flush()

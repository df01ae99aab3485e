"""`regard explore`: serve the explorer page of a model."""

import argparse
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.cli.args.common_args import add_json_argument
from regard.cli.args.model_args import read_model_task, resolve_model_folder
from regard.cli.args.number_args import NumberArgument, setting_argument
from regard.cli.args.path_args import INPUT_PATH
from regard.cli.args.trace_args import MAX_TRACE_TOKENS_ARGUMENT
from regard.cli.output import print_json
from regard.errors import RegardError
from regard.search.config import PAPER_SEARCH, SearchConfig

if TYPE_CHECKING:
    from regard.server.explorer.attention_api import AttentionTracer
    from regard.server.explorer.model_executor import ModelExecutor
    from regard.server.explorer.training_runs import TrainingRun
    from regard.server.web.application import RouteTable

DRAIN_SECONDS = 1
"""How long Ctrl-C waits for answers in progress."""
DESCRIPTION = """\
Open a page in the browser that translates a sentence and shows each step: the
attention of every head and layer, the computation of attention step by step,
the candidates, the beam, and the effect of switching off a head.
"""

EPILOG = """\
The command serves the page on this machine, for this machine only, without
network access. Ctrl-C stops it. A run folder adds training curves, live during
a training, and all checkpoints. docs/explorer.md describes the pages.

examples
  regard explore runs/demo
  regard explore runs/demo --text "Jane visits Africa in September."
  regard explore runs/a runs/b runs/c     explore the first, compare curves
  regard explore runs/demo/model --port 8000 --no-browser

example on a remote machine
  ssh -L 8000:127.0.0.1:8000 HOST
  regard explore runs/big --port 8000 --no-browser
"""


def add_explore_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "explore",
        help="explore a model in the browser",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "model", metavar="MODEL_OR_RUN", type=INPUT_PATH, help="run or model folder of `regard train`"
    )
    parser.add_argument(
        "others",
        metavar="RUN",
        type=INPUT_PATH,
        nargs="*",
        default=[],
        help="runs whose curves are compared with those of the first",
    )
    parser.add_argument(
        "--text", metavar="T", help="first sentence to translate (default: a sample of the training log)"
    )
    parser.add_argument(
        "--series", metavar="FILE", type=INPUT_PATH, help="table of series, required for a forecaster"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--port",
        metavar="N",
        type=NumberArgument(int, 0, 65535),
        default=0,
        help="port, %(type)s (default: 0, any free port)",
    )
    parser.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="address to serve on (default: 127.0.0.1, this machine only); any other address lets "
        "everyone who can reach it use the model",
    )
    parser.add_argument(
        "--max-trace-tokens",
        metavar="N",
        type=MAX_TRACE_TOKENS_ARGUMENT,
        default=256,
        help="translate sentences with more tokens without a trace, %(type)s (default: 256): its weights "
        "take many megabytes",
    )
    parser.add_argument(
        "--beam",
        metavar="N",
        type=setting_argument(SearchConfig, "beam"),
        default=PAPER_SEARCH.beam,
        help=f"initial beam size, %(type)s (default: {PAPER_SEARCH.beam})",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="device (default: auto, a GPU if there is one)",
    )
    add_json_argument(parser, "print the address as one JSON object, when the server is ready")
    parser.set_defaults(run=run_explore)


def run_explore(options: argparse.Namespace) -> None:
    task = read_model_task(resolve_model_folder(options.model))
    from regard.server.explorer.training_runs import find_training_run, load_comparison_runs
    from regard.server.web.application import RouteGroup
    from regard.server.web.web_server import WebServer

    with WebServer(options.host, options.port) as server:
        run = find_training_run(options.model)
        others = load_comparison_runs([options.model, *options.others])[1:] if options.others else []
        routes, executor = _build_routes(options, task, run, others)
        if options.json:
            print_json({"model": str(options.model), "url": server.url}, indent=None)
        else:
            sys.stdout.write(f"serving {options.model} at {server.url}\nCtrl-C stops the server.\n")
            sys.stdout.flush()
        if not options.no_browser and _has_display():
            webbrowser.open(server.url)
        server.serve([RouteGroup(routes)], drain_seconds=DRAIN_SECONDS)
    sys.stdout.write("" if options.json else "\n")
    sys.stdout.flush()
    if executor.is_computing:  # its thread cannot be interrupted, and Python would wait for it
        os._exit(0)


def _build_routes(
    options: argparse.Namespace, task: str, run: "TrainingRun | None", others: "Sequence[TrainingRun]"
) -> "tuple[RouteTable, ModelExecutor[Any]]":
    """Return the API of the page for the task of the model, and the thread of the model."""
    from regard.classification.tracing import ClassifierTracer
    from regard.forecasting.tracing import ForecasterTracer
    from regard.server.explorer.attention_api import AttentionApi
    from regard.server.explorer.checkpoint_cache import CheckpointCache, load_explorer_model
    from regard.server.explorer.explorer_api import explorer_routes
    from regard.server.explorer.trace_service import ExplorerSettings, TraceService
    from regard.server.explorer.training_runs import find_example_text

    text = find_example_text(options.model, run) if options.text is None else options.text
    settings = ExplorerSettings(text, SearchConfig(options.beam), options.max_trace_tokens)
    match task:
        case "classification":
            tracers: CheckpointCache[AttentionTracer] = CheckpointCache(
                options.model, run, lambda folder: ClassifierTracer.load(folder, options.device)
            )
            api = AttentionApi(tracers, run, settings, others)
            return api.routes(), api.executor
        case "forecasting":
            if options.series is None:
                raise RegardError(f"{options.model} is a forecaster; give --series FILE, a table of series")
            tracers = CheckpointCache(
                options.model,
                run,
                lambda folder: ForecasterTracer.load(folder, options.series, options.device),
            )
            first = options.text or tracers.get(None).trace("", options.max_trace_tokens).source.text
            api = AttentionApi(tracers, run, replace(settings, example_text=first), others)
            return api.routes(), api.executor
        case _:
            models = CheckpointCache(
                options.model, run, lambda folder: load_explorer_model(folder, options.device)
            )
            service = TraceService(models, run, settings)
            return explorer_routes(service, others), service.executor


def _has_display() -> bool:
    """Whether a graphical browser can open; a text browser would take over the terminal."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

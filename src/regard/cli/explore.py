"""`regard explore`: a page to look inside a model's translations with."""

import argparse
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import resolve_model_folder
from regard.cli.args.trace_args import read_model_task
from regard.errors import RegardError, require_setting
from regard.search.config import PAPER_SEARCH, SearchConfig

if TYPE_CHECKING:
    from regard.server.attention_api import AttentionTracer
    from regard.server.http_messages import RouteTable
    from regard.server.training_runs import TrainingRun

DESCRIPTION = """\
Open a page in the browser: type a sentence, read its translation, and see every step that produced
it: who looks at whom in every head of every layer, the seven steps of attention for one word, the
candidates, the beam, and what becomes of it all when a head is switched off.
"""

EPILOG = """\
The page is served by this command, on this machine and for this machine only; nothing is asked of
any network. Ctrl-C ends it. A run folder adds its curves, live while it trains, and its checkpoints,
so that a head can be watched forming. docs/explorer.md walks through the pages.

examples
  regard explore runs/demo
  regard explore runs/demo --text "Jane visits Africa in September."
  regard explore runs/a runs/b runs/c     looks into the first, and compares the curves of all
  regard explore runs/demo/model --port 8000 --no-browser
  ssh -L 8000:127.0.0.1:8000 far-away     then there: regard explore runs/big --port 8000 --no-browser
"""


def add_explore_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "explore",
        help="look inside a model's translations, in the browser",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", metavar="MODEL_OR_RUN", type=Path, help="folder that `regard train` wrote, or a model in it"
    )
    parser.add_argument(
        "others",
        metavar="RUN",
        type=Path,
        nargs="*",
        default=[],
        help="runs whose curves are laid over those of the first, a run, too",
    )
    parser.add_argument(
        "--text", metavar="T", help="the sentence to begin with (default: one that the training watched)"
    )
    parser.add_argument(
        "--series", metavar="FILE", type=Path, help="with a forecaster: the table that it is asked about"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    parser.add_argument(
        "--port", metavar="N", type=int, default=0, help="where to serve (default: 0, any port that is free)"
    )
    parser.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="the address to serve on (default: 127.0.0.1, this machine alone); "
        "whoever reaches another one can use the model",
    )
    parser.add_argument(
        "--max-trace-tokens",
        metavar="N",
        type=int,
        default=256,
        help="translate a longer sentence without looking inside (default: 256): "
        "its weights fill many megabytes",
    )
    parser.add_argument(
        "--beam",
        metavar="N",
        type=int,
        default=PAPER_SEARCH.beam,
        help=f"at first (default: {PAPER_SEARCH.beam})",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to compute (default: auto, a GPU if there is one)",
    )
    parser.set_defaults(run=run_explore)


def run_explore(options: argparse.Namespace) -> None:
    tokens = options.max_trace_tokens
    require_setting(tokens >= 2, "--max-trace-tokens", tokens, "a word and its end mark are 2")
    resolve_model_folder(options.model)
    from regard.server.http_server import ExplorerServer
    from regard.server.training_runs import find_training_run, load_comparison_runs

    run = find_training_run(options.model)
    others = load_comparison_runs([options.model, *options.others])[1:] if options.others else []
    answers = _build_routes(options, run, others)
    with ExplorerServer(options.host, options.port, answers) as server:
        sys.stdout.write(f"{options.model} can be looked into at {server.url}\nCtrl-C ends this.\n")
        sys.stdout.flush()
        if not options.no_browser and _has_display():
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stdout.write("\n")


def _build_routes(
    options: argparse.Namespace, run: "TrainingRun | None", others: "Sequence[TrainingRun]"
) -> "RouteTable":
    """What the page may ask, by what the model is for."""
    from regard.classification.tracing import ClassifierTracer
    from regard.forecasting.tracing import ForecasterTracer
    from regard.server.attention_api import AttentionApi
    from regard.server.checkpoint_cache import CheckpointCache, load_explorer_model
    from regard.server.explorer_api import explorer_routes
    from regard.server.trace_service import ExplorerSettings, TraceService
    from regard.server.training_runs import find_example_text

    text = find_example_text(options.model, run) if options.text is None else options.text
    offer = ExplorerSettings(text, SearchConfig(options.beam), options.max_trace_tokens)
    match read_model_task(options.model):
        case "classification":
            looking: CheckpointCache[AttentionTracer] = CheckpointCache(
                options.model, run, lambda folder: ClassifierTracer.load(folder, options.device)
            )
            return AttentionApi(looking, run, offer, others).routes()
        case "forecasting":
            if options.series is None:
                raise RegardError(f"{options.model} forecasts; give --series FILE, a table to look into")
            looking = CheckpointCache(
                options.model,
                run,
                lambda folder: ForecasterTracer.load(folder, options.series, options.device),
            )
            first = options.text or looking.get(None).trace("", options.max_trace_tokens).source.text
            return AttentionApi(looking, run, replace(offer, example_text=first), others).routes()
        case _:
            models = CheckpointCache(
                options.model, run, lambda folder: load_explorer_model(folder, options.device)
            )
            return explorer_routes(TraceService(models, run, offer), others)


def _has_display() -> bool:
    """Whether a browser would be a window; one inside the terminal would take it from us."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

"""What `trace` and `look` share: which translation is looked into, and what is changed first."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import add_search_arguments, apply_argument_defaults, resolve_model_folder
from regard.config import DEFAULT_TASK
from regard.errors import RegardError, require_setting

if TYPE_CHECKING:
    from regard.plots.attention_matrix import AttentionMatrix
    from regard.trace.interventions import Intervention
    from regard.trace.trace import Trace

TRANSLATION_ONLY_FLAGS = (
    "prefix",
    "target",
    "ablate_head",
    "uniform_head",
    "skip_sublayer",
    "mask_source",
    "no_positional_encoding",
)
"""Flags of `add_looking` that only a translation has."""


def add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that make the request of a trace."""
    group = add_search_arguments(parser)
    group.add_argument("--prefix", metavar="TEXT", default="", help="how the translation begins")
    group.add_argument(
        "--target", metavar="TEXT", help="read this translation instead of searching for one: any sentence"
    )
    group.add_argument(
        "--top-k",
        metavar="K",
        type=int,
        default=10,
        help="candidates that are kept of each step (default: 10)",
    )
    group.add_argument(
        "--max-trace-tokens",
        metavar="N",
        type=int,
        help="refuse a longer text, counted in pieces with the end mark (default: 256)",
    )
    change = parser.add_argument_group(
        "what if",
        "Change the model first, and see what becomes of the translation. Layers, heads and\n"
        "source tokens are counted from 1. KIND is encoder, decoder or cross. All may be repeated.",
    )
    change.add_argument(
        "--ablate-head", metavar="KIND:LAYER:HEAD", action="append", default=[], help="this head says nothing"
    )
    change.add_argument(
        "--uniform-head",
        metavar="KIND:LAYER:HEAD",
        action="append",
        default=[],
        help="this head looks at everything alike",
    )
    change.add_argument(
        "--skip-sublayer",
        metavar="STACK:LAYER:PART",
        action="append",
        default=[],
        help="leave a part out: encoder:1:self, decoder:6:cross, decoder:6:ffn",
    )
    change.add_argument(
        "--mask-source",
        metavar="N,N",
        default="",
        help="source tokens that nobody may look at: 1 is the first",
    )
    change.add_argument(
        "--no-positional-encoding", action="store_true", help="words without their places, on both sides"
    )
    parser.add_argument(
        "--column", metavar="NAME", help="of a forecaster's table: which series (default: first)"
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to compute (default: auto, a GPU if there is one)",
    )


def add_attention_arguments(parser: argparse.ArgumentParser, title: str) -> None:
    """Which attention is shown."""
    group = parser.add_argument_group(title, "Layers and heads are counted from 1.")
    group.add_argument(
        "--attention",
        choices=("encoder", "decoder", "cross"),
        help="among source words, among target words so far, or from target to source (default: cross)",
    )
    group.add_argument(
        "--layer",
        metavar="N",
        type=int,
        help="default: of cross-attention the one that aligns words best, the last but one; else the last",
    )
    group.add_argument("--head", metavar="N", help="a number, or mean (default: mean)")


def select_attention_matrix(trace: "Trace", options: argparse.Namespace) -> "AttentionMatrix":
    """The one that the flags of `add_matrix` ask for."""
    from regard.plots.attention_matrix import build_attention_matrix
    from regard.trace.page import default_attention_kind, default_layer

    kind = options.attention or default_attention_kind(trace)
    layer = default_layer(trace, kind) if options.layer is None else options.layer
    return build_attention_matrix(trace, kind, layer, parse_head(options))


def parse_head(options: argparse.Namespace) -> int | None:
    """None: the mean of all."""
    said = options.head or "mean"
    if said != "mean" and not re.fullmatch(r"[1-9]\d{0,8}", said):
        raise RegardError(f"--head {said} cannot be read; give a number from 1 up, or mean")
    return None if said == "mean" else int(said)


def trace_from_arguments(options: argparse.Namespace, qkv: bool = False) -> "Trace":
    """The trace that is asked for; what cannot work is said before the model is loaded."""
    match read_model_task(options.model):
        case "classification":
            return _trace_classifier(options)
        case "forecasting":
            return _trace_forecaster(options)
        case _:
            return _trace_translation(options, qkv)


def read_model_task(path: Path) -> str:
    """What the model that is meant is for, by a manifest that whoever loads the model checks."""
    from regard.checkpoint import WEIGHTS_FILE, read_manifest

    return read_manifest(resolve_model_folder(path), size_only=[WEIGHTS_FILE]).get("task", DEFAULT_TASK)


def _trace_classifier(options: argparse.Namespace) -> "Trace":
    """A text with its label."""
    from regard.classification.tracing import ClassifierTracer

    _reject_translation_flags(options, "classifies")
    tracer = ClassifierTracer.load(resolve_model_folder(options.model), options.device)
    return _trace_within_limit(options, lambda most: tracer.trace(options.text, most))


def _trace_forecaster(options: argparse.Namespace) -> "Trace":
    """What comes after the last row of a table, for one of its series."""
    from regard.forecasting.tracing import ForecasterTracer

    _reject_translation_flags(options, "forecasts")
    tracer = ForecasterTracer.load(resolve_model_folder(options.model), Path(options.text), options.device)
    return _trace_within_limit(options, lambda most: tracer.trace(options.column or "", most))


def _reject_translation_flags(options: argparse.Namespace, does: str) -> None:
    for name in TRANSLATION_ONLY_FLAGS:
        if getattr(options, name):
            raise RegardError(f"--{name.replace('_', '-')} is for translations; {options.model} {does}")


def _trace_within_limit(options: argparse.Namespace, trace: "Callable[[int], Trace]") -> "Trace":
    """The trace, if it is not longer than was asked for; the limit has another name here."""
    from regard.trace.request import MAX_TRACE_TOKENS, TraceLengthError

    try:
        return trace(MAX_TRACE_TOKENS if options.max_trace_tokens is None else options.max_trace_tokens)
    except TraceLengthError as error:
        raise error.with_setting("--max-trace-tokens") from None


def _trace_translation(options: argparse.Namespace, qkv: bool) -> "Trace":
    apply_argument_defaults(options)
    changes = parse_interventions(options)
    most = options.max_trace_tokens
    require_setting(most is None or most >= 1, "--max-trace-tokens", most, "it must be at least 1")
    folder = resolve_model_folder(options.model)
    from regard.translation.translator import Translator

    tracer = Translator.load(folder, options.device, "torch").tracer
    request = tracer.build_request(
        options.text,
        beam=options.beam,
        alpha=options.alpha,
        top_k=options.top_k,
        prefix=options.prefix,
        target=options.target,
        interventions=changes,
    )
    return _trace_within_limit(options, lambda most: tracer.trace(request, most, qkv))


def parse_interventions(options: argparse.Namespace) -> "list[Intervention]":
    """What the flags ask to be changed."""
    from regard.trace.interventions import AblateHead, MaskSource, RemovePositions, SkipSublayer

    found: list[Intervention] = []
    for flag, mode in (("ablate_head", "zero"), ("uniform_head", "uniform")):
        for said in getattr(options, flag):
            kind, layer, head = _parse_triple(
                said, f"--{flag.replace('_', '-')}", "cross:5:3", r"(encoder|decoder|cross):(\d+):(\d+)"
            )
            found.append(AblateHead(kind, int(layer), int(head), mode))  # pyright: ignore[reportArgumentType]
    for said in options.skip_sublayer:
        stack, layer, which = _parse_triple(
            said, "--skip-sublayer", "decoder:6:ffn", r"(encoder|decoder):(\d+):(self|cross|ffn)"
        )
        found.append(SkipSublayer(stack, int(layer), which))  # pyright: ignore[reportArgumentType]
    if options.no_positional_encoding:
        found.append(RemovePositions())
    if options.mask_source:
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.mask_source):
            raise RegardError(
                f"--mask-source {options.mask_source} cannot be read; give numbers from 1 up: --mask-source 1,2"
            )
        found.append(MaskSource(tuple(int(number) - 1 for number in options.mask_source.split(","))))
    return found


def _parse_triple(said: str, flag: str, example: str, form: str) -> tuple[str, str, str]:
    matched = re.fullmatch(form, said)
    if matched is None:
        raise RegardError(f"{flag} {said} cannot be read; it is written like {flag} {example}")
    return matched[1], matched[2], matched[3]

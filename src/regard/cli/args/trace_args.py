"""Arguments of `regard trace` and `regard look`: the prediction, interventions and shown attention."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.args.model_args import (
    add_search_arguments,
    apply_argument_defaults,
    read_model_task,
    resolve_model_folder,
)
from regard.cli.args.number_args import NumberArgument
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.plots.attention_matrix import AttentionMatrix
    from regard.trace.interventions import Intervention
    from regard.trace.trace import Trace

TRANSLATION_ONLY_FLAGS = (
    *("prefix", "target", "ablate_head", "uniform_head", "skip_sublayer"),
    *("mask_source", "no_positional_encoding"),
)
"""Flags of `add_trace_arguments` that apply to translation models only."""
MAX_TOP_K, MAX_LAYER = 1000, 1000
MAX_TRACE_TOKENS_ARGUMENT = NumberArgument(int, 2, 4096)
"""One word has 2 tokens, with the end token; the attention of 4096 takes gigabytes."""


def add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a trace request."""
    group = add_search_arguments(parser)
    group.add_argument("--prefix", metavar="TEXT", default="", help="beginning of the translation")
    group.add_argument(
        "--target", metavar="TEXT", help="trace this translation (forced decoding) instead of searching"
    )
    group.add_argument(
        "--top-k",
        metavar="K",
        type=NumberArgument(int, 1, MAX_TOP_K),
        default=10,
        help="candidates recorded per step, %(type)s (default: 10)",
    )
    group.add_argument(
        "--max-trace-tokens",
        metavar="N",
        type=MAX_TRACE_TOKENS_ARGUMENT,
        help="reject a text with more tokens, including the end token, %(type)s (default: 256)",
    )
    change = parser.add_argument_group(
        "interventions",
        "Change the model before tracing. Layers, heads and source tokens are counted\n"
        "from 1; ATTENTION is encoder, decoder or cross. All are repeatable.",
    )
    change.add_argument(
        "--ablate-head",
        metavar="ATTENTION:LAYER:HEAD",
        action="append",
        default=[],
        help="set the output of a head to zero",
    )
    change.add_argument(
        "--uniform-head",
        metavar="ATTENTION:LAYER:HEAD",
        action="append",
        default=[],
        help="let a head attend to all positions equally",
    )
    change.add_argument(
        "--skip-sublayer",
        metavar="STACK:LAYER:SUBLAYER",
        action="append",
        default=[],
        help="skip a sublayer: encoder:1:self, decoder:6:cross, decoder:6:ffn",
    )
    change.add_argument("--mask-source", metavar="N,N", default="", help="source tokens to mask in attention")
    change.add_argument(
        "--no-positional-encoding", action="store_true", help="omit positional encodings on both sides"
    )
    parser.add_argument(
        "--column", metavar="NAME", help="for a forecaster: the series of the table (default: first)"
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="device (default: auto, a GPU if there is one)",
    )


def add_attention_arguments(parser: argparse.ArgumentParser, title: str) -> None:
    """Add the arguments that select an attention matrix."""
    group = parser.add_argument_group(title, "Layers and heads are counted from 1.")
    group.add_argument(
        "--attention",
        choices=("encoder", "decoder", "cross"),
        help="encoder self-attention, decoder self-attention or cross-attention (default: cross)",
    )
    group.add_argument(
        "--layer",
        metavar="N",
        type=NumberArgument(int, 1, MAX_LAYER),
        help="default: the last but one for cross-attention, which aligns words best; else the last",
    )
    group.add_argument("--head", metavar="N", help="head number, or mean (default: mean)")


def select_attention_matrix(trace: "Trace", options: argparse.Namespace) -> "AttentionMatrix":
    """Return the matrix that the arguments of `add_attention_arguments` select."""
    from regard.plots.attention_matrix import build_attention_matrix
    from regard.trace.page import default_attention_kind, default_layer

    kind = options.attention or default_attention_kind(trace)
    layer = default_layer(trace, kind) if options.layer is None else options.layer
    return build_attention_matrix(trace, kind, layer, parse_head(options))


def parse_head(options: argparse.Namespace) -> int | None:
    """Return the head number; None for the mean of all heads."""
    head = options.head or "mean"
    if head != "mean" and not re.fullmatch(r"[1-9]\d{0,8}", head):
        raise RegardError(f"--head {head} is not valid; give a number from 1 up, or mean")
    return None if head == "mean" else int(head)


def trace_from_arguments(options: argparse.Namespace, qkv: bool = False) -> "Trace":
    """Return the trace of the request; flags are checked before the model is loaded."""
    folder = resolve_model_folder(options.model)
    match read_model_task(folder):
        case "classification":
            return _trace_classifier(options, folder)
        case "forecasting":
            return _trace_forecaster(options, folder)
        case _:
            return _trace_translation(options, folder, qkv)


def _trace_classifier(options: argparse.Namespace, folder: Path) -> "Trace":
    from regard.classification.tracing import ClassifierTracer

    _reject_translation_flags(options, "a classifier")
    tracer = ClassifierTracer.load(folder, options.device)
    return _trace_within_limit(options, lambda limit: tracer.trace(options.text, limit))


def _trace_forecaster(options: argparse.Namespace, folder: Path) -> "Trace":
    from regard.forecasting.tracing import ForecasterTracer

    _reject_translation_flags(options, "a forecaster")
    tracer = ForecasterTracer.load(folder, Path(options.text), options.device)
    return _trace_within_limit(options, lambda limit: tracer.trace(options.column or "", limit))


def _reject_translation_flags(options: argparse.Namespace, model_kind: str) -> None:
    for name in TRANSLATION_ONLY_FLAGS:
        if getattr(options, name):
            flag = f"--{name.replace('_', '-')}"
            raise RegardError(f"{flag} is for translations; {options.model} is {model_kind}")


def _trace_within_limit(options: argparse.Namespace, trace: "Callable[[int], Trace]") -> "Trace":
    """Trace with the length limit of --max-trace-tokens, naming that flag in the error."""
    from regard.trace.request import MAX_TRACE_TOKENS, TraceLengthError

    try:
        return trace(MAX_TRACE_TOKENS if options.max_trace_tokens is None else options.max_trace_tokens)
    except TraceLengthError as error:
        raise error.with_setting("--max-trace-tokens") from None


def _trace_translation(options: argparse.Namespace, folder: Path, qkv: bool) -> "Trace":
    apply_argument_defaults(options)
    interventions = parse_interventions(options)
    from regard.translation.translator import Translator

    tracer = Translator.load(folder, options.device, "torch").tracer
    request = tracer.build_request(
        options.text,
        beam=options.beam,
        alpha=options.alpha,
        top_k=options.top_k,
        prefix=options.prefix,
        target=options.target,
        interventions=interventions,
    )
    return _trace_within_limit(options, lambda limit: tracer.trace(request, limit, qkv))


def parse_interventions(options: argparse.Namespace) -> "list[Intervention]":
    """Return the interventions that the flags select."""
    from regard.trace.interventions import AblateHead, MaskSource, RemovePositions, SkipSublayer

    interventions: list[Intervention] = []
    for name, mode in (("ablate_head", "zero"), ("uniform_head", "uniform")):
        for value in getattr(options, name):
            flag = f"--{name.replace('_', '-')}"
            kind, layer, head = _parse_triple(
                value, flag, "cross:5:3", r"(encoder|decoder|cross):(\d{1,9}):(\d{1,9})"
            )
            interventions.append(AblateHead(kind, int(layer), int(head), mode))  # pyright: ignore[reportArgumentType]
    for value in options.skip_sublayer:
        stack, layer, sublayer = _parse_triple(
            value, "--skip-sublayer", "decoder:6:ffn", r"(encoder|decoder):(\d{1,9}):(self|cross|ffn)"
        )
        interventions.append(SkipSublayer(stack, int(layer), sublayer))  # pyright: ignore[reportArgumentType]
    if options.no_positional_encoding:
        interventions.append(RemovePositions())
    if options.mask_source:
        interventions.append(MaskSource(_parse_source_positions(options.mask_source)))
    return interventions


def _parse_source_positions(value: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d{0,8}(,[1-9]\d{0,8})*", value):
        raise RegardError(f"--mask-source {value} is not valid; give numbers from 1 up: --mask-source 1,2")
    return tuple(int(number) - 1 for number in value.split(","))


def _parse_triple(value: str, flag: str, example: str, pattern: str) -> tuple[str, str, str]:
    match = re.fullmatch(pattern, value)
    if match is None:
        raise RegardError(f"{flag} {value} is not valid; write it like {flag} {example}")
    return match[1], match[2], match[3]

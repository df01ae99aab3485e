"""A trace in the terminal: probability and alternatives of each token, and one attention matrix."""

import math
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.plots.attention_matrix import AttentionMatrix
from regard.text.unicode import sanitize_for_display
from regard.trace.schema import PredictionStep, TokenCandidate, TraceToken
from regard.trace.trace import Trace

SHADE_THRESHOLDS = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"))
"""Lowest weight of each block character."""
PROBABILITY_COLORS = ((0.9, "green"), (0.5, "yellow"), (0.2, "dark_orange"), (0.0, "red"))
"""Lowest probability of each colour; the number is printed as well."""
NUMBERED_COLUMN_WIDTH = 4
"""Width of a numbered column, used where the token texts do not fit."""


def print_trace(trace: Trace, matrix: AttentionMatrix, console: Console, alternatives: int = 3) -> None:
    """Print the trace and one attention matrix, in colour where the console supports it."""
    if trace.model.task == "translation":
        _print_translation(trace, console, alternatives)
    else:
        _print_labels(trace, console)
    console.print()
    console.print(Text(f"Attention weights: {matrix.name}", style="bold"))
    for line in _matrix_lines(matrix, console.width):
        console.print(line)
    console.print(Text("░ from 5%, ▒ 20%, ▓ 40%, █ 70% of a row's weight", style="dim"))


def _print_labels(trace: Trace, console: Console) -> None:
    """Print the input, and each label with its probability, where the task has labels."""
    console.print(Text(f"{trace.model.name}, {trace.model.task}", style="dim"))
    console.print(Text(sanitize_for_display(trace.source.text)))
    for token in trace.target.tokens:
        if token.logprob is not None:
            probability = math.exp(token.logprob)
            console.print(
                Text(f"  {probability:6.1%}  {_token_label(token)}", style=_probability_color(probability))
            )


def _print_translation(trace: Trace, console: Console, others: int) -> None:
    console.print(Text(f"{_language_pair(trace)}{_search_summary(trace)}", style="dim"))
    console.print(Text(sanitize_for_display(trace.source.text)))
    console.print(_colored_translation(trace), end="")
    console.print(Text(f"   score {trace.target.score:.3f}, log p {trace.target.logprob:.3f}", style="dim"))
    console.print()
    for line in _step_lines(trace, others):
        console.print(line)


def shade_block(weight: float) -> str:
    """Return the block character of a weight."""
    return next((block for threshold, block in SHADE_THRESHOLDS if weight >= threshold), " ")


def _language_pair(trace: Trace) -> str:
    known = trace.model.source_lang and trace.model.target_lang
    return f"{trace.model.name}, {trace.model.source_lang} → {trace.model.target_lang}: " if known else ""


def _search_summary(trace: Trace) -> str:
    request = trace.request
    search = "given translation" if trace.beam is None else f"beam {request.beam}, α {request.alpha:g}"
    count = len(request.interventions)
    return search + (f"; {count} intervention{'s' if count > 1 else ''}" if count else "")


def _colored_translation(trace: Trace) -> Text:
    """Return the text with each token in the colour of its probability."""
    text = Text(trace.target.text)
    for token in trace.target.tokens:
        if token.start is not None and token.end is not None and token.logprob is not None:
            text.stylize(_probability_color(math.exp(token.logprob)), token.start, token.end)
    return (
        Text(sanitize_for_display(trace.target.text))
        if sanitize_for_display(trace.target.text) != text.plain
        else text
    )


def _probability_color(probability: float) -> str:
    return next((colour for threshold, colour in PROBABILITY_COLORS if probability >= threshold), "red")


def _step_lines(trace: Trace, alternatives: int) -> list[Text]:
    """Return one line per step: previous token, chosen token with probability, alternatives."""
    tokens = trace.target.tokens
    inputs = ["<s>", *(_token_label(token) for token in tokens[:-1])]
    input_width = max(map(cell_len, inputs))
    token_width = max(cell_len(_token_label(token)) for token in tokens)
    lines = []
    for input_text, token, step in zip(inputs, tokens, trace.steps, strict=True):
        probability = math.exp(token.logprob or 0.0)
        line = Text(f"{step.t + 1:>3}  {set_cell_size(input_text, input_width)} → ", style="dim")
        line.append(
            set_cell_size(_token_label(token), token_width),
            style=f"bold {_probability_color(probability)} not dim",
        )
        line.append(f"  {probability:6.1%}  ", style="not dim")
        line.append(_alternatives(step, token, alternatives))
        lines.append(line)
    return lines


def _alternatives(step: PredictionStep, token: TraceToken, count: int) -> str:
    candidates = [each for each in step.top if each.id != token.id][:count]
    rank = f"(rank {step.rank}) " if step.rank > 1 else ""
    return rank + ", ".join(map(_candidate, candidates))


def _candidate(candidate: TokenCandidate) -> str:
    """Return entry and probability; the vocabulary entry shows whether the token starts a word."""
    return f"{sanitize_for_display(candidate.piece)} {math.exp(candidate.logprob):.1%}"


def _token_label(token: TraceToken) -> str:
    return sanitize_for_display(token.text) or "▁"


def _matrix_lines(matrix: AttentionMatrix, width: int) -> list[Text]:
    """Return a table of blocks; columns are numbered where the token texts do not fit."""
    columns = [sanitize_for_display(column) or "▁" for column in matrix.columns]
    rows = [sanitize_for_display(row) or "▁" for row in matrix.rows]
    label_width = max(map(cell_len, rows)) + 2
    widths = [max(cell_len(column), 2) + 1 for column in columns]
    lines = []
    if label_width + sum(widths) > width:
        legend = "  ".join(f"{number} {column}" for number, column in enumerate(columns, start=1))
        lines.append(Text(legend, style="dim"))
        widths, columns = (
            [NUMBERED_COLUMN_WIDTH] * len(columns),
            [str(number + 1) for number in range(len(columns))],
        )
    header = "".join(
        set_cell_size(column, column_width) for column, column_width in zip(columns, widths, strict=True)
    )
    lines.append(Text(" " * label_width + header, style="dim"))
    for row, weights in zip(rows, matrix.weights, strict=True):
        lines.append(Text(set_cell_size(row, label_width) + _shaded_row(weights.tolist(), widths)))
    return lines


def _shaded_row(weights: Sequence[float], widths: Sequence[int]) -> str:
    blocks = (
        set_cell_size(shade_block(weight) * 2, each) for weight, each in zip(weights, widths, strict=True)
    )
    return "".join(blocks).rstrip()

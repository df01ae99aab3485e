"""A trace in the terminal: how sure it was of each word, what else it thought of, and where it looked."""

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
"""From these weights on."""
PROBABILITY_COLORS = ((0.9, "green"), (0.5, "yellow"), (0.2, "dark_orange"), (0.0, "red"))
"""From these probabilities on; the number stands beside, so nothing is told by colour alone."""
NUMBERED_COLUMN_WIDTH = 4
"""Width of a column that has its number for a name, where the names do not fit."""


def print_trace(trace: Trace, matrix: AttentionMatrix, console: Console, alternatives: int = 3) -> None:
    """The whole of it, for people; colours only where the console has them."""
    if trace.model.task == "translation":
        _print_translation(trace, console, alternatives)
    else:
        _print_labels(trace, console)
    console.print()
    console.print(Text(f"Where it looks: {matrix.name}", style="bold"))
    for line in _matrix_lines(matrix, console.width):
        console.print(line)
    console.print(Text("░ 5%  ▒ 20%  ▓ 40%  █ 70% of a row's weight, and more", style="dim"))


def _print_labels(trace: Trace, console: Console) -> None:
    """What was read, and each label with its probability, where there are labels."""
    console.print(Text(f"{trace.model.name}, {trace.model.task}", style="dim"))
    console.print(Text(sanitize_for_display(trace.source.text)))
    for token in trace.target.tokens:
        if token.logprob is not None:
            sure = math.exp(token.logprob)
            console.print(Text(f"  {sure:6.1%}  {_token_label(token)}", style=_probability_color(sure)))


def _print_translation(trace: Trace, console: Console, others: int) -> None:
    console.print(Text(f"{_language_pair(trace)}{_search_summary(trace)}", style="dim"))
    console.print(Text(sanitize_for_display(trace.source.text)))
    console.print(_colored_translation(trace), end="")
    console.print(Text(f"   score {trace.target.score:.3f}, log p {trace.target.logprob:.3f}", style="dim"))
    console.print()
    for line in _step_lines(trace, others):
        console.print(line)


def shade_block(weight: float) -> str:
    """The block that stands for a weight."""
    return next((block for least, block in SHADE_THRESHOLDS if weight >= least), " ")


def _language_pair(trace: Trace) -> str:
    known = trace.model.source_lang and trace.model.target_lang
    return f"{trace.model.name}, {trace.model.source_lang} → {trace.model.target_lang}: " if known else ""


def _search_summary(trace: Trace) -> str:
    request = trace.request
    how = "given, not searched for" if trace.beam is None else f"beam {request.beam}, α {request.alpha:g}"
    changed = len(request.interventions)
    return how + (f"; {changed} thing{'s' if changed > 1 else ''} changed in the model" if changed else "")


def _colored_translation(trace: Trace) -> Text:
    """Its text, each token in the colour of its probability."""
    found = Text(trace.target.text)
    for token in trace.target.tokens:
        if token.start is not None and token.end is not None and token.logprob is not None:
            found.stylize(_probability_color(math.exp(token.logprob)), token.start, token.end)
    return (
        Text(sanitize_for_display(trace.target.text))
        if sanitize_for_display(trace.target.text) != found.plain
        else found
    )


def _probability_color(probability: float) -> str:
    return next((colour for least, colour in PROBABILITY_COLORS if probability >= least), "red")


def _step_lines(trace: Trace, others: int) -> list[Text]:
    """A line for each choice: what was read, what was taken, and what else could have been."""
    tokens = trace.target.tokens
    read = ["<s>", *(_token_label(token) for token in tokens[:-1])]
    wide = max(map(cell_len, read))
    taken_wide = max(cell_len(_token_label(token)) for token in tokens)
    lines = []
    for before, token, step in zip(read, tokens, trace.steps, strict=True):
        probability = math.exp(token.logprob or 0.0)
        line = Text(f"{step.t + 1:>3}  {set_cell_size(before, wide)} → ", style="dim")
        line.append(
            set_cell_size(_token_label(token), taken_wide),
            style=f"bold {_probability_color(probability)} not dim",
        )
        line.append(f"  {probability:6.1%}  ", style="not dim")
        line.append(_alternatives(step, token, others))
        lines.append(line)
    return lines


def _alternatives(step: PredictionStep, token: TraceToken, count: int) -> str:
    rest = [each for each in step.top if each.id != token.id][:count]
    rank = f"(rank {step.rank}) " if step.rank > 1 else ""
    return rank + ", ".join(map(_candidate, rest))


def _candidate(candidate: TokenCandidate) -> str:
    """By its piece: the same letters may begin a word or go on with one."""
    return f"{sanitize_for_display(candidate.piece)} {math.exp(candidate.logprob):.1%}"


def _token_label(token: TraceToken) -> str:
    return sanitize_for_display(token.text) or "▁"


def _matrix_lines(matrix: AttentionMatrix, width: int) -> list[Text]:
    """Blocks under the words, or under their numbers where the words take too much room."""
    columns = [sanitize_for_display(column) or "▁" for column in matrix.columns]
    rows = [sanitize_for_display(row) or "▁" for row in matrix.rows]
    label = max(map(cell_len, rows)) + 2
    wide = [max(cell_len(column), 2) + 1 for column in columns]
    lines = []
    if label + sum(wide) > width:
        named = "  ".join(f"{number} {column}" for number, column in enumerate(columns, start=1))
        lines.append(Text(named, style="dim"))
        wide, columns = (
            [NUMBERED_COLUMN_WIDTH] * len(columns),
            [str(number + 1) for number in range(len(columns))],
        )
    heads = "".join(set_cell_size(column, each) for column, each in zip(columns, wide, strict=True))
    lines.append(Text(" " * label + heads, style="dim"))
    for row, weights in zip(rows, matrix.weights, strict=True):
        lines.append(Text(set_cell_size(row, label) + _shaded_row(weights.tolist(), wide)))
    return lines


def _shaded_row(weights: Sequence[float], wide: Sequence[int]) -> str:
    found = (set_cell_size(shade_block(weight) * 2, each) for weight, each in zip(weights, wide, strict=True))
    return "".join(found).rstrip()

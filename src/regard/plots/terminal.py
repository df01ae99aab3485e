"""A trace in the terminal: how sure it was of each word, what else it thought of, and where it looked."""

import math
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.plots.attention_matrix import Matrix
from regard.text.unicode import printable
from regard.trace.schema import Candidate, Step, Token
from regard.trace.trace import Trace

SHADES = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"))
"""From these weights on."""
SURE = ((0.9, "green"), (0.5, "yellow"), (0.2, "dark_orange"), (0.0, "red"))
"""From these probabilities on; the number stands beside, so nothing is told by colour alone."""
NUMBERED = 4
"""Width of a column that has its number for a name, where the names do not fit."""


def look(trace: Trace, matrix: Matrix, console: Console, others: int = 3) -> None:
    """The whole of it, for people; colours only where the console has them."""
    if trace.model.task == "translation":
        _translated(trace, console, others)
    else:
        _answered(trace, console)
    console.print()
    console.print(Text(f"Where it looks: {matrix.name}", style="bold"))
    for line in _matrix(matrix, console.width):
        console.print(line)
    console.print(Text("░ 5%  ▒ 20%  ▓ 40%  █ 70% of a row's weight, and more", style="dim"))


def _answered(trace: Trace, console: Console) -> None:
    """What was read, and each label with its probability, where there are labels."""
    console.print(Text(f"{trace.model.name}, {trace.model.task}", style="dim"))
    console.print(Text(printable(trace.source.text)))
    for token in trace.target.tokens:
        if token.logprob is not None:
            sure = math.exp(token.logprob)
            console.print(Text(f"  {sure:6.1%}  {_name(token)}", style=_sureness(sure)))


def _translated(trace: Trace, console: Console, others: int) -> None:
    console.print(Text(f"{_languages(trace)}{_search(trace)}", style="dim"))
    console.print(Text(printable(trace.source.text)))
    console.print(_translation(trace), end="")
    console.print(Text(f"   score {trace.target.score:.3f}, log p {trace.target.logprob:.3f}", style="dim"))
    console.print()
    for line in _steps(trace, others):
        console.print(line)


def shade(weight: float) -> str:
    """The block that stands for a weight."""
    return next((block for least, block in SHADES if weight >= least), " ")


def _languages(trace: Trace) -> str:
    known = trace.model.source_lang and trace.model.target_lang
    return f"{trace.model.name}, {trace.model.source_lang} → {trace.model.target_lang}: " if known else ""


def _search(trace: Trace) -> str:
    request = trace.request
    how = "given, not searched for" if trace.beam is None else f"beam {request.beam}, α {request.alpha:g}"
    changed = len(request.interventions)
    return how + (f"; {changed} thing{'s' if changed > 1 else ''} changed in the model" if changed else "")


def _translation(trace: Trace) -> Text:
    """Its text, each token in the colour of its probability."""
    found = Text(trace.target.text)
    for token in trace.target.tokens:
        if token.start is not None and token.end is not None and token.logprob is not None:
            found.stylize(_sureness(math.exp(token.logprob)), token.start, token.end)
    return Text(printable(trace.target.text)) if printable(trace.target.text) != found.plain else found


def _sureness(probability: float) -> str:
    return next((colour for least, colour in SURE if probability >= least), "red")


def _steps(trace: Trace, others: int) -> list[Text]:
    """A line for each choice: what was read, what was taken, and what else could have been."""
    tokens = trace.target.tokens
    read = ["<s>", *(_name(token) for token in tokens[:-1])]
    wide = max(map(cell_len, read))
    taken_wide = max(cell_len(_name(token)) for token in tokens)
    lines = []
    for before, token, step in zip(read, tokens, trace.steps, strict=True):
        probability = math.exp(token.logprob or 0.0)
        line = Text(f"{step.t + 1:>3}  {set_cell_size(before, wide)} → ", style="dim")
        line.append(set_cell_size(_name(token), taken_wide), style=f"bold {_sureness(probability)} not dim")
        line.append(f"  {probability:6.1%}  ", style="not dim")
        line.append(_others(step, token, others))
        lines.append(line)
    return lines


def _others(step: Step, token: Token, count: int) -> str:
    rest = [each for each in step.top if each.id != token.id][:count]
    rank = f"(rank {step.rank}) " if step.rank > 1 else ""
    return rank + ", ".join(map(_candidate, rest))


def _candidate(candidate: Candidate) -> str:
    """By its piece: the same letters may begin a word or go on with one."""
    return f"{printable(candidate.piece)} {math.exp(candidate.logprob):.1%}"


def _name(token: Token) -> str:
    return printable(token.text) or "▁"


def _matrix(matrix: Matrix, width: int) -> list[Text]:
    """Blocks under the words, or under their numbers where the words take too much room."""
    columns = [printable(column) or "▁" for column in matrix.columns]
    rows = [printable(row) or "▁" for row in matrix.rows]
    label = max(map(cell_len, rows)) + 2
    wide = [max(cell_len(column), 2) + 1 for column in columns]
    lines = []
    if label + sum(wide) > width:
        named = "  ".join(f"{number} {column}" for number, column in enumerate(columns, start=1))
        lines.append(Text(named, style="dim"))
        wide, columns = [NUMBERED] * len(columns), [str(number + 1) for number in range(len(columns))]
    heads = "".join(set_cell_size(column, each) for column, each in zip(columns, wide, strict=True))
    lines.append(Text(" " * label + heads, style="dim"))
    for row, weights in zip(rows, matrix.weights, strict=True):
        lines.append(Text(set_cell_size(row, label) + _blocks(weights.tolist(), wide)))
    return lines


def _blocks(weights: Sequence[float], wide: Sequence[int]) -> str:
    found = (set_cell_size(shade(weight) * 2, each) for weight, each in zip(weights, wide, strict=True))
    return "".join(found).rstrip()

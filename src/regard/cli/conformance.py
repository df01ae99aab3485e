"""How a run's settings stand to the paper, as a person reads it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from regard.tasks.recipe import Conformance


def show_conformance(found: "Conformance", console: "Console") -> None:
    """Deviations first, then what a run does not decide, then what the paper leaves open."""
    if found.deviations:
        console.print(f"departs from the paper's {found.size} model:")
        table = _table("setting", "the paper", "section", "here")
        for row in found.deviations:
            table.add_row(row.setting, row.paper, _section(row.section), row.here)
        console.print(table)
    else:
        console.print(f"departs in nothing from the paper's {found.size} model, as far as settings go")
    if found.undecided:
        console.print("\nthe paper says, and these settings do not decide:")
        table = _table("what", "the paper", "section")
        for claim in found.undecided:
            table.add_row(claim.setting, claim.words or str(claim.value), _section(claim.section))
        console.print(table)
    console.print("\nthe paper leaves open:")
    table = _table("what", "here")
    for what, here in found.left_open:
        table.add_row(what, here)
    console.print(table)


def _section(number: str) -> str:
    from regard.tasks.recipe import SECTIONS

    return f"{number} {SECTIONS[number]}"


def _table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in columns:
        table.add_column(column)
    return table

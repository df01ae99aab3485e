"""`regard check --series`: what is wrong with a table, before a model learns it."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.output import write_output
from regard.cli.unused import refuse_unused
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.data.series.table import Table

OTHERS = (
    *("source", "target", "pairs", "against_source", "against_target", "against_pairs"),
    *("labelled", "texts", "labels", "against_labelled"),
)


def run_check_series(options: argparse.Namespace) -> None:
    """Reads the table as a training would, and says what had to be done to it."""
    refuse_unused(options, OTHERS, "is for text; --series FILE is a table")
    from regard.data.series.reading import read_table

    table = read_table(Path(options.series))
    if options.json is not None:
        said = {
            "file": table.name,
            "rows": len(table),
            "step": str(table.clock.step),
            "notes": list(table.notes),
        }
        write_output(options.json, (json.dumps(said, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    sys.stdout.write("\n".join(found(table)) + "\n")
    if options.strict and table.notes:
        raise RegardError(f"{table.name} has rows that had to be changed; without --strict they would be")


def found(table: "Table") -> list[str]:
    """What the table holds, series by series, and what was done to it."""
    import numpy as np

    first, last = table.clock.write(table.times[[0, -1]])
    said = [
        f"{table.name}: {len(table):,} rows, {table.clock.step} apart, {first} to {last}",
        f"  {'series':<20}{'least':>12}{'mean':>12}{'most':>12}{'missing':>10}",
    ]
    for column, values in zip(table.columns, table.values.T, strict=True):
        known = values[~np.isnan(values)]
        figures = (known.min(), known.mean(), known.max()) if len(known) else (np.nan,) * 3
        missing = f"{len(values) - len(known):,}"
        said.append(f"  {column:<20}" + "".join(f"{figure:12.5g}" for figure in figures) + f"{missing:>10}")
    return said + [f"  {note}" for note in table.notes or ("nothing wrong was found",)]

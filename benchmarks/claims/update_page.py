"""Puts what was measured last into docs/claims.md, between its marks, and draws the pictures again.

    python benchmarks/claims/page.py

`<!-- cpu speed 0 -->` is followed by the first table of `speed` as cpu.json has it,
`<!-- gpu speed picture -->` by its picture from gpu.json.
What stood there before is replaced; of what was never measured there is nothing.
"""

import json
import re
from pathlib import Path

from benchmark_setting import Measurements
from run import CLAIMS, TITLES, write_claim_plot

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "claims.md"
RESULTS = ROOT / "benchmarks" / "results" / "claims"
MARKER = re.compile(r"(<!-- (cpu|gpu) (\w+) (\d|picture) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    for kind in ("cpu", "gpu"):
        for name, kept in _read_results(RESULTS, kind).items():
            write_claim_plot(name, kept["found"], kind, RESULTS)
    PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


def fill_page(text: str, results: Path) -> str:
    """The page with its tables and pictures as the results have them."""
    kept = {kind: _read_results(results, kind) for kind in ("cpu", "gpu")}

    def fill(mark: re.Match[str]) -> str:
        _, kind, claim, what, end = mark.groups()
        return (
            mark[1]
            + (_render_result(kept[kind][claim], kind, claim, what) if claim in kept[kind] else "")
            + end
        )

    return MARKER.sub(fill, text)


def _render_result(kept: Measurements, kind: str, claim: str, what: str) -> str:
    if what == "picture":
        return f"\n![{TITLES[claim]}](../benchmarks/results/claims/{claim}-{kind}.svg)\n\n"
    said = f"*{kept['device']}; torch {kept['torch']}*"
    return f"\n{CLAIMS[claim].tables(kept['found'])[int(what)]}\n\n{said}\n\n"


def _read_results(results: Path, kind: str) -> dict[str, Measurements]:
    path = results / f"{kind}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


if __name__ == "__main__":
    main()

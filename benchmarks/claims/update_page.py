"""Insert the latest results into docs/claims.md, between its markers, and redraw the charts.

    python benchmarks/claims/update_page.py

`<!-- cpu speed 0 -->` is followed by the first table of `speed` from cpu.json,
`<!-- gpu speed picture -->` by its chart from gpu.json. Older content is replaced; without results nothing is
inserted.
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
        for name, results in _read_results(RESULTS, kind).items():
            write_claim_plot(name, results["found"], kind, RESULTS)
    PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


def fill_page(text: str, results: Path) -> str:
    """Return the page with the tables and charts of the results."""
    stored = {kind: _read_results(results, kind) for kind in ("cpu", "gpu")}

    def fill(mark: re.Match[str]) -> str:
        _, kind, claim, what, end = mark.groups()
        return (
            mark[1]
            + (_render_result(stored[kind][claim], kind, claim, what) if claim in stored[kind] else "")
            + end
        )

    return MARKER.sub(fill, text)


def _render_result(results: Measurements, kind: str, claim: str, what: str) -> str:
    if what == "picture":
        return f"\n![{TITLES[claim]}](../benchmarks/results/claims/{claim}-{kind}.svg)\n\n"
    hardware = f"*{results['device']}; torch {results['torch']}*"
    return f"\n{CLAIMS[claim].tables(results['found'])[int(what)]}\n\n{hardware}\n\n"


def _read_results(results: Path, kind: str) -> dict[str, Measurements]:
    path = results / f"{kind}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


if __name__ == "__main__":
    main()

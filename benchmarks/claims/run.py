"""Measure common claims about the Transformer and the models before it.

    python benchmarks/claims/run.py --out benchmarks/results/claims
    python benchmarks/claims/run.py --out benchmarks/results/claims --device cuda
    python benchmarks/claims/run.py --out benchmarks/results/claims --only speed
    python benchmarks/claims/update_page.py

Every model is trained with regard's own loop, on the demo phrasebook or on random symbols; all seeds are
fixed. Writes cpu.json (or gpu.json) and an SVG of each claim, and prints the tables; update_page.py puts
them into docs/claims.md. --quick tests the code: its results mean nothing.
"""

import argparse
import json
from pathlib import Path
from types import ModuleType

import torch

import attention_scale
import context_distance
import head_count
import position_table
import residual_connections
import token_mixing
import training_speed
import translation_quality
from benchmark_setting import BenchmarkSetting, Measurements
from regard.runtime import keep_freed_memory
from regard.training.device import choose_device
from report_figures import charts_to_svg

CLAIMS: dict[str, ModuleType] = {
    "speed": training_speed,
    "translating": translation_quality,
    "distance": context_distance,
    "scale": attention_scale,
    "residual": residual_connections,
    "order": position_table,
    "heads": head_count,
    "mixers": token_mixing,
}
TITLES = {
    "speed": "Training speed of each model by sentence length",
    "translating": "The phrasebook, learned by each model",
    "distance": "The distance over which each model can recall",
    "scale": "Attention with and without scaling",
    "residual": "The Transformer with and without residual connections",
    "order": "The Transformer with and without positional encoding",
    "heads": "One head and eight",
    "mixers": "Token mixing by attention, a linear layer or a convolution",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for results and charts")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--only", choices=tuple(CLAIMS), nargs="+", help="measure these claims and keep the other results"
    )
    parser.add_argument("--threads", type=int, default=1, help="CPU threads; with one, CPU time is measured")
    parser.add_argument("--quick", action="store_true", help="a test of seconds; the results mean nothing")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_float32_matmul_precision(
        "high"
    )  # as cuDNN's recurrent layers have it anyway; a CPU has no TF32
    keep_freed_memory()
    setting = BenchmarkSetting(choose_device(options.device), options.quick)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only or CLAIMS:
        start = setting.seconds()
        results = CLAIMS[name].measure(setting)
        save_results(name, results, setting.seconds() - start, setting, options.out)
        print("\n\n".join([f"## {name}", *CLAIMS[name].tables(results)]), end="\n\n", flush=True)


def save_results(
    name: str, results: Measurements, seconds: float, setting: BenchmarkSetting, out: Path
) -> None:
    """Store the results of a claim beside those of the others, and draw its charts."""
    kind = "gpu" if setting.on_gpu else "cpu"
    path = out / f"{kind}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    stored[name] = {**setting.hardware_info(), "seconds": round(seconds, 1), "found": _rounded(results)}
    text = json.dumps({key: stored[key] for key in CLAIMS if key in stored}, indent=1, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8")
    write_claim_plot(name, results, kind, out)


def write_claim_plot(name: str, results: Measurements, kind: str, out: Path) -> None:
    image = charts_to_svg(CLAIMS[name].charts(results), TITLES[name])
    (out / f"{name}-{kind}.svg").write_text(image, encoding="utf-8")


def _rounded(value: object) -> object:
    """Round all numbers to four significant digits."""
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


if __name__ == "__main__":
    main()

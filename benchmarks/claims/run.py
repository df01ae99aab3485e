"""Do the things that are said of the Transformer, and of the models before it, hold when measured?

    python benchmarks/claims/run.py --out benchmarks/results/claims
    python benchmarks/claims/run.py --out benchmarks/results/claims --device cuda
    python benchmarks/claims/run.py --out benchmarks/results/claims --only speed
    python benchmarks/claims/page.py

Every model is trained by regard's own loop, on the phrasebook that ships with it or on symbols drawn at
random; all seeds are fixed. Writes cpu.json (or gpu.json) and a picture of each claim, and prints the
tables; page.py puts them into docs/claims.md. --quick tests the code: its figures mean nothing.
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
from regard.train.device import choose_device
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
    "speed": "How fast each model trains, by the length of sentences",
    "translating": "The same phrasebook, learnt by each model",
    "distance": "How far back each model can look",
    "scale": "Attention with and without its scale",
    "residual": "The Transformer with and without residuals",
    "order": "The Transformer with and without positions",
    "heads": "One head and eight",
    "mixers": "Words mixed by attention, a linear layer, a convolution",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for figures and pictures")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--only", choices=tuple(CLAIMS), nargs="+", help="these claims; the others' figures stay"
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="of the CPU; with one, its own time is measured"
    )
    parser.add_argument(
        "--quick", action="store_true", help="seconds instead of minutes, figures without meaning"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_float32_matmul_precision(
        "high"
    )  # as cuDNN's recurrent layers have it anyway; a CPU has no TF32
    keep_freed_memory()
    setting = BenchmarkSetting(choose_device(options.device), options.quick)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only or CLAIMS:
        began = setting.seconds()
        found = CLAIMS[name].measure(setting)
        save_results(name, found, setting.seconds() - began, setting, options.out)
        print("\n\n".join([f"## {name}", *CLAIMS[name].tables(found)]), end="\n\n", flush=True)


def save_results(
    name: str, found: Measurements, seconds: float, setting: BenchmarkSetting, out: Path
) -> None:
    """Puts the figures beside those of the other claims, and draws them."""
    kind = "gpu" if setting.on_gpu else "cpu"
    path = out / f"{kind}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept[name] = {**setting.hardware_info(), "seconds": round(seconds, 1), "found": _rounded(found)}
    text = json.dumps({key: kept[key] for key in CLAIMS if key in kept}, indent=1, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8")
    write_claim_plot(name, found, kind, out)


def write_claim_plot(name: str, found: Measurements, kind: str, out: Path) -> None:
    drawn = charts_to_svg(CLAIMS[name].charts(found), TITLES[name])
    (out / f"{name}-{kind}.svg").write_text(drawn, encoding="utf-8")


def _rounded(value: object) -> object:
    """With no more digits than mean something."""
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

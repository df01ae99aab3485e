"""Start-up time, memory and cost per token from ten thousand training pairs to ten million.

    python benchmarks/growth.py --work /tmp/growth

All pairs are distinct pairs of the phrasebook; a smaller corpus is the beginning of a larger one. They are
written to the folder of --work once (a minute and a half per ten million) and reused. Each figure
comes from a separate process. Cold: an empty cache, so that files are counted, checked, tokenized and
stored. Warm: the second start, the best of several. Start-up is wall-clock time; a step is CPU time with
one thread, which other processes hardly change.
Writes growth.md and growth.svg to benchmarks/results.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.translation.corpus import PreparedCorpora
    from regard.translation.run import TranslationRun

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
BATCH_TOKENS, VOCAB_SIZE, BATCHES, WARM_UP, STEPS, ROUNDS = 2048, 2000, 1000, 2, 10, 5
RESULTS = Path(__file__).parent / "results"
Figures = dict[str, float]
Curve = Callable[[Figures], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for corpora and cache (4 GB)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--measure", choices=("cold", "warm", "steps"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(MEASUREMENTS[options.measure](options.work, options.sizes[0])))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    write_corpora(options.work, options.sizes)
    shutil.rmtree(options.work / "cache", ignore_errors=True)
    rows = measure_all(options.work, options.sizes)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "growth.svg").write_text(plot(rows), encoding="utf-8")
    (RESULTS / "growth.md").write_text(page(rows), encoding="utf-8")
    print(table(rows))


def write_corpora(work: Path, sizes: Sequence[int]) -> None:
    """Write the first pairs of the phrasebook for each size, unless the files exist."""
    from regard.demo.phrasebook.corpus import iterate_pairs

    if all(path.exists() for size in sizes for path in corpus_paths(work, size)):
        return
    drawn, done = iterate_pairs("train"), 0
    for before, size in zip([None, *sizes], sizes, strict=False):
        for side, path in enumerate(corpus_paths(work, size)):
            path.unlink(missing_ok=True)
            if before is not None:
                shutil.copy(corpus_paths(work, before)[side], path)
        with corpus_paths(work, size)[0].open("a") as source, corpus_paths(work, size)[1].open("a") as target:
            for english, french in islice(drawn, size - done):
                source.write(f"{english}\n")
                target.write(f"{french}\n")
        done = size
    time.sleep(1)  # files that changed just now are not remembered by the cache


def corpus_paths(work: Path, size: int) -> tuple[Path, Path]:
    return work / f"{size}.en", work / f"{size}.fr"


def measure_all(work: Path, sizes: Sequence[int]) -> list[Figures]:
    """Measure each size; sizes take turns where time is measured, and the best round counts."""
    rows = [
        {"pairs": size, "mb": sum(path.stat().st_size for path in corpus_paths(work, size)) / 1e6}
        | run_measurement("cold", work, size)
        for size in sizes
    ]
    for name in ("warm", "steps"):
        rounds = [[run_measurement(name, work, size) for size in sizes] for _ in range(ROUNDS)]
        for row, repetitions in zip(rows, zip(*rounds, strict=True), strict=True):
            row |= {key: min(each[key] for each in repetitions) for key in repetitions[0]}
    return rows


def run_measurement(name: str, work: Path, size: int) -> Figures:
    """Measure one size in a separate process."""
    command = [sys.executable, __file__, "--work", str(work), "--sizes", str(size), "--measure", name]
    process = subprocess.run(command, check=True, stdout=-1, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return json.loads(process.stdout)


def measure_cold_start(work: Path, size: int) -> Figures:
    """Measure the first start, which prepares everything."""
    from regard.data.cache import DiskCache

    import_module("regard.translation.task")  # loading PyTorch is not measured
    counts = []
    for repetition in range(3):
        counting = DiskCache(str(work / "cache" / f"count-{size}-{repetition}"), print)
        started = time.perf_counter()
        for path in corpus_paths(work, size):
            counting.file_facts(path)
        counts.append(time.perf_counter() - started)
    with watch_peak_memory() as peak:
        started = time.perf_counter()
        make_first_batch(work, size)
        seconds = time.perf_counter() - started
    return {"count_s": min(counts), "cold_s": seconds, "cold_mb": peak[0]}


def measure_warm_start(work: Path, size: int) -> Figures:
    """Measure the second start, which finds everything in the cache."""
    import_module("regard.translation.task")  # loading PyTorch is not measured
    with watch_peak_memory() as peak:
        started, cpu = time.perf_counter(), time.process_time()
        make_first_batch(work, size)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {"warm_s": seconds, "warm_cpu_s": cpu, "warm_mb": peak[0]}


def measure_steps(work: Path, size: int) -> Figures:
    """Measure batching alone, then training steps."""
    from regard.runtime import keep_freed_memory
    from regard.training.step import EagerStep
    from regard.translation.task import TranslationTask

    keep_freed_memory()
    run = make_run(work, size)
    task = TranslationTask(run, prepare(run))
    started = time.process_time()
    for _ in islice(task.batches({}), BATCHES):
        pass
    batch_seconds = (time.process_time() - started) / BATCHES
    step = EagerStep(task, task.setup.build_learner(), run.train.seed, run.train.clip)
    batches = [batch for batch, _ in islice(task.batches({}), WARM_UP + STEPS)]
    task.model.train()
    started, tokens = 0.0, 0
    for number, batch in enumerate(batches, start=1):
        if number == WARM_UP + 1:
            started, tokens = time.process_time(), 0
        step(number, [batch], task.setup.learning_rate(number))
        tokens += batch.target_tokens
    seconds = time.process_time() - started
    return {
        "batch_ms": 1e3 * batch_seconds,
        "token_us": 1e6 * seconds / tokens,
        "run_mb": anonymous_mb(),
        "pieces": task.model.config.vocab_size,
    }


MEASUREMENTS = {"cold": measure_cold_start, "warm": measure_warm_start, "steps": measure_steps}


def make_first_batch(work: Path, size: int) -> None:
    from regard.data.batch import make_pair_batch
    from regard.data.stream import TokenBudget, stream_batches

    run = make_run(work, size)
    pairs = prepare(run).train
    indexes, _ = next(stream_batches(pairs, TokenBudget(BATCH_TOKENS), run.train.seed))
    make_pair_batch(pairs.source, pairs.target, indexes)


def make_run(work: Path, size: int) -> "TranslationRun":
    from regard.data.config import DataConfig
    from regard.model.config import TINY
    from regard.translation.run import TranslationRun

    source, target = map(str, corpus_paths(work, size))
    data = DataConfig((source,), (target,), cache=str(work / "cache"), batch_tokens=BATCH_TOKENS)
    return TranslationRun(model=replace(TINY, vocab_size=VOCAB_SIZE), data=data)


def prepare(run: "TranslationRun") -> "PreparedCorpora":
    from rich.console import Console

    from regard.translation.corpus import prepare_pair_corpora

    return prepare_pair_corpora(
        run.data, run.model.vocab_size, run.model.max_length, run.train.seed, Console(quiet=True)
    )


@contextmanager
def watch_peak_memory() -> Iterator[list[float]]:
    """Watch the peak of the process's anonymous memory, which excludes mapped files."""
    peak, stopped = [anonymous_mb()], threading.Event()

    def watch() -> None:
        while not stopped.wait(0.02):
            peak[0] = max(peak[0], anonymous_mb())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        stopped.set()
        thread.join()
        peak[0] = max(peak[0], anonymous_mb())


def anonymous_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


COLUMNS = (
    ("pairs", lambda row: f"{row['pairs']:,}"),
    ("text, MB", lambda row: f"{row['mb']:.1f}"),
    ("counting, GB/s", lambda row: f"{row['mb'] / row['count_s'] / 1e3:.2f}"),
    ("cold start, s", lambda row: f"{row['cold_s']:.1f}"),
    ("pairs/s", lambda row: f"{row['pairs'] / row['cold_s']:,.0f}"),
    ("MB/s", lambda row: f"{row['mb'] / row['cold_s']:.1f}"),
    ("cold memory, MB", lambda row: f"{row['cold_mb']:.0f}"),
    ("warm start, s", lambda row: f"{row['warm_s']:.3f}"),
    ("warm memory, MB", lambda row: f"{row['warm_mb']:.0f}"),
    ("batch, ms", lambda row: f"{row['batch_ms']:.2f}"),
    ("target token, µs", lambda row: f"{row['token_us']:.0f}"),
)


def table(rows: Sequence[Figures]) -> str:
    lines = [[name for name, _ in COLUMNS], ["---:"] * len(COLUMNS)]
    lines += [[render(row) for _, render in COLUMNS] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(rows: Sequence[Figures]) -> str:
    import torch

    return f"""# Growth with the size of the corpus

python benchmarks/growth.py --work DIR ({os.cpu_count()} CPU cores, shared; torch {torch.__version__})

{table(rows)}

![The same as curves](growth.svg)

Distinct pairs of the phrasebook; a smaller corpus is the beginning of a larger one. The cold start counts,
checks, learns a vocabulary of {VOCAB_SIZE:,} from at most two million pairs, tokenizes and stores. The warm
start is from the call of `prepare_pair_corpora` to the first batch, the best of {ROUNDS} processes. Memory is
the peak of anonymous memory, libraries included. A batch has {BATCH_TOKENS:,} tokens and is made without a
model. The cost of a target token is CPU time of real steps of a tiny model ({STEPS} steps after {WARM_UP},
one thread), the best of {ROUNDS} processes as well. The smallest corpus is smaller than a pool of the stream,
so its start is shorter.
"""


WIDTH, HEIGHT, LEFT, TOP = 260, 150, 50, 40
PANELS = (
    ("cold start, thousand pairs/s", (("", lambda row: row["pairs"] / row["cold_s"] / 1e3),)),
    ("warm start, seconds", (("", lambda row: row["warm_s"]),)),
    ("memory, MB", (("cold", lambda row: row["cold_mb"]), ("warm", lambda row: row["warm_mb"]))),
    ("CPU time per target token, µs", (("", lambda row: row["token_us"]),)),
)
COLOURS = ("#1f5fa8", "#c2571a")


def plot(rows: Sequence[Figures]) -> str:
    """Draw panels side by side over the number of pairs on a logarithmic axis; heights start at zero."""
    width = len(PANELS) * (WIDTH + LEFT) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 40}" '
        'font-family="sans-serif" font-size="12" fill="#333">'
    ]
    for number, (title, curves) in enumerate(PANELS):
        parts += panel(title, curves, rows, LEFT + number * (WIDTH + LEFT))
    return "\n".join([*parts, "</svg>", ""])


def panel(title: str, curves: Sequence[tuple[str, Curve]], rows: Sequence[Figures], left: int) -> list[str]:
    top = 1.25 * max(value(row) for _, value in curves for row in rows)
    least, most = (math.log10(end(row["pairs"] for row in rows)) for end in (min, max))
    foot, span = TOP + HEIGHT, max(most - least, 1)

    def place(row: Figures, value: float) -> tuple[float, float]:
        across = left + 20 + (WIDTH - 60) * (math.log10(row["pairs"]) - least) / span
        return across, foot - HEIGHT * value / top

    parts = [
        f'<text x="{left}" y="{TOP - 16}" font-weight="bold">{title}</text>',
        f'<path d="M{left} {TOP}V{foot}H{left + WIDTH - 20}" fill="none" stroke="#999"/>',
        f'<text x="{left - 6}" y="{foot}" text-anchor="end">0</text>',
    ]
    for row in rows:
        x, _ = place(row, 0)
        parts.append(f'<text x="{x:.0f}" y="{foot + 18}" text-anchor="middle">{short(row["pairs"])}</text>')
    for (name, value), colour in zip(curves, COLOURS, strict=False):
        points = [place(row, value(row)) for row in rows]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), row in zip(points, rows, strict=True):
            text = f"{value(row):.3g}"
            label = y + 18 if colour != COLOURS[0] else y - 8
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
            parts.append(f'<text x="{x:.1f}" y="{label:.1f}" text-anchor="middle">{text}</text>')
        if name:
            x, y = points[-1]
            parts.append(f'<text x="{x + 16:.1f}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    return parts


def short(pairs: float) -> str:
    return f"{pairs / 1e6:g} M" if pairs >= 1e6 else f"{pairs / 1e3:g} k"


if __name__ == "__main__":
    main()

"""Measure how soon `regard explore` answers, and how long a request takes.

python benchmarks/explorer_server.py RUN --source BEFORE/src --source AFTER/src

`RUN` is a run or model folder. With several source trees, their servers are measured by turns.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

TEXT = "the cat sees"
STARTS, REQUESTS = 5, 100


@contextmanager
def running(run: Path, source: Path) -> Iterator[tuple[int, float]]:
    """Run the explorer; yield its port and the seconds until the first answer."""
    command = [sys.executable, "-m", "regard", "explore", str(run), "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            port = urlsplit(process.stdout.readline().split()[-1]).port
            assert port is not None
            fetch(http.client.HTTPConnection("127.0.0.1", port), "GET", "/api/info")
            yield port, time.perf_counter() - start
        finally:
            process.terminate()


def fetch(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> bytes:
    content = None if body is None else json.dumps(body)
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, content, {**headers, "Accept-Encoding": "gzip"})
    response = connection.getresponse()
    assert response.status == 200, response.read()
    return response.read()


def milliseconds(repeat: int, request: Callable[[], object]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        request()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


def measure(port: int) -> dict[str, tuple[float, float]]:
    kept = http.client.HTTPConnection("127.0.0.1", port)

    def on_new_connection() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        fetch(connection, "GET", "/static/js/main.js")
        connection.close()

    trace = {"text": TEXT}
    return {
        "a file": milliseconds(REQUESTS, lambda: fetch(kept, "GET", "/static/js/main.js")),
        "a file, new connection": milliseconds(REQUESTS, on_new_connection),
        "/api/info": milliseconds(REQUESTS, lambda: fetch(kept, "GET", "/api/info")),
        "/api/trace, from the cache": milliseconds(
            REQUESTS, lambda: fetch(kept, "POST", "/api/trace", trace)
        ),
        "/api/word_order, computed": milliseconds(
            REQUESTS, lambda: fetch(kept, "POST", "/api/word_order", trace)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, action="append", required=True)
    options = parser.parse_args()
    starts: dict[Path, list[float]] = {source: [] for source in options.source}
    latencies: dict[Path, list[dict[str, tuple[float, float]]]] = {source: [] for source in options.source}
    for _ in range(STARTS):
        for source in options.source:
            with running(options.run, source) as (port, seconds):
                starts[source].append(seconds)
                latencies[source].append(measure(port))
    print("| |" + "".join(f" {source} |" for source in options.source))
    print("| --- |" + " ---: |" * len(options.source))
    cells = "".join(f" {statistics.median(starts[source]):.2f} s |" for source in options.source)
    print(f"| command to first answer |{cells}")
    for name in latencies[options.source[0]][0]:
        medians = [
            statistics.median(each[name][0] for each in latencies[source]) for source in options.source
        ]
        slow = [statistics.median(each[name][1] for each in latencies[source]) for source in options.source]
        cells = "".join(f" {median:.2f} / {p99:.2f} ms |" for median, p99 in zip(medians, slow, strict=True))
        print(f"| {name}, median / p99 |{cells}")


if __name__ == "__main__":
    main()

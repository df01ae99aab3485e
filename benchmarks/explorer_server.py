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
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

TEXT = "the cat sees"
STARTS, REQUESTS = 5, 100


@dataclass
class Explorer:
    """A running explorer, and what its start took."""

    port: int
    pid: int
    seconds: float
    cpu_seconds: float


@contextmanager
def running(run: Path, source: Path) -> Iterator[Explorer]:
    """Run the explorer until its first answer."""
    command = [sys.executable, "-m", "regard", "explore", str(run), "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            port = urlsplit(process.stdout.readline().split()[-1]).port
            assert port is not None
            fetch(http.client.HTTPConnection("127.0.0.1", port), "GET", "/api/info")
            yield Explorer(port, process.pid, time.perf_counter() - start, cpu_seconds(process.pid))
        finally:
            process.terminate()


def cpu_seconds(pid: int) -> float:
    """Return the time that a process has computed, which a busy machine hardly changes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fetch(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> bytes:
    content = None if body is None else json.dumps(body)
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, content, {**headers, "Accept-Encoding": "gzip"})
    response = connection.getresponse()
    assert response.status == 200, response.read()
    return response.read()


def milliseconds(explorer: Explorer, request: Callable[[], object]) -> tuple[float, float]:
    """Return the median time of a request, and the mean time that the server computes for it."""
    times = []
    cpu = cpu_seconds(explorer.pid)
    for _ in range(REQUESTS):
        start = time.perf_counter()
        request()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times), 1000 * (cpu_seconds(explorer.pid) - cpu) / REQUESTS


def measure(explorer: Explorer) -> dict[str, tuple[float, float]]:
    kept = http.client.HTTPConnection("127.0.0.1", explorer.port)

    def fetch_on_new_connection() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", explorer.port)
        fetch(connection, "GET", "/static/js/main.js")
        connection.close()

    body = {"text": TEXT}
    return {
        "command to first answer": (1000 * explorer.seconds, 1000 * explorer.cpu_seconds),
        "a file": milliseconds(explorer, lambda: fetch(kept, "GET", "/static/js/main.js")),
        "a file, new connection": milliseconds(explorer, fetch_on_new_connection),
        "/api/info": milliseconds(explorer, lambda: fetch(kept, "GET", "/api/info")),
        "/api/trace, from the cache": milliseconds(explorer, lambda: fetch(kept, "POST", "/api/trace", body)),
        "/api/word_order, computed": milliseconds(
            explorer, lambda: fetch(kept, "POST", "/api/word_order", body)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, action="append", required=True)
    options = parser.parse_args()
    results: dict[Path, list[dict[str, tuple[float, float]]]] = {source: [] for source in options.source}
    for _ in range(STARTS):
        for source in options.source:
            with running(options.run, source) as explorer:
                results[source].append(measure(explorer))
    print("| median / computed by the server, ms |" + "".join(f" {source} |" for source in options.source))
    print("| --- |" + " ---: |" * len(options.source))
    for name in results[options.source[0]][0]:
        cells = ""
        for source in options.source:
            waited = statistics.median(each[name][0] for each in results[source])
            computed = statistics.mean(each[name][1] for each in results[source])
            cells += f" {waited:.2f} / {computed:.2f} |"
        print(f"| {name} |{cells}")


if __name__ == "__main__":
    main()

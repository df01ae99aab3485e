"""Metrics of the translation server in Prometheus' text format."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from regard.server.translation.requests import ServiceMetrics
from regard.server.web.access_log import LogEntry
from regard.version import __version__

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the latency histogram."""
NO_STATUS = "gone"
"""The status of a request whose client left before the answer."""
MetricLabels = Mapping[str, str | int]
Number = int | float
Samples = Iterable[tuple[str, MetricLabels, Number]]
"""Suffix of the name, labels and value."""


class HttpMetrics:
    """Counts requests and their latency by route template; addresses may have texts and keys in them."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def observe(self, entry: LogEntry) -> None:
        """Count an answered request."""
        self._requests[entry.route, str(entry.status or NO_STATUS)] += 1
        seconds = entry.milliseconds / 1000
        buckets = self._buckets.setdefault(entry.route, [0] * (len(LATENCY_SECONDS) + 1))
        buckets[bisect_left(LATENCY_SECONDS, seconds)] += 1
        self._seconds[entry.route] += seconds

    def lines(self) -> list[str]:
        """Return the requests by route and status, and the latency histogram by route."""
        requests = (
            ("", {"route": route, "status": status}, count)
            for (route, status), count in sorted(self._requests.items())
        )
        return [
            *_metric("regard_http_requests_total", "counter", "HTTP requests", requests),
            *_metric(
                "regard_http_request_seconds", "histogram", "Time from request to answer", self._histogram()
            ),
        ]

    def _histogram(self) -> Samples:
        for route, buckets in sorted(self._buckets.items()):
            yield from histogram_samples({"route": route}, LATENCY_SECONDS, buckets, self._seconds[route])


def histogram_samples(
    labels: MetricLabels, bounds: Iterable[Number], counts: Iterable[int], total: Number
) -> Samples:
    """Yield the samples of a histogram, whose last count is of the values above every bound."""
    number = 0
    for bound, count in zip((*bounds, float("inf")), counts, strict=True):
        number += count
        yield "_bucket", {**labels, "le": "+Inf" if bound == float("inf") else f"{bound:g}"}, number
    yield "_sum", labels, total
    yield "_count", labels, number


def prometheus_text(metrics: ServiceMetrics, http: HttpMetrics) -> str:
    """Return all metrics as text."""
    lines: list[str] = []

    def add(name: str, kind: str, help_text: str, samples: Number | Samples) -> None:
        values = [("", {}, samples)] if isinstance(samples, int | float) else samples
        lines.extend(_metric(f"regard_{name}", kind, help_text, values))

    refused = (("", {"reason": reason}, count) for reason, count in sorted(metrics.refused.items()))
    models = (
        (
            "",
            {
                "model": each.name,
                "pair": f"{each.source_language}-{each.target_language}",
                "version": each.version,
                "engine": each.engine,
            },
            1,
        )
        for each in metrics.models
    )
    sizes = sorted(metrics.batch_sizes.items())
    total = sum(size * count for size, count in sizes)
    batches = histogram_samples({}, [size for size, _ in sizes], [*(n for _, n in sizes), 0], total)
    add("info", "gauge", "Version of the server", [("", {"version": __version__}, 1)])
    add("ready", "gauge", "1 if requests are answered", int(metrics.state == "ready"))
    add("model_info", "gauge", "Models that are loaded", models)
    add("queue_segments", "gauge", "Segments that wait for a batch", metrics.queued_segments)
    add("queue_seconds", "gauge", "Predicted time to translate what waits", metrics.queued_seconds)
    add(
        "running_segments", "gauge", "Segments in batches that are being translated", metrics.running_segments
    )
    add("running_batches", "gauge", "Batches that are being translated", metrics.running_batches)
    add("translate_requests_total", "counter", "Translation requests", metrics.requests)
    add("refused_requests_total", "counter", "Refused translation requests by reason", refused)
    add("segments_total", "counter", "Segments that a model translated", metrics.segments)
    add("source_tokens_total", "counter", "Source tokens of these segments", metrics.source_tokens)
    add("target_tokens_total", "counter", "Target tokens of their translations", metrics.target_tokens)
    add("batch_size", "histogram", "Segments of a batch, rounded up to a power of two", batches)
    add("cache_hits_total", "counter", "Segments answered from the cache", metrics.cache_hits)
    add("cache_misses_total", "counter", "Segments that were not in the cache", metrics.cache_misses)
    add("cache_bytes", "gauge", "Memory of the cache", metrics.cache_bytes)
    add("coalesced_segments_total", "counter", "Segments that joined an equal one", metrics.coalesced)
    add("skipped_segments_total", "counter", "Segments whose client had gone, or too late", metrics.skipped)
    add("worker_restarts_total", "counter", "Restarts of model processes", metrics.worker_restarts)
    add("worker_memory_bytes", "gauge", "Memory of the model processes", metrics.worker_memory_bytes)
    add("reloads_total", "counter", "Models that were replaced", metrics.reloads)
    add("failed_reloads_total", "counter", "Models that could not be replaced", metrics.failed_reloads)
    return "\n".join([*lines, *http.lines(), ""])


def _metric(name: str, kind: str, help_text: str, samples: Samples) -> list[str]:
    """Return the lines of one metric."""
    lines = [f"# HELP {name} {help_text}.", f"# TYPE {name} {kind}"]
    for suffix, labels, value in samples:
        shown = ",".join(f'{label}="{_escape(str(each))}"' for label, each in labels.items())
        lines.append(f"{name}{suffix}{f'{{{shown}}}' if shown else ''} {value:.10g}")
    return lines


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

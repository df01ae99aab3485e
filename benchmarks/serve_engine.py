"""The translation service without HTTP at full load, beside CTranslate2 called directly, in one run.

    python benchmarks/serve_engine.py --model runs/demo --input sentences.en
    python benchmarks/serve_engine.py --shape base --input sentences.en --sentences 300

Both translate the same distinct sentences with the same weights, beam and threads. CTranslate2 gets all of
them in one call, the service one request per sentence from many clients at once; its cache is off. Rounds
alternate, so that a busy machine slows both. The CPU time is that of all processes: at full load on the cores
that compute, it is what limits the speed. With --shape the weights are random, sentences are of at most 24
tokens, and translations end there.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import ctranslate2

from regard.inference.ctranslate2 import BEAM_BATCH_TOKENS, COMPUTE_TYPES
from regard.server.translation.requests import TextRequest
from regard.server.translation.serve_settings import LimitSettings, ModelSettings, ServeSettings
from regard.server.translation.service import ScheduledTranslationService
from regard.text.lines import read_lines
from regard.text.tokenizer import EOS
from regard.translation.model_folder import read_translation_folder
from regard.translation.translator import Translator

BEAM = 4
TARGET_TOKENS = 24
RANDOM_VOCABULARY = 8000
DIRECT = "CTranslate2 directly"


class DirectCTranslate2:
    """What a program without a server would do: tokenize, one `translate_batch`, detokenize."""

    def __init__(self, folder: Path, cores: int, max_length: int) -> None:
        self.max_length = max_length
        self.tokenizer = read_translation_folder(folder).tokenizer
        converted = next((folder / ".ctranslate2" / "int8").iterdir())
        self.translator = ctranslate2.Translator(
            str(converted), compute_type=COMPUTE_TYPES["int8"], inter_threads=cores, intra_threads=1
        )

    def translate(self, texts: list[str]) -> list[str]:
        tokens = [[str(id) for id in ids] for ids in self.tokenizer.tokenize(texts)]
        results = self.translator.translate_batch(
            tokens,
            beam_size=BEAM,
            max_batch_size=BEAM_BATCH_TOKENS,
            batch_type="tokens",
            max_decoding_length=self.max_length,
        )
        ids = [[int(token) for token in result.hypotheses[0] if int(token) != EOS] for result in results]
        return self.tokenizer.detokenize(ids)


async def translate_by_requests(
    service: ScheduledTranslationService, texts: list[str], clients: int, size: int
) -> list[str]:
    """Translate lists of `size` texts, `clients` of them at any time."""
    pending = iter(range(0, len(texts), size))
    answers = [""] * len(texts)

    async def client(name: str) -> None:
        for first in pending:
            request = TextRequest(tuple(texts[first : first + size]), "fr", "en", client=name)
            for index, result in enumerate(await service.translate(request)):
                answers[first + index] = result.text

    await asyncio.gather(*(client(f"client {n % 8}") for n in range(clients)))
    return answers


async def measure_lone_latency(
    service: ScheduledTranslationService, texts: list[str], book: str | None
) -> list[float]:
    """Return the seconds of single requests, beside one long text after another if there is a `book`."""
    done = asyncio.Event()

    async def read_books() -> None:
        number = 0
        while book is not None and not done.is_set():
            number += 1
            await service.translate(TextRequest((f"{number} {book}",), "fr", "en", client="a book"))

    reader = asyncio.create_task(read_books())
    seconds = []
    for text in texts:
        await asyncio.sleep(0.01)
        start = time.perf_counter()
        await service.translate(TextRequest((text,), "fr", "en", client="a sentence"))
        seconds.append(time.perf_counter() - start)
    done.set()
    await reader
    return sorted(seconds)


def save_random_model(folder: Path, shape: str, texts: list[str]) -> Path:
    """Save a model with random weights whose translations end where its positions do."""
    from regard.config import to_toml
    from regard.model import config as presets
    from regard.model.transformer import Transformer
    from regard.text.tokenizer import learn_tokenizer
    from regard.translation.model_folder import save_translation_model
    from regard.translation.run import TranslationRun

    tokenizer = learn_tokenizer(texts, RANDOM_VOCABULARY)
    size = {"small": presets.SMALL, "base": presets.BASE}[shape]
    config = replace(size, vocab_size=tokenizer.vocab_size, position="learned", max_length=TARGET_TOKENS)
    model = Transformer(config).eval()
    save_translation_model(folder / "model", model, tokenizer, to_toml(TranslationRun(config)), {"step": 0})
    return folder / "model"


class CpuClock:
    """CPU time of this process and of the model processes."""

    def __init__(self, service: ScheduledTranslationService) -> None:
        self._service = service

    def read(self) -> float:
        return time.process_time() + sum(map(self._of_process, self._service.process_ids()))

    @staticmethod
    def _of_process(number: int) -> float:
        fields = Path(f"/proc/{number}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Measurements:
    """Wall and CPU time per sentence of each way, by round."""

    def __init__(self, clock: CpuClock) -> None:
        self._clock = clock
        self.wall: dict[str, list[float]] = {}
        self.cpu: dict[str, list[float]] = {}

    def add(self, name: str, count: int, wall: float, cpu: float) -> None:
        self.wall.setdefault(name, []).append(wall / count)
        self.cpu.setdefault(name, []).append(cpu / count)

    async def measure(self, name: str, work: Callable[[], Awaitable[list[str]]], count: int) -> list[str]:
        wall, cpu = time.perf_counter(), self._clock.read()
        translations = await work()
        self.add(name, count, time.perf_counter() - wall, self._clock.read() - cpu)
        return translations

    def print_table(self) -> None:
        print("| way | CPU ms per sentence | beside direct, CPU | sentences/s | beside direct, wall |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for name in self.wall:
            ratios = [
                statistics.median(a / b for a, b in zip(times[DIRECT], times[name], strict=True))
                for times in (self.cpu, self.wall)
            ]
            cpu, rate = 1e3 * statistics.median(self.cpu[name]), 1 / statistics.median(self.wall[name])
            print(f"| {name} | {cpu:.3g} | {ratios[0]:.2f} | {rate:,.0f} | {ratios[1]:.2f} |")


async def run(options: argparse.Namespace, temporary: Path) -> None:
    lines = dict.fromkeys(line.decode() for line in read_lines(options.input))
    texts = [line for line in lines if line.strip()]
    if options.shape:
        folder = save_random_model(temporary, options.shape, texts)
        tokens = read_translation_folder(folder).tokenizer.tokenize(texts)
        texts = [text for text, ids in zip(texts, tokens, strict=True) if len(ids) < TARGET_TOKENS]
    else:
        folder = options.model / "model" if (options.model / "model").is_dir() else options.model
    texts = texts[: options.sentences]
    translator = Translator.load(folder, "cpu", "ctranslate2", threads=options.cores)
    translator.translate(texts[:2])  # converts the weights
    limits = LimitSettings(
        cache_megabytes=0, max_wait_seconds=3600, deadline_seconds=3600, text_characters=10**6
    )
    models = {"m": ModelSettings(str(folder), "en", "fr", engine="ctranslate2", device="cpu")}
    service = ScheduledTranslationService(ServeSettings(models, limits), options.cores)
    await service.start()
    direct = DirectCTranslate2(folder, options.cores, TARGET_TOKENS if options.shape else 256)
    direct.translate(texts[:64])
    await translate_by_requests(service, texts[:200], 32, 1)
    measurements = Measurements(CpuClock(service))
    ways = [("1 text, 32 clients", 32, 1), ("1 text, 256 clients", 256, 1), ("20 texts, 32 clients", 32, 20)]
    for _ in range(options.rounds):
        await measurements.measure(DIRECT, lambda: asyncio.to_thread(direct.translate, texts), len(texts))
        expected = await measurements.measure(
            "Translator", lambda: asyncio.to_thread(translator.translate, texts), len(texts)
        )
        for name, clients, size in ways:
            answers = await measurements.measure(
                name, lambda c=clients, s=size: translate_by_requests(service, texts, c, s), len(texts)
            )
            different = sum(a != b for a, b in zip(answers, expected, strict=True))
            assert options.shape or different <= 0.001 * len(texts), f"{different} answers differ"
    print(f"{len(texts):,} sentences, {options.cores} cores, {options.rounds} rounds\n")
    measurements.print_table()
    book = " ".join(texts[options.lone :])[:5000]  # none of the single sentences, which would join its own
    print("\n| one sentence at a time | median | p99 |\n| --- | ---: | ---: |")
    for name, beside in (("alone", None), ("beside texts of 5,000 characters", book)):
        seconds = await measure_lone_latency(service, texts[: options.lone], beside)
        p99 = seconds[int(0.99 * (len(seconds) - 1))]
        print(f"| {name} | {1e3 * statistics.median(seconds):.1f} ms | {1e3 * p99:.1f} ms |")
    print(f"\nbatches by size: {dict(sorted(service.metrics().batch_sizes.items()))}")
    await service.drain()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--model", type=Path)
    model.add_argument("--shape", choices=["small", "base"])
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lone", type=int, default=200)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(run(parser.parse_args(), Path(temporary)))


if __name__ == "__main__":
    main()

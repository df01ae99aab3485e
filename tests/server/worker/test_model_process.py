"""The model process itself, with a real model: loads, translates, refuses, is killed, hangs."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import pytest

from regard.checkpoint import MANIFEST_FILE, file_sha256
from regard.errors import RegardError
from regard.server.worker.protocol import (
    BatchRequest,
    ModelSpec,
    SegmentOptions,
    decode_options,
    encode_options,
)
from regard.server.worker.supervisor import WorkerEvents, WorkerLimits, WorkerSupervisor
from regard.translation.translator import Translator
from server.random_model import TEXTS, save_random

BATCH = BatchRequest(1, "m@1", SegmentOptions(), TEXTS[:3])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_random(tmp_path_factory.mktemp("models") / "m", 1)


def spec_of(folder, handle="m@1", engine="ctranslate2", **options):
    return ModelSpec(handle, str(folder), file_sha256(folder / MANIFEST_FILE), engine, **options)


class Recorder:
    """Events of a supervisor, and a way to wait for them."""

    def __init__(self):
        self.done, self.failed, self.lost, self.gone, self.available = [], [], [], [], 0

    def events(self):
        def count():
            self.available += 1

        return WorkerEvents(
            self.done.append,
            self.failed.append,
            self.lost.extend,
            count,
            lambda *gone: self.gone.append(gone),
        )

    async def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing happened"
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(*specs, limits=None, **options):
    recorder = Recorder()
    supervisor = WorkerSupervisor(recorder.events(), 1, limits or WorkerLimits(), **options)
    await supervisor.start(specs)
    try:
        yield supervisor, recorder
    finally:
        await supervisor.stop()


def test_a_batch_has_the_answers_of_the_translator(model):
    async def run():
        async with running(spec_of(model), spec_of(model, "t@1", "torch")) as (supervisor, recorder):
            for number, handle in enumerate(("m@1", "t@1")):
                supervisor.send(BatchRequest(number, handle, SegmentOptions(n_best=2), TEXTS[:3]))
            supervisor.send(
                BatchRequest(2, "t@1", SegmentOptions(alignments=True, confidences=True), TEXTS[:2])
            )
            supervisor.send(BatchRequest(3, "none@1", SegmentOptions(), TEXTS[:2]))
            await recorder.wait_for(lambda: len(recorder.done) == 3 and recorder.failed)
            return sorted(recorder.done, key=lambda done: done.id), recorder.failed, supervisor

    done, failed, supervisor = asyncio.run(run())
    for message, engine in zip(done, ("ctranslate2", "torch"), strict=False):
        expected = Translator.load(model, "cpu", engine).translate_detailed(TEXTS[:3], n_best=2)
        assert [each.text for each in message.translations] == [each.text for each in expected]
        assert [each.alternatives for each in message.translations] == [
            tuple(other.text for other in each.alternatives) for each in expected
        ]
        assert [each.score for each in message.translations] == [each.score for each in expected]
    [first, *_] = Translator.load(model, "cpu", "torch").translate_detailed(
        TEXTS[:2], alignments=True, confidences=True
    )
    assert done[2].translations[0].alignment == first.alignment
    assert done[2].translations[0].words == first.words
    assert (failed[0].id, failed[0].message) == (3, "the model none@1 is not loaded")
    assert supervisor.ready["m@1"].engine == "ctranslate2 int8"
    assert supervisor.ready["t@1"].engine == "torch fp32"


def test_a_process_that_cannot_be_started_is_tried_again(model, monkeypatch):
    """Memory or file handles may be short just after a crash."""

    async def run():
        async with running(spec_of(model)) as (supervisor, recorder):
            spawn, failures = supervisor._spawn, [OSError(12, "Cannot allocate memory")] * 2

            async def fail_twice():
                if failures:
                    raise failures.pop()
                return await spawn()

            monkeypatch.setattr(supervisor, "_spawn", fail_twice)
            supervisor._current.process.kill()
            await recorder.wait_for(lambda: not failures and supervisor.is_available)
            supervisor.send(BATCH)
            await recorder.wait_for(lambda: recorder.done)

    asyncio.run(run())


def test_a_model_that_cannot_be_used_is_refused_in_one_line(model, tmp_path):
    async def start(spec):
        async with running(spec):
            pass

    changed = ModelSpec("m@1", str(model), "0" * 64)
    missing = ModelSpec("m@1", str(tmp_path), "0" * 64)
    for spec, message in ((changed, "has changed since it was read"), (missing, "is not a model folder")):
        with pytest.raises(RegardError, match=message) as error:
            asyncio.run(start(spec))
        assert "\n" not in str(error.value)


def test_a_killed_process_is_replaced_and_reports_its_batches(model):
    async def run():
        async with running(spec_of(model)) as (supervisor, recorder):
            first = supervisor.process_id
            os.kill(first, signal.SIGSTOP)
            supervisor.send(BATCH)
            os.kill(first, signal.SIGKILL)
            await recorder.wait_for(lambda: recorder.available == 2)
            assert recorder.lost == [1]
            assert not recorder.done
            supervisor.send(BATCH)
            await recorder.wait_for(lambda: recorder.done)
            assert supervisor.process_id != first
            assert supervisor.restarts == 1

    asyncio.run(run())


def test_a_stopped_process_is_noticed_and_replaced(model):
    limits = WorkerLimits(hang_seconds=1.5, stale_seconds=1.0)

    async def run():
        async with running(spec_of(model), limits=limits) as (supervisor, recorder):
            os.kill(supervisor.process_id, signal.SIGSTOP)
            await recorder.wait_for(lambda: not supervisor.is_responding, seconds=5)
            await recorder.wait_for(lambda: recorder.available == 2)
            assert supervisor.is_responding
            assert supervisor.last_error == "no heartbeat for 1.5 s"

    asyncio.run(run())


def test_a_batch_that_never_ends_is_noticed():
    """The heartbeat of a process goes on while its batch hangs."""
    code = (
        "import socket, sys, time\n"
        "from regard.server.worker.protocol import *\n"
        "s = socket.socket(fileno=int(sys.argv[1].partition('=')[2]))\n"
        "s.sendall(encode_frame(ModelReady('m@1', 'none', 1, 9, 9)))\n"
        "while True: time.sleep(0.1); s.sendall(encode_frame(Heartbeat(1)))\n"
    )
    limits = WorkerLimits(batch_seconds=0.5)

    async def run():
        spec = ModelSpec("m@1", "", "")
        command = (sys.executable, "-c", code)
        async with running(spec, limits=limits, command=command) as (supervisor, recorder):
            supervisor.send(BATCH)
            await recorder.wait_for(lambda: recorder.lost == [1])
            assert supervisor.last_error == "a batch took more than 0.5 s"
            await recorder.wait_for(lambda: recorder.available == 2)

    asyncio.run(run())


def test_the_process_ends_with_the_server(model):
    code = (
        "import asyncio, os, sys; from regard.server.worker.protocol import *\n"
        "from regard.server.worker.supervisor import *\n"
        "async def run():\n"
        "    none = lambda *_: None\n"
        "    s = WorkerSupervisor(WorkerEvents(none, none, none, none, none), 1, WorkerLimits())\n"
        "    await s.start([ModelSpec('m@1', *sys.argv[1:], 'ctranslate2')])\n"
        "    print(s.process_id, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(run())\n"
    )
    command = [sys.executable, "-c", code, str(model), file_sha256(model / MANIFEST_FILE)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    process = int(output.stdout)
    end = time.monotonic() + 10
    while os.path.exists(f"/proc/{process}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{process}")


def test_a_ctranslate2_process_loads_no_torch(model):
    code = (
        "import sys; from regard.server.worker.model_host import ModelHost\n"
        "from regard.server.worker.protocol import *\n"
        "import regard.server.worker.model_process\n"
        "host = ModelHost(1)\n"
        "host.load(ModelSpec('m@1', *sys.argv[1:], 'auto', 'cpu', canaries=('the cat',)))\n"
        "translations, _ = host.translate('m@1', SegmentOptions(), ['the cat sees'])\n"
        "assert len(translations) == 1\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code, str(model), file_sha256(model / MANIFEST_FILE)]
    subprocess.run(command, check=True, timeout=60)


def test_equal_options_are_equal_text():
    options = SegmentOptions(beam=2, glossary=(("a", "b"),))
    assert decode_options(encode_options(options)) == options
    assert encode_options(options) == encode_options(SegmentOptions(glossary=(("a", "b"),), beam=2))
    assert encode_options(options) != encode_options(SegmentOptions(beam=2, glossary=(("a b", ""),)))

"""Kills, hangs and reloads under load: no request that has time left is lost."""

import asyncio
import os
import shutil
import signal
import time
from contextlib import asynccontextmanager
from itertools import count

import pytest

from regard.server.translation.requests import TextRequest
from regard.server.translation.serve_settings import LimitSettings, ModelSettings, ServeSettings
from regard.server.translation.service import ScheduledTranslationService
from regard.translation.translator import Translator
from server.random_model import save_random

pytestmark = pytest.mark.fault
CLIENTS = 8


class Load:
    """Clients that each ask for one sentence after another, never the same."""

    def __init__(self, service):
        self.service, self.numbers = service, count()
        self.answers, self.errors, self.slowest = {}, [], 0.0
        self.stopping = False

    async def client(self, name):
        while not self.stopping:
            text = f"the cat {next(self.numbers)} sees the dog"
            start = time.monotonic()
            try:
                [result] = await self.service.translate(TextRequest((text,), "fr", "en", client=name))
                self.answers[text] = result.text
            except Exception as error:
                self.errors.append(error)
                await asyncio.sleep(0.05)
            self.slowest = max(self.slowest, time.monotonic() - start)

    async def wait_for_answers(self, more, seconds=60):
        """Wait for further answers, of segments submitted from now on."""
        target, end = len(self.answers) + more + CLIENTS, time.monotonic() + seconds
        while len(self.answers) < target:
            assert time.monotonic() < end, "the service does not answer any more"
            await asyncio.sleep(0.005)


@asynccontextmanager
async def under_load(folder, **limits):
    """A service with clients that ask without pause."""
    limits = LimitSettings(cache_megabytes=0, **limits)
    service = ScheduledTranslationService(
        ServeSettings({"m": ModelSettings(str(folder), device="cpu")}, limits), 1
    )
    await service.start()
    load = Load(service)
    tasks = [asyncio.create_task(load.client(f"client {n % 3}")) for n in range(CLIENTS)]
    try:
        await load.wait_for_answers(10)
        yield service, load
    finally:
        load.stopping = True
        await asyncio.gather(*tasks)
        await service.drain()


async def kill_often(folder, kills):
    async with under_load(folder) as (service, load):
        for number in range(kills):
            await asyncio.sleep(0.003 * number)
            os.kill(service.process_ids()[0], signal.SIGKILL)
            await load.wait_for_answers(20)
    return load, service


def expected_answers(folder, texts):
    return dict(zip(texts, Translator.load(folder, "cpu", "ctranslate2").translate(list(texts)), strict=True))


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_killed_model_process_loses_no_request(tmp_path, kills):
    folder = save_random(tmp_path / "m", 1)
    load, service = asyncio.run(kill_often(folder, kills))
    assert load.errors == []
    assert service.metrics().worker_restarts == kills
    assert load.answers == expected_answers(folder, load.answers)


async def hang_once(folder, hang_seconds):
    async with under_load(folder, hang_seconds=hang_seconds) as (service, load):
        os.kill(service.process_ids()[0], signal.SIGSTOP)
        start = time.monotonic()
        while service.ready:
            assert time.monotonic() < start + 5, "still ready while the model process is stopped"
            await asyncio.sleep(0.05)
        await load.wait_for_answers(20)
        assert service.ready
    return load


@pytest.mark.slow
def test_a_hung_model_process_is_reported_and_replaced(tmp_path):
    load = asyncio.run(hang_once(save_random(tmp_path / "m", 1), 3.5))
    assert load.errors == []


async def reload_often(versions, current, reloads):
    async with under_load(current) as (service, load):
        for number in range(reloads):
            replace_link(current, versions[(number + 1) % len(versions)])
            result = await service.reload()
            assert result.changed == ("m",)
            await load.wait_for_answers(20)
        return load, service


def replace_link(current, folder):
    temporary = current.with_name("next")
    temporary.symlink_to(folder)
    temporary.replace(current)


@pytest.mark.parametrize("reloads", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_reload_drops_no_request(tmp_path, reloads):
    versions = [save_random(tmp_path / f"v{seed}", seed) for seed in (1, 2)]
    replace_link(tmp_path / "current", versions[0])
    load, service = asyncio.run(reload_often(versions, tmp_path / "current", reloads))
    assert load.errors == []
    assert (service.metrics().reloads, service.metrics().failed_reloads) == (reloads, 0)
    answers = [expected_answers(folder, load.answers) for folder in versions]
    used = [{text for text, answer in load.answers.items() if each[text] == answer} for each in answers]
    assert used[0] | used[1] == set(load.answers)
    assert used[0] - used[1]
    assert used[1] - used[0]


def test_a_model_that_does_not_work_does_not_replace_the_old_one(tmp_path):
    good, bad = save_random(tmp_path / "v1", 1), save_random(tmp_path / "v2", 2)
    weights = bytearray((bad / "model.safetensors").read_bytes())
    weights[-40:] = b"\xff" * 40
    (bad / "model.safetensors").write_bytes(weights)
    replace_link(tmp_path / "current", good)

    async def run():
        async with under_load(tmp_path / "current") as (service, load):
            replace_link(tmp_path / "current", bad)
            result = await service.reload()
            assert result.changed == ()
            assert "model.safetensors is not what was written" in result.failed["m"]
            await load.wait_for_answers(10)
            assert service.metrics().failed_reloads == 1
            return load

    assert asyncio.run(run()).errors == []


def test_a_folder_that_was_replaced_is_loaded_after_a_kill(tmp_path):
    """The model process cannot load the old version again, so the segments are translated by the new one."""
    folder, new = save_random(tmp_path / "m", 1), save_random(tmp_path / "new", 2)

    async def run():
        async with under_load(folder) as (service, load):
            before = service.models()[0].version
            shutil.rmtree(folder)
            new.rename(folder)
            os.kill(service.process_ids()[0], signal.SIGKILL)
            await load.wait_for_answers(20)
            assert service.models()[0].version != before
            return load

    assert asyncio.run(run()).errors == []

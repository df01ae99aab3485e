"""Access by API keys: quotas, rates, revocation, and counts that survive a restart."""

import asyncio
import json
from contextlib import closing

import pytest

from regard.errors import RegardError
from regard.server.operations.access import (
    KeyRequiredError,
    QuotaExceededError,
    RateExceededError,
    UnknownKeyError,
)
from regard.server.operations.key_access import KeyAccess
from regard.server.operations.key_file import KeyFile, KeyLimits, UsageCount
from regard.server.operations.rate_limit import RateLimiter, RateLimits, address_block
from regard.server.operations.server_metrics import HttpMetrics
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.requests import OverloadedError
from regard.server.translation.serve_settings import AccessSettings, ModelSettings, ServeSettings
from regard.server.translation_server import translation_groups
from regard.server.web.access_log import JsonAccessLog
from server.fake_translation import FakeTranslationService
from server.http_client import run_server

NOVEMBER = 1_795_000_000.0
"""A time in November 2026."""
DECEMBER = NOVEMBER + 20 * 86_400


class Clock:
    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def __call__(self):
        return self.seconds


class Server:
    """A file of keys, and the access of a server that uses it."""

    def __init__(self, path, **settings):
        self.path = path
        self.file = KeyFile(path, create=True)
        self.clock, self.now, self.reports = Clock(), Clock(NOVEMBER), []
        self.settings = AccessSettings(str(path), **settings)
        self.started = []
        self.access = self.start()

    def start(self):
        access = KeyAccess(self.settings, report=self.reports.append, clock=self.clock, now=self.now)
        self.started.append(access)
        return access

    def close(self):
        for each in (self.file, *self.started):
            each.close()

    def admit(self, key, characters=1, address="192.0.2.1"):
        return asyncio.run(self.access.admit(key, address, characters))

    def usage(self, key):
        return tuple(asyncio.run(self.access.usage(key)))

    def save(self):
        asyncio.run(self.access.save())


@pytest.fixture
def server(tmp_path):
    with closing(Server(tmp_path / "keys.sqlite", key_required=True)) as server:
        yield server


def test_a_key_is_accepted_and_others_are_not(server):
    key = server.file.add("team")
    server.save()
    assert server.admit(key) == "team"
    for wrong in (key[:-1] + "g", key[:-1], "rgd_00000000_0", "", "x", "\udcff", "rgd__"):
        with pytest.raises(UnknownKeyError, match="Invalid API key"):
            server.admit(wrong)
    with pytest.raises(KeyRequiredError):
        server.admit(None)


def test_revoked_and_expired_keys_are_refused(server):
    revoked, expiring = server.file.add("a"), server.file.add("b", expires=NOVEMBER + 10)
    server.save()
    assert server.admit(revoked) == "a"
    server.file.revoke("a")
    server.save()
    with pytest.raises(UnknownKeyError, match="was revoked"):
        server.admit(revoked)
    assert server.admit(expiring) == "b"
    server.now.seconds += 10
    with pytest.raises(UnknownKeyError, match="has expired"):
        server.admit(expiring)


def test_a_quota_holds_over_restarts_and_replicas_and_begins_again_each_month(server):
    key = server.file.add("team", KeyLimits(characters_per_month=100))
    server.save()
    server.admit(key, 60)
    with pytest.raises(QuotaExceededError, match="40 of its 100 characters"):
        server.admit(key, 41)
    assert server.usage(key) == (60, 100)
    server.save()
    assert server.usage(key) == (60, 100)
    replica = server.start()
    asyncio.run(replica.admit(key, "", 30))
    asyncio.run(replica.save())
    server.save()
    assert server.usage(key) == (90, 100)
    server.now.seconds = DECEMBER
    assert server.usage(key) == (0, 100)
    server.admit(key, 100)
    server.save()
    assert server.file.read_usage("2026-11") | server.file.read_usage("2026-12") != {}
    assert [sum(each.characters for each in server.file.read_usage(month).values()) for month in
            ("2026-11", "2026-12")] == [90, 100]  # fmt: skip


@pytest.fixture
def open_server(tmp_path):
    """Keys are not required; an address without one may make two requests a minute."""
    with closing(Server(tmp_path / "keys.sqlite", address_requests_per_minute=2)) as server:
        yield server


def test_rates_of_keys_and_of_addresses(open_server):
    server = open_server
    key = server.file.add("team", KeyLimits(requests_per_minute=60, characters_per_minute=600))
    server.save()
    for _ in range(60):
        server.admit(key, 10)
    with pytest.raises(RateExceededError) as error:
        server.admit(key, 10)
    assert error.value.retry_after == 1
    for _ in range(2):
        assert server.admit(None, address="192.0.2.1") == "192.0.2.1"
    with pytest.raises(RateExceededError) as error:
        server.admit(None, address="192.0.2.1")
    assert error.value.retry_after == 30
    assert server.admit(None, address="192.0.2.2")
    server.clock.seconds += 30
    assert server.admit(None, address="192.0.2.1")
    assert server.usage(None) == (4, None)


def test_a_minute_never_admits_more_than_twice_its_limit_and_long_runs_keep_the_rate():
    clock = Clock()
    limiter = RateLimiter(clock)
    limits = RateLimits(30, None)
    admitted = []
    for tick in range(6000):  # ten requests a second for ten minutes
        clock.seconds = tick / 10
        if not limiter.take("a", limits, 1):
            admitted.append(clock.seconds)
    assert len(admitted) == pytest.approx(30 + 10 * 30, abs=2)
    assert max(sum(start <= each < start + 60 for each in admitted) for start in admitted) <= 60


def test_who_waits_as_told_is_admitted():
    clock = Clock()
    limiter = RateLimiter(clock)
    limits = RateLimits(7, 100)
    for characters in (90, 30, 500, 1, 100, 3):
        clock.seconds += limiter.take("a", limits, characters)
        wait = limiter.take("a", limits, characters)
        assert wait == pytest.approx(0, abs=1e-6) or clock.seconds == 0


def test_addresses_that_one_client_can_choose_are_one():
    assert address_block("2001:db8::1") == address_block("2001:db8::ffff:1") == "2001:db8::/64"
    assert address_block("::ffff:192.0.2.1") == address_block("192.0.2.1")
    assert address_block("2001:db8:0:1::1") != address_block("2001:db8::1")
    assert address_block("x" * 999) == "x" * 64


def test_counts_are_saved_while_the_server_runs_and_at_its_end(server, monkeypatch):
    monkeypatch.setattr("regard.server.operations.key_access.SAVE_SECONDS", 0.01)
    first, second = server.file.add("a"), None

    async def run():
        nonlocal second
        async with server.access.saving():
            await wait_for(lambda: server.access._keys)
            await server.access.admit(first, "", 5)
            await wait_for(lambda: server.file.read_usage("2026-11"))
            second = server.file.add("b")
            await wait_for(lambda: len(server.access._keys) == 2)
            monkeypatch.setattr("regard.server.operations.key_access.SAVE_SECONDS", 60)
            await asyncio.sleep(0.05)
            await server.access.admit(second, "", 7)

    asyncio.run(run())
    assert sorted(server.file.read_usage("2026-11").values()) == [UsageCount(1, 5), UsageCount(1, 7)]


async def wait_for(condition):
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not happen")


def test_a_file_that_cannot_be_written_is_reported_once_and_nothing_is_lost(server, monkeypatch):
    key = server.file.add("team", KeyLimits(characters_per_month=10))
    server.save()
    add_usage = KeyFile.add_usage

    def fail(*_):
        raise RegardError("the disk is full")

    monkeypatch.setattr(KeyFile, "add_usage", fail)
    for _ in range(3):
        server.admit(key, 2)
        server.save()
    assert server.reports == ["the disk is full; keys are counted in memory until it can be written"]
    with pytest.raises(QuotaExceededError):
        server.admit(key, 5)
    monkeypatch.setattr(KeyFile, "add_usage", add_usage)
    server.save()
    assert [*server.file.read_usage("2026-11").values()] == [UsageCount(3, 6)]


def test_what_is_not_translated_is_not_used(server):
    key = server.file.add("team", KeyLimits(characters_per_month=100))
    server.save()
    service = FakeTranslationService(error=OverloadedError("too much", 3))
    context = SurfaceContext(service, access=server.access)
    settings = ServeSettings({"model": ModelSettings("x")}, access=server.settings)
    with run_server(*translation_groups(context, settings, HttpMetrics())) as client:
        body = {"q": "a cat", "source": "en", "target": "fr", "api_key": key}
        assert client("/translate", body).status == 429
        service.error = None
        assert client("/translate", body | {"target": "zz"}).status == 400
        late = {"text": "a cat", "source": "en", "target": "fr", "timeout_ms": -1}
        assert client("/api/translate", late, Authorization=f"Bearer {key}").status == 400
        assert server.usage(key) == (0, 100)
        assert client("/translate", body).status == 200
    assert server.usage(key) == (5, 100)
    server.save()
    assert [*server.file.read_usage("2026-11").values()] == [UsageCount(4, 5)]


def test_neither_keys_nor_texts_are_in_log_metrics_or_errors(server):
    """X7, over all surfaces."""
    good = server.file.add("team", KeyLimits(characters_per_month=60, requests_per_minute=9))
    server.save()
    http, log, answers = HttpMetrics(), [], []
    write = JsonAccessLog(log.append)

    def note(entry):
        http.observe(entry)
        write(entry)

    settings = ServeSettings({"model": ModelSettings("x")}, access=server.settings)
    context = SurfaceContext(FakeTranslationService(), access=server.access)
    groups = translation_groups(context, settings, http)
    with run_server(*groups, access_log=note) as client:
        for key in (good, good[:-4] + "0000", "Geheimnis"):
            query = f"q=Kohlrabi&source=en&target=zz&api_key={key}"
            answers += [
                client(f"/translate?{query}", b"", "POST"),
                client("/v2/translate", {"text": ["Kohlrabi"], "target_lang": "ZZ"},
                       Authorization=f"DeepL-Auth-Key {key}"),
                client("/v2/usage", Authorization=f"DeepL-Auth-Key {key}"),
                client("/api/translate", {"text": "Kohlrabi", "source": "en", "target": "zz"},
                       Authorization=f"Bearer {key}"),
                client("/api/translate", {"text": "Kohlrabi " * 9, "source": "en", "target": "fr"},
                       Authorization=f"Bearer {key}"),
                client(f"/{key}/Kohlrabi?{query}"),
            ]  # fmt: skip
        for _ in range(9):
            answers.append(client("/api/detect", {"text": "a"}, Authorization=f"Bearer {good}"))
        metrics = client("/metrics").body.decode()
    statuses = {each.status for each in answers}
    assert {400, 403, 404, 429} <= statuses
    assert max(statuses) < 500
    refused = [each for each in answers if each.status == 429]
    assert all(int(each.headers["retry-after"]) >= 1 for each in refused)
    assert {"team"} == {json.loads(line)["key"] for line in log if '"key"' in line}
    said = "".join([*log, metrics, *(each.body.decode() for each in answers if each.status != 200)])
    for secret in (good, good.rpartition("_")[2], good[:-4], "Geheimnis", "ohlrabi", "OHLRABI"):
        assert secret not in said, secret

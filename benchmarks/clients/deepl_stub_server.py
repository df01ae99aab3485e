"""The server's DeepL surface over a stub translator, for the test suite of deepl-python; prints its address.

    PYTHONPATH=src python benchmarks/clients/deepl_stub_server.py TESTS/conftest.py

Everything but the translator, the keys and the session headers of the suite is the server's own: the stub
translates by the table `example_text` that is read from the suite, and what a glossary says. The suite tells
its mock server by headers to lose requests, to answer 429, and how long documents take.
"""

import ast
import asyncio
import sys
from collections import Counter
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from regard.server.operations.access import KeyUsage, QuotaExceededError, UnknownKeyError
from regard.server.surfaces.deepl.deepl_group import deepl_groups
from regard.server.surfaces.deepl.request_values import deepl_error
from regard.server.surfaces.surface import SurfaceContext
from regard.server.translation.document_jobs import DocumentJobs
from regard.server.translation.language_codes import language_name
from regard.server.translation.requests import (
    AUTO_LANGUAGE,
    DetectedLanguage,
    ServedLanguage,
    ServedModel,
    TextResult,
)
from regard.server.web.application import Handler, RouteGroup
from regard.server.web.responses import RequestError
from regard.server.web.web_server import WebServer

SESSION = "mock-server-session"
HEADERS: ContextVar[dict[str, str]] = ContextVar("headers")
"""Those of the request that is answered, or that started the job."""


def read_table(path: Path) -> dict[str, str]:
    """Return the translations of one phrase by language."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "example_text":
            table = ast.literal_eval(node.value)
            return {code.lower(): text for code, text in table.items() if "-" not in code}
    raise SystemExit(f"{path} has no table example_text")


class StubService:
    """Translates the texts of a table, and terms of a glossary; other texts stay as they are."""

    state, ready = "ready", True

    def __init__(self, table: dict[str, str]) -> None:
        self._table = table
        self._sources = {text: code for code, text in reversed(table.items())}
        self._delayed: set[str] = set()

    def languages(self) -> list[ServedLanguage]:
        return [ServedLanguage(code, language_name(code), tuple(self._table)) for code in self._table]

    def models(self) -> list[ServedModel]:
        pairs = ((a, b) for a in self._table for b in self._table if a != b)
        return [ServedModel(f"{a}-{b}", a, b, "0", "stub") for a, b in pairs]

    def detect(self, text: str) -> list[DetectedLanguage]:
        for known, code in self._sources.items():
            if known in text:
                return [DetectedLanguage(code, 1.0)]
        return [DetectedLanguage("en", 1.0)]

    async def translate(self, request: Any) -> list[TextResult]:
        await self._delay_documents()
        return [self._translate(request, text) for text in request.texts]

    def _translate(self, request: Any, text: str) -> TextResult:
        source = request.source_language
        if source == AUTO_LANGUAGE:
            source = self.detect(text)[0].language
        terms = dict(request.glossary)
        target = self._table[request.target_language]
        lines = [terms.get(line, target if line in self._sources else line) for line in text.split("\n")]
        return TextResult("\n".join(lines), source, request.target_language)

    async def _delay_documents(self) -> None:
        """Wait as long as the session says that a document takes, once for each."""
        headers = HEADERS.get({})
        session = headers.get(SESSION, "")
        milliseconds = sum(
            int(headers.get(f"{SESSION}-doc-{name}-time", 0)) for name in ("queue", "translate")
        )
        if milliseconds and session not in self._delayed:
            self._delayed.add(session)
            await asyncio.sleep(milliseconds / 1000)


class SessionAccess:
    """Knows every key but "invalid"; the limit of a key comes with the session."""

    has_keys = key_required = True

    def __init__(self) -> None:
        self._characters: Counter[str] = Counter()

    async def admit(self, key: str | None, address: str, characters: int) -> str:  # noqa: ARG002
        usage = await self.usage(key)
        if usage.limit is not None and usage.characters + characters > usage.limit:
            raise QuotaExceededError("the characters of this key are used up")
        self._characters[str(key)] += characters
        return str(key)

    def refund(self, key: str | None, characters: int) -> None:
        self._characters[str(key)] -= characters

    async def usage(self, key: str | None) -> KeyUsage:
        if key in (None, "invalid"):
            raise UnknownKeyError("unknown API key")
        limit = HEADERS.get({}).get(f"{SESSION}-init-character-limit")
        return KeyUsage(self._characters[str(key)], None if limit is None else int(limit))


def with_sessions(groups: list[RouteGroup]) -> list[RouteGroup]:
    """Return the routes with what the session headers ask for."""
    seen: Counter[tuple[str, str]] = Counter()

    def wrap(path: str, handler: Handler) -> Handler:
        async def answer(request: Any) -> Any:
            headers = dict(request.headers)
            HEADERS.set(headers)
            session = headers.get(SESSION, "")
            for name, applies in (("no-response", True), ("429", path == "/v2/translate")):
                asked = int(headers.get(f"{SESSION}-{name}-count", 0))
                if applies and seen[session, name] < asked:
                    seen[session, name] += 1
                    if name == "429":
                        raise RequestError("busy", "as the test asks", HTTPStatus.TOO_MANY_REQUESTS)
                    await asyncio.sleep(60)
            return await handler(request)

        return answer

    return [
        replace(
            group,
            routes={
                path: {method: wrap(path, handler) for method, handler in handlers.items()}
                for path, handlers in group.routes.items()
            },
            error_response=deepl_error,
        )
        for group in groups
    ]


def main() -> None:
    service: Any = StubService(read_table(Path(sys.argv[1])))
    documents = DocumentJobs(service)
    context = SurfaceContext(service, access=SessionAccess(), documents=documents)

    @asynccontextmanager
    async def lifespan(_: object) -> Any:
        yield
        await documents.close()

    with WebServer("127.0.0.1", 0, names=("*",)) as server:
        print(server.url, flush=True)
        server.serve(with_sessions(deepl_groups(context)), drain_seconds=1, lifespan=lifespan)


if __name__ == "__main__":
    main()

"""Translation of documents in the background: uploads and results on disk, progress, and expiry."""

import asyncio
import secrets
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from regard.documents.formats import DOCUMENT_FORMATS, Document, DocumentOptions, read_document
from regard.errors import DataError, RegardError
from regard.server.translation.collection_pause import COLLECTION_PAUSE
from regard.server.translation.requests import (
    AUTO_LANGUAGE,
    DeadlineExceededError,
    InvalidRequestError,
    OverloadedError,
    TextRequest,
    TextTooLongError,
    TranslateRequestError,
    TranslationFailedError,
    TranslationService,
    UnavailableError,
)
from regard.server.translation.scratch_folder import ScratchFolder
from regard.server.translation.serve_settings import LimitSettings, StorageSettings
from regard.text.sentences import join_with_source_spacing, split_sentences

JobState = Literal["queued", "translating", "done", "error"]
CONCURRENT_JOBS = 2
"""Documents that are translated at a time; the sentences of one fill batches well."""
SENTENCES_PER_REQUEST = 64
CHARACTERS_PER_REQUEST = 20_000
SAMPLE_CHARACTERS = 2000
"""Of a document, as much as its language is told by."""
MEGABYTE = 2**20
NAME_CHARACTERS = 120
ResultT = TypeVar("ResultT")


class DocumentError(InvalidRequestError):
    """A document that cannot be translated."""


class NoDocumentError(TranslateRequestError):
    """A document that does not exist, or does not any more."""


FindTerms = Callable[[tuple[str, ...]], Awaitable[tuple[tuple[str, str], ...]]]
Admit = Callable[[int], Awaitable[str]]
"""Returns the client's name if it may send so many characters."""


@dataclass(frozen=True)
class DocumentRequest:
    """How a document is translated."""

    target_language: str
    source_language: str = AUTO_LANGUAGE
    find_terms: FindTerms | None = None
    """Returns the glossary entries for some texts."""
    client: str = ""
    refuses_same_language: bool = False
    """Whether a document that is in the target language already is an error; else it stays as it is."""


@dataclass(eq=False)
class DocumentJob:
    """A document on its way."""

    id: str
    key: str
    """Who has it may fetch the document."""
    name: str
    request: DocumentRequest
    source: Path
    characters: int
    sentences: int
    state: JobState = "queued"
    translated: int = 0
    """Sentences that are."""
    started: float = 0.0
    error: RegardError | None = None
    """Why there is no translation."""
    result: Path | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def seconds_remaining(self) -> int:
        """The time it may take, judged by what is translated."""
        if self.state != "translating" or not self.translated:
            return max(1, self.sentences // SENTENCES_PER_REQUEST)
        elapsed = time.monotonic() - self.started
        return max(1, round(elapsed * (self.sentences - self.translated) / self.translated))

    @property
    def files(self) -> list[Path]:
        return [self.source, *([] if self.result is None else [self.result])]


class ParsedDocument(NamedTuple):
    """A document with its sentences, those of each segment and those of each request."""

    document: Document
    groups: list[list[str]]
    batches: list[tuple[str, ...]]


class DocumentJobs:
    """Translates documents, and keeps them until they expire."""

    def __init__(
        self,
        service: TranslationService,
        storage: StorageSettings | None = None,
        limits: LimitSettings | None = None,
    ) -> None:
        self._service = service
        self.settings = storage or StorageSettings()
        self._limits = limits or LimitSettings()
        self._folder: ScratchFolder | None = None
        self._jobs: dict[str, DocumentJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: Counter[str] = Counter()
        self._unread_bytes = 0
        """Of documents that are being checked."""
        """Documents that are translated, by client."""
        self._waiting: dict[str, deque[DocumentJob]] = {}
        """By client; among those with the fewest running, the first has its turn next."""
        self._threads = ThreadPoolExecutor(CONCURRENT_JOBS, "regard-documents")
        """Large documents take seconds to read: threads of their own, so that requests wait for none."""

    @property
    def max_bytes(self) -> int:
        """Size of a document."""
        return self.settings.document_megabytes * MEGABYTE

    async def submit(self, content: bytes, name: str, request: DocumentRequest, admit: Admit) -> DocumentJob:
        """Check a document and queue it; raise for what is no document, and what `admit` raises."""
        self._require_room(len(content))
        name = clean_name(name)
        if Path(name).suffix.lower() not in DOCUMENT_FORMATS:
            known = ", ".join(DOCUMENT_FORMATS)
            raise DocumentError(f"{name} is of no known format; its file extension must be one of {known}")
        options = DocumentOptions(target_language=request.target_language)
        self._unread_bytes += len(content)
        try:
            sentences, characters = await self._in_thread(_measure, content, name, options, self._limits)
        except DataError as error:
            raise DocumentError(_one_line(error)) from None
        finally:
            self._unread_bytes -= len(content)
        request = replace(request, client=await admit(characters))
        self._require_room(len(content))
        if self._folder is None:
            try:
                self._folder = ScratchFolder("regard-documents-")
            except OSError as error:
                raise DocumentError(f"documents cannot be stored here: {error.strerror}") from None
        identity = secrets.token_hex(16).upper()
        source = self._folder.path / f"{identity}.source"
        job = DocumentJob(
            identity, secrets.token_hex(32).upper(), name, request, source, characters, sentences
        )
        self._jobs[identity] = job
        try:
            await self._in_thread(source.write_bytes, content)
        except BaseException as error:  # also the client that leaves
            self._remove(job)
            if isinstance(error, OSError):
                raise DocumentError(f"the document cannot be stored: {error.strerror}") from None
            raise
        self._waiting.setdefault(request.client, deque()).append(job)
        self._start_jobs()
        return job

    def find(self, identity: str, key: str | None = None) -> DocumentJob:
        """Return a document; with a key, only if it is the document's."""
        job = self._jobs.get(identity.upper())
        if job is None or (key is not None and not secrets.compare_digest(job.key.encode(), key.encode())):
            raise NoDocumentError("there is no such document, or it has expired")
        return job

    async def close(self) -> None:
        """Stop, and delete all documents."""
        for job in [job for jobs in self._waiting.values() for job in jobs]:
            job.state, job.error = "error", UnavailableError("the server has stopped", "stopped")
            job.finished.set()
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._jobs.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._folder is not None:
            await asyncio.to_thread(self._folder.close)
            self._folder = None

    def _require_room(self, size: int) -> None:
        if size > self.max_bytes:
            message = f"the document is larger than {self.settings.document_megabytes} MB"
            raise TextTooLongError(message, self.max_bytes)
        open_jobs = sum(not job.finished.is_set() for job in self._jobs.values())
        if open_jobs >= self.settings.document_jobs:
            raise OverloadedError(f"{open_jobs} documents are waiting; try again later", 30)
        used = sum(path.stat().st_size for job in self._jobs.values() for path in job.files if path.exists())
        if used + self._unread_bytes + size > self.settings.all_documents_megabytes * MEGABYTE:
            raise OverloadedError("there is no room for more documents; try again later", 60)

    def _start_jobs(self) -> None:
        """Start what there is room for, a document of each client in turn."""
        while self._waiting and self._running.total() < CONCURRENT_JOBS:
            client = min(self._waiting, key=self._running.__getitem__)
            jobs = self._waiting.pop(client)
            self._running[client] += 1
            task = asyncio.create_task(self._run(jobs.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if jobs:
                self._waiting[client] = jobs  # behind the others

    async def _in_thread(self, function: Callable[..., ResultT], *arguments: object) -> ResultT:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def _run(self, job: DocumentJob) -> None:
        try:
            job.state, job.started = "translating", time.monotonic()
            job.result = await self._translate(job)
            job.state = "done"
        except TranslateRequestError as error:
            job.state, job.error = "error", error
        except (RegardError, OSError) as error:
            job.state, job.error = "error", DocumentError(_one_line(error))
        except asyncio.CancelledError:
            job.state, job.error = "error", UnavailableError("the server has stopped", "stopped")
            raise
        except Exception as error:
            message = f"internal server error ({type(error).__name__})"
            job.state, job.error = "error", TranslationFailedError(message)
            sys.stderr.write("".join(traceback.format_exception(error)))
        finally:
            self._running -= Counter([job.request.client])
            self._start_jobs()
            if not self._running.total():
                COLLECTION_PAUSE.include_all()
            job.finished.set()
            job.source.unlink(missing_ok=True)
            loop = asyncio.get_running_loop()
            loop.call_later(60 * self.settings.document_minutes, self._remove, job)

    def _remove(self, job: DocumentJob) -> None:
        self._jobs.pop(job.id, None)
        for path in job.files:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    async def _translate(self, job: DocumentJob) -> Path:
        """Translate a document sentence by sentence; a sentence without a translation stays as it is."""
        options = DocumentOptions(target_language=job.request.target_language)
        content = await self._in_thread(job.source.read_bytes)
        parsed = await self._in_thread(parse_uploaded_document, content, job.name, options, self._limits)
        source = self._source_language(job.request, parsed)
        translations: list[str] = []
        for batch in parsed.batches:
            translations += await self._translate_batch(batch, source, job.request)
            job.translated += len(batch)
        path = job.source.with_suffix(".result")
        await self._in_thread(_write_document, path, parsed, translations)
        return path

    def _source_language(self, request: DocumentRequest, parsed: ParsedDocument) -> str:
        """Return the language of a document: told by its beginning if the request does not name it."""
        source = request.source_language
        if source == AUTO_LANGUAGE and parsed.batches:
            source = self._service.detect(" ".join(parsed.batches[0])[:SAMPLE_CHARACTERS])[0].language
        if request.refuses_same_language and source == request.target_language:
            raise DocumentError("Source and target language are equal.")
        return source

    async def _translate_batch(
        self, texts: tuple[str, ...], source: str, request: DocumentRequest
    ) -> list[str]:
        """Translate some sentences, as soon as the server has time for them."""
        terms = () if request.find_terms is None else await request.find_terms(texts)
        text_request = TextRequest(
            texts, request.target_language, source, glossary=terms, client=request.client
        )
        while True:
            try:
                results = await self._service.translate(text_request)
            except OverloadedError as error:
                await asyncio.sleep(error.retry_after)
            except UnavailableError as error:
                if error.state != "starting":
                    raise
                await asyncio.sleep(error.retry_after)
            except DeadlineExceededError:
                if len(texts) == 1:
                    raise
                half = len(texts) // 2
                first = await self._translate_batch(texts[:half], source, request)
                return first + await self._translate_batch(texts[half:], source, request)
            else:
                return [each.text for each in results]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def clean_name(name: str) -> str:
    """Return the last part of a file name without characters that headers and addresses cannot have."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(each if each.isprintable() and each not in '"%#?&' else "_" for each in last).strip()
    return kept[-NAME_CHARACTERS:] or "document"


def parse_uploaded_document(
    content: bytes, name: str, options: DocumentOptions, limits: LimitSettings
) -> ParsedDocument:
    """Read a document and split its segments; raise for one that cannot be translated."""
    with COLLECTION_PAUSE.hold():
        document = read_document(content, name, options)
        groups = [split_sentences(segment) for segment in document.segments]
        sentences = [part.strip() for group in groups for part in group]
        return ParsedDocument(document, groups, split_requests(sentences, limits))


def split_requests(sentences: Sequence[str], limits: LimitSettings) -> list[tuple[str, ...]]:
    """Return the sentences in groups that a request may have."""
    longest = max(map(len, sentences), default=0)
    if longest > limits.text_characters:
        raise DocumentError(f"a sentence has {longest:,} characters; it may have {limits.text_characters:,}")
    most = min(SENTENCES_PER_REQUEST, limits.texts)
    most_characters = min(CHARACTERS_PER_REQUEST, limits.request_characters)
    groups: list[tuple[str, ...]] = []
    group: list[str] = []
    characters = 0
    for sentence in sentences:
        if group and (len(group) >= most or characters + len(sentence) > most_characters):
            groups.append(tuple(group))
            group, characters = [], 0
        group.append(sentence)
        characters += len(sentence)
    return [*groups, tuple(group)] if group else groups


def _measure(content: bytes, name: str, options: DocumentOptions, limits: LimitSettings) -> tuple[int, int]:
    """Return the number of sentences of a document and of characters."""
    parsed = parse_uploaded_document(content, name, options, limits)
    return sum(map(len, parsed.batches)), sum(map(len, parsed.document.segments))


def _write_document(path: Path, parsed: ParsedDocument, translations: Sequence[str]) -> None:
    with COLLECTION_PAUSE.hold():
        remaining = iter(translations)
        translated = [[next(remaining) or part.strip() for part in group] for group in parsed.groups]
        joined = [join_with_source_spacing(*pair) for pair in zip(parsed.groups, translated, strict=True)]
        path.write_bytes(parsed.document.render(joined, report=lambda _: None))

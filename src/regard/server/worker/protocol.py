"""Messages between the server and its model process: msgpack with its length before it; no pickle."""

import struct
from typing import Literal

import msgspec

from regard.inference.engine_selection import EngineName, RequestedPrecision

HEADER = struct.Struct("!I")
"""The length of the message after it, in bytes."""
MAX_MESSAGE_BYTES = 2**28


class ModelSpec(msgspec.Struct, frozen=True):
    """A model to load."""

    handle: str
    """Its name in messages: name and version."""
    path: str
    version: str
    """The SHA-256 of its manifest: a folder with another one is refused."""
    engine: EngineName = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: RequestedPrecision = "auto"
    threads: int | None = None
    canaries: tuple[str, ...] = ()
    """Texts that must have a translation before the model is used."""


class SegmentOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that a translation depends on besides model and text."""

    beam: int = 4
    n_best: int = 1
    prefix: str = ""
    forbidden: tuple[str, ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()
    alignments: bool = False
    confidences: bool = False
    deterministic: bool = False

    @property
    def needs_torch(self) -> bool:
        """Whether CTranslate2 does not support them."""
        return bool(self.prefix or self.forbidden or self.glossary or self.alignments or self.confidences)


class SegmentTranslation(msgspec.Struct, frozen=True, array_like=True):
    """The translation of one segment."""

    text: str
    score: float
    log_probability: float
    target_tokens: int
    alternatives: tuple[str, ...] = ()
    alignment: tuple[tuple[int, int], ...] | None = None
    words: tuple[tuple[str, float], ...] | None = None
    possible: bool = True
    """False: no translation satisfies the constraints."""
    misplaced_terms: tuple[str, ...] = ()


class LoadRequest(msgspec.Struct, tag="load", frozen=True):
    """Load a model beside those that are loaded."""

    spec: ModelSpec


class UnloadRequest(msgspec.Struct, tag="unload", frozen=True):
    """Forget a model; what runs is finished."""

    handle: str


class BatchRequest(msgspec.Struct, tag="batch", frozen=True):
    """Translate segments with the same model and options."""

    id: int
    handle: str
    options: SegmentOptions
    texts: list[str]


class ModelReady(msgspec.Struct, tag="ready", frozen=True):
    """A model was loaded and has translated its canaries."""

    handle: str
    engine: str
    """Engine and precision."""
    slots: int
    """Batches that are worth running at once."""
    greedy_tokens: int
    """Token budget of a batch of greedy search."""
    beam_tokens: int
    """The same with a beam of 4."""
    timings: tuple[tuple[int, float], ...] = ()
    """Source tokens and seconds of trial batches."""


class ModelRefused(msgspec.Struct, tag="refused", frozen=True):
    """A model could not be loaded."""

    handle: str
    message: str


class BatchDone(msgspec.Struct, tag="done", frozen=True):
    """The translations of a batch, in order."""

    id: int
    seconds: float
    translations: list[SegmentTranslation]


class BatchFailed(msgspec.Struct, tag="failed", frozen=True):
    """A batch ended in an error."""

    id: int
    message: str


class Heartbeat(msgspec.Struct, tag="heartbeat", frozen=True):
    """The process is alive."""

    memory_bytes: int


ServerMessage = LoadRequest | UnloadRequest | BatchRequest
WorkerMessage = ModelReady | ModelRefused | BatchDone | BatchFailed | Heartbeat

_encoder = msgspec.msgpack.Encoder()
_server_decoder = msgspec.msgpack.Decoder(ServerMessage)
_worker_decoder = msgspec.msgpack.Decoder(WorkerMessage)


def encode_frame(message: ServerMessage | WorkerMessage) -> bytes:
    """Return a message with its length before it."""
    content = _encoder.encode(message)
    return HEADER.pack(len(content)) + content


def decode_server_message(content: bytes) -> ServerMessage:
    return _server_decoder.decode(content)


def decode_worker_message(content: bytes) -> WorkerMessage:
    return _worker_decoder.decode(content)


def frame_length(header: bytes) -> int:
    """Return the length of the message after a header; raise `ValueError` if none is so long."""
    (length,) = HEADER.unpack(header)
    if length > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {length:,} bytes")
    return length


def encode_options(options: SegmentOptions) -> str:
    """Return options as text; equal options give equal text."""
    return msgspec.json.encode(options).decode()


def decode_options(text: str) -> SegmentOptions:
    return msgspec.json.decode(text, type=SegmentOptions)

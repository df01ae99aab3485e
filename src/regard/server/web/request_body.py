"""Reading what a request brings: query, JSON, form and multipart, each strict and bounded."""

import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.server.web.responses import JSON_TYPE, RequestError
from regard.strict_json import parse_json

FORM_TYPE, MULTIPART_TYPE = "application/x-www-form-urlencoded", "multipart/form-data"
FORM_CHARSETS = (b"utf-8", b"utf8", b"us-ascii", b"iso-8859-1")
MAX_FIELDS = 200
MAX_TEXT_FIELD_BYTES = 2**20
SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
FieldsT = TypeVar("FieldsT")
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it would log every malformed form
Fields = Sequence[tuple[str, str]]
"""Names and values in their order; a name may occur several times."""


def content_type(request: Request) -> str:
    """Return the media type of the body, lower-cased and without parameters; empty if there is none."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def read_query(request: Request, max_fields: int = MAX_FIELDS) -> Fields:
    """Return the parameters of the query string."""
    return _parse_fields(request.scope["query_string"], "query", max_fields)


async def read_json_body(request: Request) -> Any:
    """Return the JSON body: UTF-8, no key twice, no NaN, bounded nesting, no lone surrogate."""
    expect_content_type(request, JSON_TYPE)
    content = await read_body(request)
    try:
        document = parse_json(content, max(len(content), 1))
    except ValueError:
        raise RequestError("bad_json", "the body is not JSON in UTF-8, with each key once") from None
    if SURROGATE_ESCAPE.search(content):
        _reject_lone_surrogates(document)
    return document


async def read_json_object(request: Request) -> dict[str, Any]:
    """Return the JSON body, which must be an object."""
    document = await read_json_body(request)
    if not isinstance(document, dict):
        raise RequestError("bad_json", 'the body is not a JSON object, such as {"text": "…"}')
    return document


def convert_fields(document: object, fields_type: type[FieldsT]) -> FieldsT:
    """Return parsed JSON as a `msgspec.Struct` or another type; name the field that does not fit."""
    try:
        return msgspec.convert(document, fields_type)
    except msgspec.ValidationError as error:
        raise RequestError("bad_value", str(error)) from None


async def read_form(request: Request, max_fields: int = MAX_FIELDS) -> Fields:
    """Return the fields of a URL-encoded form."""
    expect_content_type(request, FORM_TYPE)
    return _parse_fields(await read_body(request), "form", max_fields)


@asynccontextmanager
async def read_multipart(request: Request, max_files: int = 1) -> AsyncIterator[FormData]:
    """Parse a multipart form: texts as `str`, files as `UploadFile`, until the block ends."""
    expect_content_type(request, MULTIPART_TYPE)
    _, parameters = parse_options_header(request.headers["Content-Type"])
    if parameters.get(b"charset", b"utf-8").lower() not in FORM_CHARSETS:  # some take minutes to decode
        raise RequestError("bad_form", "send the form in UTF-8")
    parser = MultiPartParser(
        request.headers,
        request.stream(),
        max_files=max_files,
        max_fields=MAX_FIELDS,
        max_part_size=MAX_TEXT_FIELD_BYTES,
    )
    try:
        try:
            form = await parser.parse()
        except (MultiPartException, ValueError, LookupError) as error:
            message = f"the body is not a multipart form: {_one_line(error)}"
            raise RequestError("bad_form", message) from None
        if len(parser._files_to_close_on_error) > sum(isinstance(each, UploadFile) for each in form.values()):
            raise RequestError("bad_form", "the body ends in the middle of a file")
        yield form
    finally:
        for file in parser._files_to_close_on_error:  # those of files that did not arrive whole, too
            file.close()


async def read_body(request: Request) -> bytes:
    """Return the whole body. A POST must say how long it is, or send it in chunks."""
    headers = request.headers
    if request.method == "POST" and not {"content-length", "transfer-encoding"} & {*headers}:
        raise RequestError("length", "send Content-Length, in bytes", HTTPStatus.LENGTH_REQUIRED)
    return await request.body()


def expect_content_type(request: Request, expected: str) -> None:
    """Reject a body of another media type."""
    if content_type(request) != expected:
        message = f"send Content-Type: {expected}"
        raise RequestError("content_type", message, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


def _parse_fields(content: bytes, name: str, max_fields: int) -> Fields:
    try:
        text = content.decode("ascii") if content.isascii() else content.decode("utf-8")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=max_fields)
    except UnicodeError:
        raise RequestError("bad_value", f"the {name} is not UTF-8") from None
    except ValueError:
        raise RequestError("bad_value", f"the {name} has too many parameters") from None


def _reject_lone_surrogates(document: object) -> None:
    try:
        msgspec.json.encode(document)
    except (UnicodeEncodeError, RecursionError):
        message = "the body has lone surrogates (U+D800 to U+DFFF), which are no characters"
        raise RequestError("bad_json", message) from None


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

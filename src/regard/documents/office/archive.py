"""Zip archives of documents: read a member in bounded memory, and replace members while copying all others.

`zipfile` cannot copy a member without compressing it again, so it only reads the directory here.
"""

import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import pairwise

from regard.errors import DataError
from regard.text.compression import ALWAYS_ALLOWED_BYTES, MAX_COMPRESSION_RATIO

MAX_MEMBERS = 2**14
MAX_TEXT_BYTES = 2**28
"""Unpacked bytes of all members that are read; a novel has one million."""
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of .doc, .xls and .ppt, and of newer formats with a password."""
LOCAL_HEADER = struct.Struct("<4s5H3L2H")
CENTRAL_HEADER = struct.Struct("<4s6H3L5H2L")
END_RECORD = struct.Struct("<4s4H2LH")
LOCAL_MAGIC, CENTRAL_MAGIC, END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
ENCRYPTED_FLAG, SIZES_FOLLOW_FLAG = 0x1, 0x8
ZIP64_FIELD = 1
MAX_FIELD_VALUE = 2**32 - 2


class DocumentArchive:
    """A zip archive in memory; `read` unpacks a member, `replace` returns a new archive."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name, self._content = name, content
        self._read_sizes: dict[str, int] = {}
        if content.startswith(OLE_MAGIC):
            raise DataError(
                f"{name} is an old binary Office file (.doc, .xls, .ppt) or has a password; "
                "save it in the newer format and without a password"
            )
        if not content.startswith((LOCAL_MAGIC, END_MAGIC)):
            raise DataError(f"{name} is not a zip archive, as its suffix promises; save it again")
        try:
            with zipfile.ZipFile(BytesIO(content)) as archive:
                self._members = archive.infolist()
                self._directory_start, self._comment = archive.start_dir, archive.comment
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError, OSError):
            raise self._damaged() from None
        self._check_members()
        self._spans = self._member_spans()

    def _check_members(self) -> None:
        if len(self._members) > MAX_MEMBERS:
            raise DataError(
                f"{self.name} contains {len(self._members)} files; no document has more than {MAX_MEMBERS}"
            )
        for member in self._members:
            parts = member.filename.replace("\\", "/").split("/")
            if ".." in parts or member.filename.startswith(("/", "\\")) or ":" in parts[0]:
                raise DataError(f"{self.name} contains the unsafe path {member.filename!r}; no document does")
            if member.flag_bits & ENCRYPTED_FLAG:
                raise DataError(f"{self.name} is encrypted; save it without a password")
        if len(self.names) != len(self._members):
            raise DataError(f"{self.name} contains two files of the same name; save it again")

    @cached_property
    def names(self) -> Mapping[str, zipfile.ZipInfo]:
        """The members by name, in the order of the archive."""
        return {member.filename: member for member in self._members}

    def read(self, member_name: str) -> bytes:
        """Return the unpacked content of a member."""
        member = self.names.get(member_name)
        if member is None:
            raise DataError(f"{self.name} has no {member_name}; save it again")
        start = self._data_start(member)
        content = self._unpack(member, self._content[start : start + member.compress_size])
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise self._damaged(member_name)
        return content

    def _unpack(self, member: zipfile.ZipInfo, packed: bytes) -> bytes:
        limit = max(ALWAYS_ALLOWED_BYTES, MAX_COMPRESSION_RATIO * len(packed))
        unpacked = sum(self._read_sizes.values()) - self._read_sizes.get(member.filename, 0)
        limit = min(limit, MAX_TEXT_BYTES - unpacked)
        match member.compress_type:
            case zipfile.ZIP_STORED:
                content = packed
            case zipfile.ZIP_DEFLATED:
                try:
                    content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit + 1)
                except zlib.error:
                    raise self._damaged(member.filename) from None
            case method:
                raise DataError(
                    f"{self.name}: {member.filename} has compression method {method}; save it again"
                )
        if len(content) > limit:
            raise DataError(
                f"{self.name}: {member.filename} unpacks to more than {limit} bytes from {len(packed)}; "
                "no document does"
            )
        self._read_sizes[member.filename] = len(content)
        return content

    def _damaged(self, member_name: str = "") -> DataError:
        where = f": {member_name}" if member_name else ""
        return DataError(f"{self.name}{where} is a damaged zip archive; copy it again")

    def _data_start(self, member: zipfile.ZipInfo) -> int:
        """Return the position of the packed data, after the local header."""
        header = self._content[member.header_offset :][: LOCAL_HEADER.size]
        if len(header) < LOCAL_HEADER.size or not header.startswith(LOCAL_MAGIC):
            raise self._damaged(member.filename)
        *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
        start = member.header_offset + LOCAL_HEADER.size + name_length + extra_length
        if start + member.compress_size > self._directory_start:
            raise self._damaged(member.filename)
        return start

    def replace(self, contents: Mapping[str, bytes]) -> bytes:
        """Return the archive with new contents of some members; all others keep their packed bytes.

        Order, names, times, flags and attributes of all members stay.
        """
        if not contents:
            return self._content
        written = BytesIO()
        moved: dict[int, _MovedMember] = {}
        for member, (start, end) in self._spans:
            offset = written.tell()
            if member.filename in contents:
                moved[start] = self._write_member(member, contents[member.filename], written)
            else:
                written.write(self._content[start:end])
                sizes = member.compress_size, member.file_size
                moved[start] = _MovedMember(offset, member.CRC, *sizes, rewritten=False)
        directory = self._directory(moved)
        count, offset = len(self._members), written.tell()
        if max(offset, len(directory)) > MAX_FIELD_VALUE:
            raise DataError(f"{self.name} is larger than 4 GiB; split it")
        end_record = END_RECORD.pack(
            END_MAGIC, 0, 0, count, count, len(directory), offset, len(self._comment)
        )
        return b"".join([written.getvalue(), directory, end_record, self._comment])

    def _member_spans(self) -> list[tuple[zipfile.ZipInfo, tuple[int, int]]]:
        """Return the members in the order of their data, with the bytes that each of them takes."""
        members = sorted(self._members, key=lambda member: member.header_offset)
        starts = [*(member.header_offset for member in members), self._directory_start]
        spans = list(zip(members, pairwise(starts), strict=True))
        for member, (_, end) in spans:
            if self._data_start(member) + member.compress_size > end:  # two members share data
                raise self._damaged(member.filename)
        return spans

    def _write_member(self, member: zipfile.ZipInfo, content: bytes, written: BytesIO) -> "_MovedMember":
        packed = content
        if member.compress_type == zipfile.ZIP_DEFLATED:
            compressor = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = compressor.compress(content) + compressor.flush()
        moved = _MovedMember(written.tell(), zlib.crc32(content), len(packed), len(content), rewritten=True)
        start = member.header_offset
        fields = list(LOCAL_HEADER.unpack(self._content[start : start + LOCAL_HEADER.size]))
        names_end = self._data_start(member)
        extra = _without_zip64(self._content[names_end - fields[-1] : names_end])
        name = self._content[start + LOCAL_HEADER.size :][: fields[-2]]
        fields[2] &= ~SIZES_FOLLOW_FLAG
        fields[6:] = moved.checksum, moved.packed_size, moved.size, len(name), len(extra)
        written.write(b"".join([LOCAL_HEADER.pack(*fields), name, extra, packed]))
        return moved

    def _directory(self, moved: "Mapping[int, _MovedMember]") -> bytes:
        """Return the central directory, with the new positions and sizes of the members."""
        records: list[bytes] = []
        place = self._directory_start
        for member in self._members:
            header = self._content[place : place + CENTRAL_HEADER.size]
            fields = list(CENTRAL_HEADER.unpack(header))
            name_end = place + CENTRAL_HEADER.size + fields[10]
            extra_end = name_end + fields[11]
            comment_end = extra_end + fields[12]
            extra = _without_zip64(self._content[name_end:extra_end])
            new = moved[member.header_offset]
            if new.rewritten:
                fields[3] &= ~SIZES_FOLLOW_FLAG
            fields[7:10] = new.checksum, new.packed_size, new.size
            fields[11], fields[16] = len(extra), new.offset
            name = self._content[place + CENTRAL_HEADER.size : name_end]
            comment = self._content[extra_end:comment_end]
            records.append(b"".join([CENTRAL_HEADER.pack(*fields), name, extra, comment]))
            place = comment_end
        return b"".join(records)


@dataclass(frozen=True)
class _MovedMember:
    """Where a member stands in the new archive."""

    offset: int
    checksum: int
    packed_size: int
    size: int
    rewritten: bool


def _without_zip64(extra: bytes) -> bytes:
    """Drop the extra field with 64-bit sizes and offsets, which hold the old ones."""
    kept: list[bytes] = []
    place = 0
    while place + 4 <= len(extra):
        field, size = struct.unpack_from("<2H", extra, place)
        if field != ZIP64_FIELD:
            kept.append(extra[place : place + 4 + size])
        place += 4 + size
    return b"".join([*kept, extra[place:]])

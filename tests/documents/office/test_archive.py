"""Zip archives: what is copied, and what is rejected."""

import struct
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest

from peak_memory import measure_peak_memory
from regard.documents.formats import DocumentOptions, read_document
from regard.documents.office.archive import MAX_MEMBERS
from regard.errors import DataError

MIME_TYPE = "application/vnd.oasis.opendocument.text"
TEXT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><text:p>{}</text:p></office:document-content>'
)


def member(name, method=ZIP_DEFLATED, **attributes):
    info = ZipInfo(name, (2011, 11, 11, 11, 11, 10))
    info.compress_type = method
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


def build(content="Hello world", extra=(), mime_type=MIME_TYPE):
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr(member("mimetype", ZIP_STORED), mime_type)
        archive.writestr(
            member("Pictures/ü.png", comment=b"seen", external_attr=0o644 << 16), b"\x89PNG" * 99
        )
        archive.writestr(member("content.xml", extra=b"\x99\x99\x02\x00ab"), TEXT.format(content))
        for name, data in extra:
            archive.writestr(member(name), data)
        archive.comment = b"the comment"
    return file.getvalue()


def read(content, name="x.odt"):
    return read_document(content, name, DocumentOptions())


def without_sizes(info):
    hidden = ("header_offset", "compress_size", "file_size", "CRC", "flag_bits", "_raw_time", "_end_offset")
    return {
        name: getattr(info, name) for name in ZipInfo.__slots__ if hasattr(info, name) and name not in hidden
    }


def test_only_the_changed_member_is_packed_again():
    before = build()
    after = read(before).render(["Bonjour"])
    with ZipFile(BytesIO(before)) as old, ZipFile(BytesIO(after)) as new:
        assert [without_sizes(info) for info in new.infolist()] == [
            without_sizes(info) for info in old.infolist()
        ]
        assert (new.comment, new.testzip()) == (old.comment, None)
        assert new.read("content.xml").decode() == TEXT.format("Bonjour")
        assert new.infolist()[0].filename == "mimetype"
    start = before.index(b"PK\x03\x04", 1)
    assert after[:start] == before[:start]
    picture = before[start : before.index(b"PK\x03\x04", start + 1)]
    assert picture in after


def test_members_with_sizes_after_the_data_and_with_wide_sizes_are_rewritten():
    """Some programs write while they do not know the size yet; some always reserve 64 bits."""

    class Unseekable(BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise OSError

        def tell(self):
            raise OSError

    file = Unseekable()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", MIME_TYPE)
        for name in ("content.xml", "other.xml"):
            with archive.open(name, "w", force_zip64=True) as written:
                written.write(TEXT.format("Hello world").encode())
    before = file.getvalue()
    assert read(before).render(["Hello world"]) == before
    after = read(before).render(["Bonjour"])
    with ZipFile(BytesIO(after)) as new:
        assert new.testzip() is None
        header = new.getinfo("content.xml").header_offset
        flags, extra_length = (struct.unpack_from("<H", after, header + offset)[0] for offset in (6, 28))
        assert (flags & 8, extra_length) == (0, 0)  # sizes in the header, and nowhere else
        assert new.read("content.xml").decode() == TEXT.format("Bonjour")
        assert new.read("other.xml").decode() == TEXT.format("Hello world")


def test_a_bomb_is_rejected_in_little_memory(tmp_path):
    (tmp_path / "x.odt").write_bytes(build(extra=[("styles.xml", b"<a>" + b" " * 100_000_000)]))
    code = (
        "import sys; from pathlib import Path; from regard.documents.formats import open_document\n"
        "try: open_document(Path(sys.argv[1]))\n"
        "except Exception as error: print(error)\n"
    )
    [message], megabytes = measure_peak_memory(code, tmp_path / "x.odt")
    assert "x.odt: styles.xml unpacks to more than" in message
    assert megabytes < 100


def test_many_bombs_share_one_limit(monkeypatch):
    monkeypatch.setattr("regard.documents.office.archive.MAX_TEXT_BYTES", 1_000)
    with pytest.raises(DataError, match="styles.xml unpacks to more than"):
        read(build(extra=[("styles.xml", TEXT.format("word " * 180))]))


def test_a_member_that_claims_a_smaller_size_is_rejected():
    content = build("a" * 3000)
    info = ZipFile(BytesIO(content)).getinfo("content.xml")
    with pytest.raises(DataError, match=r"x.odt: content.xml is a damaged zip archive; copy it again"):
        read(
            content.replace(
                struct.pack("<2L", info.compress_size, info.file_size),
                struct.pack("<2L", info.compress_size, 9),
            )
        )


def test_members_that_share_data_are_rejected():
    """A bomb of the second kind: many entries of the directory point to the same data."""
    content = build(extra=[("styles.xml", TEXT.format("more"))])
    first, second = (ZipFile(BytesIO(content)).getinfo(name) for name in ("content.xml", "styles.xml"))
    place = content.rindex(b"styles.xml") - 4
    assert content[place : place + 4] == struct.pack("<L", second.header_offset)
    content = content[:place] + struct.pack("<L", first.header_offset) + content[place + 4 :]
    with pytest.raises(DataError, match="is a damaged zip archive"):
        read(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "x.odt is an old binary Office file"),
        (b"plain text", "x.odt is not a zip archive, as its suffix promises"),
        (b"", "x.odt is not a zip archive"),
        (build()[:-40], "x.odt is a damaged zip archive; copy it again"),
        (build()[:100], "x.odt is a damaged zip archive"),
        (build(extra=[("../../etc/passwd", "x")]), "x.odt contains the unsafe path '../../etc/passwd'"),
        (build(extra=[("/etc/passwd", "x")]), "x.odt contains the unsafe path '/etc/passwd'"),
        (build(extra=[("C:\\x", "x")]), "x.odt contains the unsafe path"),
        (build(mime_type="text/plain"), "x.odt is not an OpenDocument text; save it again as such"),
        (
            build(mime_type="application/vnd.oasis.opendocument.spreadsheet"),
            "x.odt is not an OpenDocument text; it is an OpenDocument spreadsheet: rename it to .ods",
        ),
        (build("<text:p>"), "x.odt: content.xml line 1 is not well-formed XML: mismatched tag"),
        (
            build(extra=[("styles.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')]),
            "styles.xml line 1 declares an entity",
        ),
        (build(extra=[("META-INF/manifest.xml", "<m:encryption-data/>")]), "x.odt is encrypted"),
    ],
)
def test_bad_archives_are_rejected_with_one_line(content, message):
    with pytest.raises(DataError, match=message) as error:
        read(content)
    assert "\n" not in str(error.value)


def test_an_encrypted_member_is_rejected():
    content = bytearray(build())
    place = content.rindex(b"PK\x01\x02")
    content[place + 8] |= 1
    with pytest.raises(DataError, match="x.odt is encrypted; save it without a password"):
        read(bytes(content))


def test_two_members_of_one_name_are_rejected():
    with pytest.warns(UserWarning, match="Duplicate"):
        content = build(extra=[("content.xml", TEXT.format("again"))])
    with pytest.raises(DataError, match="x.odt contains two files of the same name"):
        read(content)


def test_thousands_of_members_are_rejected():
    content = build(extra=[(str(k), "") for k in range(MAX_MEMBERS)])
    with pytest.raises(DataError, match=f"x.odt contains {MAX_MEMBERS + 3} files; no document has more"):
        read(content)


@pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx", "epub", "odt", "ods", "odp"])
def test_an_archive_that_is_no_document_is_rejected(suffix):
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "Hello")
    with pytest.raises(DataError, match=f"x.{suffix} is (a zip archive, but not an|not an OpenDocument)"):
        read(file.getvalue(), f"x.{suffix}")


def test_damaged_data_is_rejected():
    content = bytearray(build("word " * 900))
    place = content.index(b"content.xml") + 40
    content[place : place + 8] = bytes(8)
    with pytest.raises(DataError, match=r"x.odt: content.xml is a damaged zip archive"):
        read(bytes(content))

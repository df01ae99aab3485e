from pathlib import Path

import pytest

from regard.corpus.pair_checks import check_pair_corpus
from regard.errors import DataError
from regard.text.corpus_files import read_sentences
from regard.text.file_types import (
    HEAD_BYTES,
    TITLES_BY_SUFFIX,
    file_type_by_content,
    file_type_by_name,
    inspect_head,
)
from regard.text.pair_formats.pair_files import PairFiles
from sample_foreign_files import KNOWN_BY_CONTENT, KNOWN_BY_NAME, PLAIN_FILES, SOURCE_CODE

LANGUAGES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id
ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu
lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu
rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to
tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu eng fra fre deu ger spa por ita rus zho
chi jpn kor ara hin ces cze pol
"""
"""The codes of ISO 639-1, and some of three letters."""


def test_no_language_code_is_the_ending_of_another_type():
    assert [code for code in LANGUAGES.split() if f".{code}" in TITLES_BY_SUFFIX] == []
    assert len(TITLES_BY_SUFFIX) > 200


@pytest.mark.parametrize("name", KNOWN_BY_CONTENT)
def test_the_content_shows_the_type_whatever_the_name_is(name):
    content = KNOWN_BY_CONTENT[name]
    for other in (None, Path("train.en"), Path("corpus"), Path("a.txt")):
        assert file_type_by_content(content, other) is not None


@pytest.mark.parametrize("name", [*KNOWN_BY_NAME, *(each for each in KNOWN_BY_CONTENT if each != "app.ts")])
def test_the_ending_shows_the_type(name):
    assert file_type_by_name(Path("folder.en") / name) is not None
    assert file_type_by_name(Path("folder") / name.upper()) is not None


@pytest.mark.parametrize("name", SOURCE_CODE)
def test_source_code_is_told_from_a_language_with_the_same_ending(name):
    assert file_type_by_name(Path(name)) is None
    assert file_type_by_content(SOURCE_CODE[name], Path(name)) is not None


@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_corpus_is_plain_text(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(PLAIN_FILES[name])
    assert file_type_by_name(path) is None
    if name not in ("empty", "latin.fr"):
        assert read_sentences(path)


@pytest.mark.parametrize(
    "head",
    [
        b"<!-- -->" * 2000 + b"<htm",
        b"<p>" * 5000,
        b'"' * HEAD_BYTES,
        b'"a' * 8000,
        b"/* */ " * 2700,
        b"# x\n" * 4000,
        b"[" * HEAD_BYTES,
        b" " * HEAD_BYTES,
    ],
)
def test_hostile_content_is_plain_text_at_once(head):
    assert file_type_by_content(head) is None


def test_a_stream_is_inspected_without_losing_a_byte():
    chunks = [b"<", b"ht", b"ml>", b"x" * HEAD_BYTES, b"y" * 10]
    seen = []
    assert list(inspect_head(iter(chunks), seen.append)) == chunks
    assert seen == [b"<", b"<ht", b"<html>", (b"<html>" + chunks[3])[:HEAD_BYTES]]


def test_a_corpus_of_another_type_is_rejected(tmp_path):
    for name, content in (("a.json", b"The cat.\n"), ("a.en", KNOWN_BY_CONTENT["en.json"])):
        path, target = tmp_path / name, tmp_path / "a.fr"
        path.write_bytes(content)
        target.write_bytes(b"Le chat.\n")
        message = f"{name} is JSON, not plain text with one sentence per line; convert it, or give it a name"
        with pytest.raises(DataError, match=message):
            read_sentences(path)
        for files in ((path, target), (target, path)):
            with pytest.raises(DataError, match=message):
                check_pair_corpus(PairFiles(*files))

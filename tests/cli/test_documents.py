"""`regard translate` on documents, with an engine that echoes the source."""

import argparse
import gzip
import json
import os
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import docx
import pytest

from failing_command import run_failing_command
from fake_engines import EchoEngine
from regard.cli.documents import open_input_document
from regard.cli.main import main
from regard.cli.verbs.translate import add_translate_parser
from regard.documents.formats import open_document
from regard.errors import DataError, RegardError
from regard.search.hypothesis import Hypothesis
from regard.text.tokenizer import learn_tokenizer
from regard.translation.engines import LoadedModel
from sample_foreign_files import KNOWN_BY_CONTENT, KNOWN_BY_NAME, PLAIN_FILES, SOURCE_CODE

LINES = ["the cat sings", "the dog sleeps"]
PAGE = """<html><body><!-- the cat -->
<h1 class=a>the cat sings</h1>
<p>The <b>cat</b> sings all day long. The dog sleeps.</p><script>the cat</script></body></html>
"""


class Reverse(EchoEngine):
    """Returns the source tokens in reverse."""

    def translate(self, sources, config, constraints=None):
        translations = super().translate(sources, config, constraints)
        return [[Hypothesis(each.tokens[::-1], -1.0, -1.0) for each in n_best] for n_best in translations]


class DropBraces(EchoEngine):
    """Returns the source without the tokens from the first brace on."""

    def translate(self, sources, config, constraints=None):
        translations = super().translate(sources, config, constraints)
        tokenizer = learn_tokenizer(LINES, 300)
        return [
            [
                Hypothesis(
                    tuple(tokenizer.tokenize([tokenizer.detokenize([each.tokens])[0].partition("{")[0]])[0]),
                    -1.0,
                    -1.0,
                )
            ]
            for (each, *_) in translations
        ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def engine(folder, micro, monkeypatch):
    from regard.config import to_toml
    from regard.model.transformer import Transformer
    from regard.translation.model_folder import save_translation_model
    from regard.translation.run import TranslationRun

    tokenizer = learn_tokenizer(LINES, 300)
    transformer = Transformer(micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size}))
    save_translation_model(
        folder / "model", transformer, tokenizer, to_toml(TranslationRun(transformer.config)), {}
    )
    used = [EchoEngine()]
    monkeypatch.setattr(
        "regard.translation.translator.load_engine", lambda *_: LoadedModel(used[0], tokenizer)
    )
    return used


def translate(name, *arguments):
    main(["translate", "model", "--input", name, "--output", "out", "--device", "cpu", *arguments])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", PAGE),
        ("a.md", "# the cat\n\n```\ncode\n```\n\n- the dog sleeps\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>the cat</i>\n\n"),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Tom>the cat &amp; dog\n\n"),
        ("strings.xml", "<resources><string name='a'>the <b>cat</b> isn\\'t</string></resources>"),
        ("a.resx", "<root><data name='a'><value>the cat</value></data></root>"),
        ("a.stringsdict", "<plist><dict><key>a</key><string>the %d cats</string></dict></plist>"),
        ("a.htm", "<p>\u2026</p>"),
        (
            "two.html",
            '<p title="the cat sings all day.  the dog sleeps.">The cat sings all day.  The dog.</p>',
        ),
    ],
)
def test_an_echoed_document_is_byte_identical(folder, name, content):
    (folder / name).write_text(content)
    translate(name)
    assert (folder / "out").read_text() == content


def test_only_the_text_of_a_page_changes(folder, engine):
    engine[0] = Reverse()
    (folder / "page.html").write_text(PAGE)
    translate("page.html")
    found = (folder / "out").read_text()
    assert found != PAGE
    for kept in ("<!-- the cat -->", "<h1 class=a>", "<script>the cat</script></body></html>\n", "<b>"):
        assert kept in found
    assert "the cat sings" not in found


@pytest.mark.usefixtures("engine")
def test_a_table_gets_a_translation_column(folder):
    (folder / "a.tsv").write_text("id\ttext\n7\tthe cat\n")
    translate("a.tsv", "--column", "text")
    assert (folder / "out").read_text().splitlines()[1] == "7\tthe cat\tthe cat"
    (folder / "b.tsv").write_text("text\ttranslation\nthe cat\tle chat\nthe dog\t\n")
    translate("b.tsv", "--column", "text")
    assert (folder / "out").read_text() == "text\ttranslation\nthe cat\tle chat\nthe dog\tthe dog\n"
    translate("b.tsv", "--column", "text", "--overwrite")
    assert (folder / "out").read_text() == "text\ttranslation\nthe cat\tthe cat\nthe dog\tthe dog\n"


@pytest.mark.usefixtures("engine")
def test_a_word_document_is_translated_in_place_and_never_written_to_a_terminal(folder, monkeypatch):
    document = docx.Document()
    document.add_paragraph("the cat").add_run(" sings").bold = True
    document.save(folder / "a.docx")
    before = (folder / "a.docx").read_bytes()
    main(["translate", "model", "--input", "a.docx", "--output", "a.docx", "--device", "cpu"])
    assert (folder / "a.docx").read_bytes() == before
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    message = run_failing_command("translate", "model", "--input", "a.docx", "--device", "cpu")
    assert "a.docx is not text for a terminal; give -o FILE" in message


@pytest.mark.usefixtures("engine")
def test_a_rejected_archive_leaves_no_output(folder):
    (folder / "a.docx").write_bytes(b"PK\x03\x04 not a zip archive")
    message = run_failing_command(
        "translate", "model", "--input", "a.docx", "--output", "b.docx", "--device", "cpu"
    )
    assert "a.docx is a damaged zip archive; copy it again" in message
    assert not (folder / "b.docx").exists()


@pytest.mark.usefixtures("engine")
def test_the_format_flag_overrides_the_file_name(folder):
    (folder / "page.html").write_text("<b>the cat</b>\n")
    (folder / "page").write_text("<p title=x>the cat</p>")
    translate("page.html", "--format", "lines")
    assert (folder / "out").read_text() == "<b>the cat</b>\n"
    translate("page", "--format", "html")
    assert (folder / "out").read_text() == "<p title=x>the cat</p>"


def is_translated_by_lines(path, *arguments):
    """Whether `regard translate` takes the file as lines, rather than as a document or not at all."""
    parser = argparse.ArgumentParser()
    add_translate_parser(parser.add_subparsers())
    options = parser.parse_args(["translate", "model", "--input", str(path), *arguments])
    try:
        return open_input_document(options) is None
    except RegardError as error:
        return "\n" in str(error)  # one line is the rule of all errors


@pytest.mark.parametrize("name", [*KNOWN_BY_CONTENT, *KNOWN_BY_NAME, *SOURCE_CODE])
def test_a_file_of_another_type_is_translated_by_lines_only_if_asked(folder, name):
    content = (KNOWN_BY_CONTENT | KNOWN_BY_NAME | SOURCE_CODE)[name]
    (folder / name).write_bytes(content)
    assert not is_translated_by_lines(folder / name)
    assert is_translated_by_lines(folder / name, "--format", "lines")
    if name in KNOWN_BY_CONTENT:
        for other in ("corpus", "train.en", "a.txt"):
            (folder / other).write_bytes(content)
            assert not is_translated_by_lines(folder / other)
            (folder / f"{other}.gz").write_bytes(gzip.compress(content))
            assert not is_translated_by_lines(folder / f"{other}.gz")


@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_corpus_is_translated_by_lines(folder, name):
    (folder / name).write_bytes(PLAIN_FILES[name])
    assert is_translated_by_lines(folder / name)


@pytest.mark.usefixtures("engine")
def test_the_error_says_what_the_file_is_and_what_to_do(folder):
    common = ("translate", "model", "--device", "cpu", "--output", "out", "--input")
    for name, message in {
        "report.pdf": "report.pdf is a PDF document, which regard does not read; convert it to plain text "
        "or to .txt, .tsv, .csv",
        "page.html~": "page.html~ is HTML: --format html translates its text, --format lines each line",
        "tool.py": "tool.py is source code, which regard does not read",
        "Tool.pl": "Tool.pl is a script, which regard does not read",
    }.items():
        (folder / name).write_bytes((KNOWN_BY_CONTENT | KNOWN_BY_NAME).get(name, b"#!/usr/bin/perl\n"))
        assert message in run_failing_command(*common, name)
    (folder / "page").write_text(PAGE)
    assert "page is HTML: --format html translates its text" in run_failing_command(*common, "page")
    assert not (folder / "out").exists()
    with pytest.raises(DataError, match="report.pdf is a PDF document, which regard does not read"):
        open_document(folder / "report.pdf")
    (folder / "a.txt").write_text(PAGE)
    with pytest.raises(DataError, match="a.txt is HTML: --format html translates its text"):
        open_document(folder / "a.txt")
    assert open_document(folder / "a.txt", name="a.html").segments[0] == "the cat sings"


@pytest.mark.usefixtures("engine")
def test_a_pipe_is_rejected_by_its_first_bytes():
    def translate_pipe(content, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "regard", "translate", "model", "--engine", "torch", *arguments],
            input=content, capture_output=True, check=False,
        )  # fmt: skip

    for name in ("page.html", "report.pdf", "a.xliff", "noise.wasm"):
        done = translate_pipe(KNOWN_BY_CONTENT[name])
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"regard: stdin is " in done.stderr
    lines = translate_pipe(KNOWN_BY_CONTENT["page.html"], "--format", "lines", "--max-length", "3")
    assert (lines.returncode, lines.stdout.count(b"\n")) == (0, 2)
    page = translate_pipe(b"<p></p>\n", "--format", "html")
    assert (page.returncode, page.stdout) == (0, b"<p></p>\n")
    assert b"there is nothing to translate in stdin" in page.stderr


@pytest.mark.usefixtures("engine")
def test_a_named_pipe_is_read_once_and_whole(folder, capfd):
    for content, code in ((b"the cat sings\n" * 3, 0), (PAGE.encode(), 1)):
        os.mkfifo(folder / "pipe")
        writer = threading.Thread(target=lambda content=content: (folder / "pipe").write_bytes(content))
        writer.start()
        with nullcontext() if code == 0 else pytest.raises(SystemExit):
            main(["translate", "model", "--device", "cpu", "--input", "pipe"])
        writer.join()
        output = capfd.readouterr()
        assert output.out == (content.decode() if code == 0 else "")
        assert ("pipe is HTML: --format html" in output.err) == (code == 1)
        (folder / "pipe").unlink()


@pytest.mark.usefixtures("engine")
def test_flags_without_effect_on_documents_are_rejected(folder):
    for name in ("page.html", "page.html.gz", "page.gz"):
        (folder / name).write_text("<b>the cat</b>\n")
    common = ("translate", "model", "--input", "page.html", "--device", "cpu")
    assert "page.html is a document, which cannot hold --scores" in run_failing_command(*common, "--scores")
    assert "--format doc is unknown; choose lines, txt" in run_failing_command(*common, "--format", "doc")
    assert "cannot hold --scores, --alignments, --confidences" in run_failing_command(
        *common, "--confidences"
    )
    assert "page.html.gz is a compressed document; decompress it first" in run_failing_command(
        *common[:3], "page.html.gz"
    )
    assert "page.gz is a compressed document" in run_failing_command(
        *common[:3], "page.gz", "--format", "html"
    )
    assert "--restart is for lines" in run_failing_command(*common, "--output", "out", "--restart")
    assert "--column is for .tsv, .csv, .jsonl" in run_failing_command(*common, "--column", "text")
    assert "--overwrite is for .tsv, .csv, .jsonl" in run_failing_command(*common, "--overwrite")
    (folder / "a.md").write_text("the cat\n")
    assert "--target-language is for .tmx, .xliff, .xlf, .html" in run_failing_command(
        *common[:3], "a.md", "--target-language", "fr"
    )
    assert "'f r' is not a language code" in run_failing_command(*common, "--target-language", "f r")
    assert not (folder / "out").exists()
    (folder / "bad.xliff").write_text("<xliff>")
    assert "bad.xliff" in run_failing_command("translate", "model", "--input", "bad.xliff", "--device", "cpu")


@pytest.mark.usefixtures("engine")
def test_overlong_sentences_of_a_document_stay_and_are_reported(folder, capsys):
    page = f"<p>the cat sings</p><p>{'the dog sleeps ' * 60}</p>\n"
    (folder / "page.html").write_text(page)
    with pytest.raises(SystemExit) as stop:
        translate("page.html", "--report", "report", "--long", "skip")
    assert stop.value.code == 4
    output = capsys.readouterr().err
    assert "1 sentence (2) too long: left as it is; --long split takes up to 1 MiB, --long cut" in output
    assert "1 of 2 sentences could not be translated and are left as it is" in output
    assert (folder / "out").read_text() == page
    report = (folder / "report").read_text()
    assert '"line": 2' in report
    assert ": the dog sleeps the dog" in report  # sentences of a document have no visible numbers
    assert "--prefix is for lines" in run_failing_command(
        "translate", "model", "--input", "page.html", "--prefix", "a"
    )


def test_a_placeholder_put_back_by_guess_is_reported(folder, engine, capsys):
    engine[0] = DropBraces()
    (folder / "a.po").write_text('msgid "the cat"\nmsgstr ""\n\nmsgid "the cat sings {name}"\nmsgstr ""\n')
    translate("a.po", "--report", "report")
    assert (
        '#, fuzzy\nmsgid "the cat sings {name}"\nmsgstr "the cat {name} sings"'
        in (folder / "out").read_text()
    )
    assert "1 sentence (2) lost a placeholder: put back by guess; check where" in capsys.readouterr().err
    issue = json.loads((folder / "report").read_text())
    assert issue == {
        "line": 2,
        "kind": "placeholder guessed",
        "message": "placeholder put back by guess: {name}: the cat sings {name}",
    }
    (folder / "a.md").write_text("The cat sings. The dog sleeps.\n\nThe cat `{name}`\n")
    translate("a.md")
    assert "1 sentence (3) lost a placeholder" in capsys.readouterr().err


@pytest.mark.usefixtures("engine")
def test_paragraph_breaks_inside_a_segment_are_kept(folder):
    (folder / "a.jsonl").write_text(r'{"text": "The cat sings all day.\n\nThe dog sleeps.  The cat."}' + "\n")
    translate("a.jsonl")
    assert (
        r'"translation": "The cat sings all day.\n\nThe dog sleeps.  The cat."'
        in (folder / "out").read_text()
    )


@pytest.mark.usefixtures("engine")
def test_a_document_without_text_is_reported(folder, capsys):
    (folder / "done.po").write_text('msgid "the cat"\nmsgstr "le chat"\n')
    translate("done.po")
    assert "there is nothing to translate in done.po" in capsys.readouterr().err
    assert (folder / "out").read_text() == (folder / "done.po").read_text()


@pytest.mark.usefixtures("engine")
def test_characters_that_a_document_cannot_contain_are_reported(folder, capsys, monkeypatch):
    from regard.text import sentences

    join = sentences.join_with_source_spacing
    monkeypatch.setattr(sentences, "join_with_source_spacing", lambda *pair: f"{join(*pair)}\x01")
    (folder / "a.resx").write_text("<root><data name='a'><value>the cat</value></data></root>")
    translate("a.resx")
    assert "regard: a.resx: dropped 1 control character of the translation" in capsys.readouterr().err
    assert "<value>the cat</value>" in (folder / "out").read_text()


@pytest.mark.usefixtures("engine")
def test_a_document_can_be_translated_in_place_but_a_report_needs_its_own_file(folder):
    (folder / "page.html").write_text("<p>the cat sings</p>")
    (folder / "a.txt").write_text("the cat sings\n")
    common = ("translate", "model", "--device", "cpu", "--input")
    for name in ("page.html", "a.txt"):
        before = (folder / name).read_text()
        message = run_failing_command(*common, name, "--output", "out", "--report", f"./{name}")
        assert f"--report {name} would replace --input {name}; give another name" in message
        assert "--report same is also --out same" in run_failing_command(
            *common, name, "--output", "same", "--report", "same"
        )
        assert (folder / name).read_text() == before
    assert "--out a.txt would replace the input a.txt" in run_failing_command(
        *common, "a.txt", "--output", "a.txt"
    )
    main([*common, "page.html", "--output", "page.html"])
    assert (folder / "page.html").read_text() == "<p>the cat sings</p>"


@pytest.mark.usefixtures("engine")
def test_a_full_device_exits_with_3(folder):
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    (folder / "page.html").write_text("<p>the cat sings</p>")
    with pytest.raises(SystemExit) as stop:
        main(["translate", "model", "--device", "cpu", "--input", "page.html", "--output", "/dev/full"])
    assert stop.value.code == 3


@pytest.mark.usefixtures("engine")
def test_messages_are_translated_in_their_files(folder, capsys):
    (folder / "en.yml").write_text("en:\n  a: the cat sings\n")
    translate("en.yml", "--target-language", "fr")
    assert (folder / "out").read_text() == "fr:\n  a: the cat sings\n"
    (folder / "package.json").write_text('{"name": "cat", "version": "1.0.0", "note": "the cat sings"}')
    common = ("translate", "model", "--device", "cpu", "--input")
    assert "package.json is the manifest of a package" in run_failing_command(*common, "package.json")
    translate("package.json", "--format", "json")
    assert capsys.readouterr().err == ""
    assert (folder / "out").read_text() == (folder / "package.json").read_text()


def test_a_translation_that_breaks_its_message_is_reported(folder, engine, capsys):
    class Brace(EchoEngine):
        def translate(self, sources, *_):
            brace = tokenizer.tokenize(["{"])[0]
            return [[Hypothesis(tuple(brace), -1.0, -1.0)] for _ in sources]

    tokenizer = learn_tokenizer(LINES, 300)
    engine[0] = Brace()
    (folder / "a.json").write_text('{"a": "the cat sings", "b": "the dog sleeps"}')
    with pytest.raises(SystemExit) as stop:
        translate("a.json", "--report", "report", "--format", "json")
    assert stop.value.code == 4
    assert (
        "2 sentences (1, 2) whose translation would break the message: left as it is"
        in capsys.readouterr().err
    )
    assert (folder / "out").read_text() == (folder / "a.json").read_text()
    assert "lost a placeholder or brace of its message: the cat sings" in (folder / "report").read_text()

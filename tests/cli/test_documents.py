"""`regard translate` on documents, with an engine that echoes the source."""

from pathlib import Path

import docx
import pytest

from failing_command import run_failing_command
from fake_engines import EchoEngine
from regard.cli.main import main
from regard.search.hypothesis import Hypothesis
from regard.text.tokenizer import learn_tokenizer
from regard.translation.engines import LoadedModel

LINES = ["the cat sings", "the dog sleeps"]
PAGE = """<html><body><!-- the cat -->
<h1 class=a>the cat sings</h1>
<p>The <b>cat</b> sings all day long. The dog sleeps.</p><script>the cat</script></body></html>
"""


class Reverse(EchoEngine):
    """Returns the source tokens in reverse."""

    def translate(self, sources, config, wishes=None):
        translations = super().translate(sources, config, wishes)
        return [[Hypothesis(each.tokens[::-1], -1.0, -1.0) for each in n_best] for n_best in translations]


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
    assert "a.docx is not text for a terminal; give --output FILE" in message


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
    assert "--column is for .tsv, .jsonl, not for .html" in run_failing_command(*common, "--column", "text")
    assert "--overwrite is for .tsv, .jsonl, .po, .pot" in run_failing_command(*common, "--overwrite")
    assert "--target-language is for .tmx, .epub, not for .html" in run_failing_command(
        *common, "--target-language", "fr"
    )
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
def test_a_document_can_be_translated_in_place_but_a_report_needs_its_own_file(folder):
    (folder / "page.html").write_text("<p>the cat sings</p>")
    (folder / "a.txt").write_text("the cat sings\n")
    common = ("translate", "model", "--device", "cpu", "--input")
    for name in ("page.html", "a.txt"):
        before = (folder / name).read_text()
        message = run_failing_command(*common, name, "--output", "out", "--report", f"./{name}")
        assert f"--report {name} would replace --input {name}; give another name" in message
        assert "--report same is also --output same" in run_failing_command(
            *common, name, "--output", "same", "--report", "same"
        )
        assert (folder / name).read_text() == before
    assert "--output a.txt would replace --input a.txt" in run_failing_command(
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

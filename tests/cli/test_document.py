"""`regard translate` on documents, with an echo for a model: what is translated, and what is left alone."""

import pytest

from commands import failure
from echo import Echo
from regard.cli.main import main
from regard.search.hypothesis import Hypothesis
from regard.tasks.engines import Ready
from regard.text.tokenizer import learn_tokenizer

LINES = ["the cat sings", "the dog sleeps"]
PAGE = """<html><body><!-- the cat -->
<h1 class=a>the cat sings</h1>
<p>The <b>cat</b> sings all day long. The dog sleeps.</p><script>the cat</script></body></html>
"""


class Reverse(Echo):
    """Tokens in reverse, to be told from the source."""

    def translate(self, sources, config, wishes=None):
        found = super().translate(sources, config, wishes)
        return [[Hypothesis(each.tokens[::-1], -1.0, -1.0) for each in some] for some in found]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def engine(folder, micro, monkeypatch):
    from regard.config import to_toml
    from regard.model.transformer import Transformer
    from regard.tasks.folder import save_model
    from regard.tasks.translation import TranslationRun

    tokenizer = learn_tokenizer(LINES, 300)
    transformer = Transformer(micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size}))
    save_model(folder / "model", transformer, tokenizer, to_toml(TranslationRun(transformer.config)), {})
    used = [Echo()]
    monkeypatch.setattr("regard.tasks.translator.ready", lambda *_: Ready(used[0], tokenizer, 4096))
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
    ],
)
def test_a_document_that_is_copied_is_the_same_file(folder, name, content):
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
def test_a_table_gets_a_column(folder):
    (folder / "a.tsv").write_text("id\ttext\n7\tthe cat\n")
    translate("a.tsv", "--column", "text")
    assert (folder / "out").read_text().splitlines()[1] == "7\tthe cat\tthe cat"


@pytest.mark.usefixtures("engine")
def test_a_format_can_be_given_or_left_aside(folder):
    (folder / "page.html").write_text("<b>the cat</b>\n")
    (folder / "page").write_text("<p title=x>the cat</p>")
    translate("page.html", "--format", "lines")
    assert (folder / "out").read_text() == "<b>the cat</b>\n"
    translate("page", "--format", "html")
    assert (folder / "out").read_text() == "<p title=x>the cat</p>"


@pytest.mark.usefixtures("engine")
def test_what_has_no_place_in_a_document_is_refused(folder):
    for name in ("page.html", "page.html.gz", "page.gz"):
        (folder / name).write_text("<b>the cat</b>\n")
    common = ("translate", "model", "--input", "page.html", "--device", "cpu")
    assert "page.html is a document, and has no place for scores" in failure(*common, "--scores")
    assert "--format docx is not known; it may be lines, txt" in failure(*common, "--format", "docx")
    assert "has no place for scores, alignments, confidences" in failure(*common, "--confidences")
    assert "page.html.gz is a packed document; unpack it first" in failure(*common[:3], "page.html.gz")
    assert "page.gz is a packed document" in failure(*common[:3], "page.gz", "--format", "html")
    assert "--anew is for lines" in failure(*common, "--output", "out", "--anew")
    assert "--column is for .tsv, .jsonl, not for .html" in failure(*common, "--column", "text")
    assert "--overwrite is for .jsonl, .po, .pot" in failure(*common, "--overwrite")
    assert "--language is for .tmx, not for .html" in failure(*common, "--language", "fr")
    assert not (folder / "out").exists()
    (folder / "bad.xliff").write_text("<xliff>")
    assert "bad.xliff" in failure("translate", "model", "--input", "bad.xliff", "--device", "cpu")


@pytest.mark.usefixtures("engine")
def test_sentences_that_are_too_long_stay_as_they_are_and_are_reported(folder, capsys):
    page = f"<p>the cat sings</p><p>{'the dog sleeps ' * 60}</p>\n"
    (folder / "page.html").write_text(page)
    with pytest.raises(SystemExit) as stop:
        translate("page.html", "--report", "report", "--long", "skip")
    assert stop.value.code == 4
    said = capsys.readouterr().err
    assert "1 sentence (2) too long: left as it is; --long split or cut would translate more" in said
    assert "1 of 2 sentences could not be translated and are left as it is" in said
    assert (folder / "out").read_text() == page
    assert '"line": 2' in (folder / "report").read_text()
    assert "--prefix is for lines" in failure("translate", "model", "--input", "page.html", "--prefix", "a")

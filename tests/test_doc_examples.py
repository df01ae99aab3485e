"""The Python code on the documentation pages runs, and their commands can be parsed."""

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.cli.main import _build_parser
from regard.config import to_toml
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun

DOCS = Path(__file__).parent.parent / "docs"
TEXTS = ["Where is the station?", "I have never been to Paris.", "Où est la gare ?"]
FILES = {
    "terms.tsv": "station\tgare\n",
    "page.html": "<p>Where is <b>the station</b>? Here it is.</p>\n",
    "a.tsv": "id\ttext\n1\tthe station\n",
    "a.po": 'msgid ""\nmsgstr ""\n\nmsgid "the station"\nmsgstr "gare"\n',
    "a.tmx": '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en">'
    "<seg>Paris</seg></tuv></tu></body></tmx>\n",
}


@pytest.fixture
def documented_files(tmp_path, micro, monkeypatch):
    """The models and files that the pages use: three models with one tokenizer, and documents."""
    monkeypatch.chdir(tmp_path)
    # an untrained model does not end its sentences
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 3)
    tokenizer = learn_tokenizer(TEXTS * 3, 300)
    for seed, name in enumerate(("en-fr", "other")):
        torch.manual_seed(seed)
        model = Transformer(replace(micro, vocab_size=tokenizer.vocab_size))
        save_translation_model(
            tmp_path / "runs" / name, model, tokenizer, to_toml(TranslationRun(model.config)), {}
        )
    shutil.copytree(tmp_path / "runs" / "en-fr", tmp_path / "runs" / "en-de")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("documented_files")
@pytest.mark.parametrize("page", ["translation.md", "search.md", "engines.md", "documents.md", "explorer.md"])
def test_the_python_on_a_page_runs(page, capsys):
    pytest.importorskip("ctranslate2")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), known)
    assert capsys.readouterr().err == ""


def documented_commands():
    """Yield the arguments of each `regard ...` in a shell block, without redirections."""
    for page in (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))):
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("regard ") and "..." not in line:
                    words = shlex.split(line, comments=True)
                    end = next((i for i, word in enumerate(words) if word[0] in "<>|"), len(words))
                    yield pytest.param(words[1:end], id=f"{page.stem}: {line}")


@pytest.mark.parametrize("words", list(documented_commands()))
def test_a_command_on_a_page_can_be_parsed(words):
    assert _build_parser().parse_args(words).run


def test_the_pages_have_commands():
    assert len(list(documented_commands())) > 25

"""The Python code on the documentation pages runs, and their commands can be parsed."""

import re
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from unittest.mock import MagicMock

import pytest
import torch
from rich.console import Console

import regard
from labelled_corpus import tiny_classification_run, write_labelled_file
from regard.classification.task import train_classification
from regard.cli.main import _build_parser
from regard.config import to_toml
from regard.forecasting.task import train_forecasting
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun
from small_training import CLASSIFICATION_SETTINGS, FORECASTING_SETTINGS, TRANSLATION_SETTINGS
from synthetic_series import small_forecast_run, write_wave_series

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TEXTS = [
    *("Where is the station?", "I have never been to Paris.", "Où est la gare ?"),
    *("Jane visits Africa in September.", "Jane visite l'Afrique en septembre."),
    *("The glass is yellow.", "We bought the yellow glass two months ago."),
]
FILES = {
    "terms.tsv": "station\tgare\n",
    "page.html": "<p>Where is <b>the station</b>? Here it is.</p>\n",
    "a.tsv": "id\ttext\n1\tthe station\n",
    "a.po": 'msgid ""\nmsgstr ""\n\nmsgid "the station"\nmsgstr "gare"\n',
    "a.tmx": '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en">'
    "<seg>Paris</seg></tuv></tu></body></tmx>\n",
    "reviews.csv": "review,stars\n" + "".join(f"{n} is good.,5\n{n} is bad.,1\n" for n in range(20)),
    "train.en": "".join(f"Where is station {number}?\n" for number in range(40)),
    "train.fr": "".join(f"Où est la gare {number} ?\n" for number in range(40)),
}
GENERATED_PAGE = "api.md"
"""Its blocks are signatures, which another test compares with the source."""
TRAINING_PAGE = "docs/python.md"
SERVING_PAGE = "docs/serving.md"
"""tests/server/test_serving_page.py runs its examples, with a server."""
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if page.name != GENERATED_PAGE and "```python\n" in page.read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def other_tasks(tmp_path_factory):
    """A classifier and a forecaster, trained for two steps."""
    folder, console = tmp_path_factory.mktemp("other"), Console(quiet=True)
    labelled = write_labelled_file(folder / "train.tsv")
    train_classification(tiny_classification_run(labelled, steps=2), folder / "runs/questions", console)
    series = write_wave_series(folder / "load.csv")
    train_forecasting(small_forecast_run(series, steps=2), folder / "runs/load", console)
    return folder


@pytest.fixture
def documented_files(tmp_path, other_tasks, micro, monkeypatch):
    """The models and files that the pages use: translation models with one tokenizer, and documents."""
    shutil.copytree(other_tasks, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # an untrained model does not end its sentences
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 3)
    tokenizer = learn_tokenizer(TEXTS * 3, 400)
    for seed, name in enumerate(("en-fr", "other")):
        torch.manual_seed(seed)
        model = Transformer(replace(micro, vocab_size=tokenizer.vocab_size))
        save_translation_model(
            tmp_path / "runs" / name, model, tokenizer, to_toml(TranslationRun(model.config)), {}
        )
    for name in ("en-de", "demo"):
        shutil.copytree(tmp_path / "runs" / "en-fr", tmp_path / "runs" / name)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")


@pytest.fixture
def quick_training(monkeypatch):
    """Small models and few steps in every `regard.train` of a page, whatever its limits."""

    def train_quickly(steps=None, settings=MappingProxyType({}), **arguments):
        for limit in ("minutes", "epochs"):
            arguments.pop(limit, None)
        if arguments.keys() == {"out"}:
            return train(**arguments, steps=None if steps is None else 4)
        task = dict.fromkeys(("labelled", "texts"), CLASSIFICATION_SETTINGS) | {
            "series": FORECASTING_SETTINGS
        }
        small = [task[name] for name in arguments if name in task] or [TRANSLATION_SETTINGS]
        return train(**arguments, steps=2, settings={**settings, **small[0]})

    train = regard.train
    monkeypatch.setattr(regard, "train", train_quickly, raising=False)
    monkeypatch.setattr("regard.api.train.train", train_quickly)  # as Classifier.fit calls it


@pytest.fixture
def tracking_packages(monkeypatch):
    """Modules in place of wandb, mlflow and tensorboard, which are not installed; each records its calls."""
    packages = {name: MagicMock() for name in ("wandb", "mlflow", "torch.utils.tensorboard")}
    for name, module in packages.items():
        monkeypatch.setitem(sys.modules, name, module)
    return packages


@pytest.mark.usefixtures("documented_files", "quick_training", "tracking_packages")
@pytest.mark.parametrize("page", [page for page in PAGES if page not in (TRAINING_PAGE, SERVING_PAGE)])
def test_the_python_on_a_page_runs(page, capsys):
    run_page(page)
    assert capsys.readouterr().err == ""


def run_page(page):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    known: dict[str, object] = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), known)


@pytest.mark.usefixtures("documented_files", "quick_training")
def test_the_training_page_runs_and_its_callbacks_log_to_their_packages(tracking_packages, capsys):
    run_page(TRAINING_PAGE)
    assert capsys.readouterr().err == ""
    wandb, mlflow, tensorboard = tracking_packages.values()
    run = wandb.init.return_value
    assert wandb.init.call_args.kwargs["config"]["train.steps"] == 2
    assert [call.kwargs["step"] for call in run.log.call_args_list] == [1, 2, 2]
    assert all(value > 0 for call in run.log.call_args_list for value in call.args[0].values() if value)
    run.finish.assert_called_once_with()
    assert mlflow.log_params.call_args.args[0]["train.steps"] == 2
    assert [call.kwargs["step"] for call in mlflow.log_metrics.call_args_list] == [1, 2, 2]
    writer = tensorboard.SummaryWriter.return_value
    assert [call.args[2] for call in writer.add_scalar.call_args_list] == [1, 2]
    assert {type(call.args[1]) for call in writer.add_text.call_args_list} == {str}
    writer.close.assert_called_once_with()


def test_every_page_with_python_is_run():
    """A block that no pattern above finds, such as an indented one, would not be run."""
    assert {"README.md", TRAINING_PAGE, "docs/trace.md", "docs/classification.md", "docs/forecasting.md"} <= {
        *PAGES
    }
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        found = len(re.findall(r"^```python\n", text, re.MULTILINE))
        assert len(re.findall(r"(?:```|~~~) *(?:python|py|pycon)", text)) == found, page


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

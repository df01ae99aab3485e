from dataclasses import replace

import pytest

from regard.errors import ConfigError
from regard.inference import engine_selection
from regard.inference.engine_selection import select_engine, unsupported_by_ctranslate2
from regard.search.config import Sampling, SearchConfig


@pytest.fixture
def installed(monkeypatch):
    """Says so of CTranslate2, or not."""

    def say(there: bool) -> None:
        monkeypatch.setattr(engine_selection, "find_spec", lambda _: object() if there else None)

    say(True)
    return say


def test_a_cpu_takes_ctranslate2_where_it_is_installed(micro, installed):
    assert select_engine("auto", has_gpu=False, model=micro).name == "ctranslate2"
    installed(False)
    found = select_engine("auto", has_gpu=False, model=micro)
    assert found.name == "torch"
    assert "pip install 'regard[fast]'" in found.reason


def test_a_gpu_takes_torch(micro, installed):
    installed(True)
    assert select_engine("auto", has_gpu=True, model=micro) == engine_selection.EngineChoice(
        "torch", "a GPU computes"
    )


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "asked",
    [
        {"search": SearchConfig(sampling=Sampling())},
        {"search": SearchConfig(no_repeat_ngram=2)},
        {"search": SearchConfig(allow_unknown=False)},
        {"wishes": True},
        {"reading": True},
        {"precision": "bf16"},
    ],
    ids=str,
)
def test_torch_does_what_ctranslate2_cannot(micro, asked):
    found = select_engine("auto", has_gpu=False, model=micro, **asked)
    assert found.name == "torch"
    assert found.reason == unsupported_by_ctranslate2(micro, **asked)
    with pytest.raises(ConfigError, match="the engine ctranslate2 cannot be used: .*; choose torch or auto"):
        select_engine("ctranslate2", has_gpu=False, model=micro, **asked)


@pytest.mark.usefixtures("installed")
def test_a_norm_that_ctranslate2_does_not_know_is_torchs(micro):
    literal = replace(micro, norm="literal")
    assert select_engine("auto", has_gpu=False, model=literal).name == "torch"
    with pytest.raises(ConfigError, match="literal"):
        select_engine("ctranslate2", has_gpu=False, model=literal)


def test_what_is_asked_for_by_name_is_taken_or_refused(micro, installed):
    assert select_engine("ctranslate2", has_gpu=False, model=micro).name == "ctranslate2"
    assert select_engine("torch", has_gpu=False, model=micro).name == "torch"
    with pytest.raises(ConfigError, match="a GPU computes"):
        select_engine("ctranslate2", has_gpu=True, model=micro)
    installed(False)
    with pytest.raises(ConfigError, match="not installed"):
        select_engine("ctranslate2", has_gpu=False, model=micro)

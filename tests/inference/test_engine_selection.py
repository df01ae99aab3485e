from dataclasses import replace

import pytest

from regard.errors import ConfigError
from regard.inference import engine_selection
from regard.inference.engine_selection import select_engine, unsupported_by_ctranslate2
from regard.search.config import Sampling, SearchConfig


@pytest.fixture
def installed(monkeypatch):
    """Pretend that CTranslate2 is installed; the fixture is a function that changes this."""

    def set_installed(is_installed: bool) -> None:
        monkeypatch.setattr(engine_selection, "find_spec", lambda _: object() if is_installed else None)

    set_installed(True)
    return set_installed


def test_ctranslate2_is_selected_on_a_cpu_if_installed(micro, installed):
    assert select_engine("auto", has_gpu=False, model=micro).name == "ctranslate2"
    installed(False)
    choice = select_engine("auto", has_gpu=False, model=micro)
    assert choice.name == "torch"
    assert "pip install 'regard[fast]'" in choice.reason


def test_torch_is_selected_on_a_gpu(micro, installed):
    installed(True)
    assert select_engine("auto", has_gpu=True, model=micro) == engine_selection.EngineChoice(
        "torch", "the device is a GPU"
    )


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "options",
    [
        {"search": SearchConfig(sampling=Sampling())},
        {"search": SearchConfig(no_repeat_ngram=2)},
        {"search": SearchConfig(allow_unknown=False)},
        {"has_constraints": True},
        {"needs_forced_decoding": True},
        {"precision": "bf16"},
    ],
    ids=str,
)
def test_torch_is_selected_for_options_ctranslate2_does_not_support(micro, options):
    choice = select_engine("auto", has_gpu=False, model=micro, **options)
    assert choice.name == "torch"
    assert choice.reason == unsupported_by_ctranslate2(micro, **options)
    with pytest.raises(ConfigError, match="the engine ctranslate2 cannot be used: .*; choose torch or auto"):
        select_engine("ctranslate2", has_gpu=False, model=micro, **options)


@pytest.mark.usefixtures("installed")
def test_a_glossary_does_not_exclude_ctranslate2_unless_it_is_requested(micro):
    assert select_engine("auto", has_gpu=False, model=micro, has_glossary=True).name == "ctranslate2"
    with pytest.raises(ConfigError, match="does not support glossaries"):
        select_engine("ctranslate2", has_gpu=False, model=micro, has_glossary=True)


@pytest.mark.usefixtures("installed")
def test_torch_is_selected_for_the_literal_norm(micro):
    literal = replace(micro, norm="literal")
    assert select_engine("auto", has_gpu=False, model=literal).name == "torch"
    with pytest.raises(ConfigError, match="literal"):
        select_engine("ctranslate2", has_gpu=False, model=literal)


def test_an_engine_requested_by_name_is_used_or_refused(micro, installed):
    assert select_engine("ctranslate2", has_gpu=False, model=micro).name == "ctranslate2"
    assert select_engine("torch", has_gpu=False, model=micro).name == "torch"
    with pytest.raises(ConfigError, match="the device is a GPU"):
        select_engine("ctranslate2", has_gpu=True, model=micro)
    installed(False)
    with pytest.raises(ConfigError, match="not installed"):
        select_engine("ctranslate2", has_gpu=False, model=micro)

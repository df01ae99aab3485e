"""Arguments shared by `regard look` and `regard trace`."""

from dataclasses import replace

import pytest

from failing_command import run_failing_command
from regard.cli.main import main
from regard.config import to_toml
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun


@pytest.fixture
def model(tmp_path, micro):
    tokenizer = learn_tokenizer(["the cat sings"] * 3, 300)
    transformer = Transformer(replace(micro, vocab_size=tokenizer.vocab_size))
    save_translation_model(
        tmp_path / "model", transformer, tokenizer, to_toml(TranslationRun(transformer.config)), {}
    )
    return tmp_path / "model"


def test_look_uses_the_paper_search_by_default(model, capsys, monkeypatch):
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 3)
    main(["look", str(model), "the cat", "--device", "cpu"])
    default = capsys.readouterr().out
    main(["look", str(model), "the cat", "--device", "cpu", "--beam", "4", "--alpha", "0.6"])
    assert capsys.readouterr().out == default != ""
    assert "beam = 0 cannot work" in run_failing_command("look", model, "the cat", "--beam", "0")

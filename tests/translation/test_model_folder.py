import subprocess
import sys
from dataclasses import replace

import pytest

from regard.checkpoint import WEIGHTS_FILE
from regard.config import to_toml
from regard.errors import CheckpointError
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import (
    load_translation_model,
    read_translation_folder,
    save_translation_model,
)
from regard.translation.run import TranslationRun


@pytest.fixture
def folder(micro, tmp_path):
    tokenizer = learn_tokenizer(["the cat sees the dog.", "a bird sings."] * 3, 280)
    model = Transformer(replace(micro, vocab_size=tokenizer.vocab_size))
    save_translation_model(
        tmp_path / "model", model, tokenizer, to_toml(TranslationRun(model.config)), {"step": 7}
    )
    return tmp_path / "model"


def test_a_folder_is_read_without_torch(folder):
    code = f"""
import sys
from pathlib import Path
from regard.translation.model_folder import read_translation_folder
folder = read_translation_folder(Path({str(folder)!r}))
assert folder.config.vocab_size == folder.tokenizer.vocab_size and folder.manifest["step"] == 7
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_folder_has_config_tokenizer_and_manifest_of_the_loaded_model(folder):
    read, loaded = read_translation_folder(folder), load_translation_model(folder)
    assert read.path == folder
    assert read.config == loaded.transformer.config
    assert read.manifest == loaded.manifest
    assert read.tokenizer.fingerprint == loaded.tokenizer.fingerprint


def test_with_size_only_the_weights_are_not_hashed_but_must_be_complete(folder):
    content = (folder / WEIGHTS_FILE).read_bytes()
    (folder / WEIGHTS_FILE).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert read_translation_folder(folder, size_only=[WEIGHTS_FILE]).path == folder
    with pytest.raises(CheckpointError, match="model.safetensors is not what was written"):
        read_translation_folder(folder)
    (folder / WEIGHTS_FILE).write_bytes(content[:-1])
    with pytest.raises(CheckpointError, match="model.safetensors is not what was written"):
        read_translation_folder(folder, size_only=[WEIGHTS_FILE])


@pytest.mark.parametrize("engine", ["ctranslate2", "auto"])
def test_a_translation_by_ctranslate2_loads_no_torch(folder, engine):
    pytest.importorskip("ctranslate2")
    code = f"""
import sys
import regard
translator = regard.Translator.load({str(folder)!r}, device="cpu", engine={engine!r})
assert len(translator.translate(["the cat sees a bird.", ""])) == 2
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_translates_without_torch(folder):
    pytest.importorskip("ctranslate2")
    code = f"""
import sys
from regard.cli.main import main
main(["translate", {str(folder)!r}, "--engine", "ctranslate2"])
sys.exit("torch" in sys.modules)
"""
    lines, command = b"a bird\n\nthe cat\n", [sys.executable, "-c", code]
    process = subprocess.run(command, input=lines, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count(b"\n") == 3

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.ctranslate2_models import log_probability, with_larger_weights, write_engine_folder
from regard.checkpoint import WEIGHTS_FILE, read_manifest
from regard.data.cache import default_cache_folder
from regard.errors import CheckpointError
from regard.inference import ctranslate2_convert
from regard.inference.ctranslate2_convert import cached_conversion, position_table_array
from regard.model.position import PositionalEncoding
from regard.model.transformer import Transformer

ctranslate2 = pytest.importorskip("ctranslate2")
SOURCE, TARGET = [5, 9, 14, 3], [7, 4, 21, 20, 6]


def score_target(folder, config, weight_format="fp32"):
    """Return the log-probability of TARGET by CTranslate2."""
    converted = cached_conversion(folder, config, weight_format)
    compute_type = f"{weight_format}_float32".replace("fp32_", "")
    translator = ctranslate2.Translator(str(converted), compute_type=compute_type)
    source, target = ([str(id) for id in row] for row in (SOURCE, TARGET))
    (result,) = translator.score_batch([source], [target])
    return sum(result.log_probs)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre"},
        {"norm": "pre", "activation": "gelu", "tied": "none", "position": "learned"},
        {"position": "tensor2tensor", "tied": "target"},
        {"position": "halves"},
        {"position": "none"},
        {"d_k": 6},
        {"attention_scale": 0.3},
        {"norm_epsilon": 0.1},
        {"encoder_layers": 1, "decoder_layers": 3},
    ],
    ids=str,
)
def test_a_converted_model_gives_the_same_log_probability(micro, tmp_path, changes):
    torch.manual_seed(0)
    model = with_larger_weights(Transformer(replace(micro, **changes)))
    score = score_target(write_engine_folder(tmp_path / "model", model), model.config)
    assert score == pytest.approx(log_probability(model, SOURCE, TARGET), abs=1e-4)


def test_int8_is_close_and_about_a_quarter_of_the_size(micro, tmp_path):
    torch.manual_seed(0)
    model = with_larger_weights(Transformer(replace(micro, d_model=64, d_ff=256)))
    folder = write_engine_folder(tmp_path / "model", model)
    expected = log_probability(model, SOURCE, TARGET)
    assert score_target(folder, model.config, "int8") == pytest.approx(expected, rel=0.05)
    assert score_target(folder, model.config, "int8") != pytest.approx(expected, abs=1e-4)
    sizes = [
        (cached_conversion(folder, model.config, s) / "model.bin").stat().st_size for s in ("int8", "fp32")
    ]
    assert sizes[0] < 0.35 * sizes[1]


@pytest.mark.parametrize("name", ["paper", "tensor2tensor", "halves", "none"])
@pytest.mark.parametrize("d_model", [16, 17])
def test_position_tables_equal_those_of_the_model(micro, name, d_model):
    config = replace(micro, position=name, d_model=d_model, d_k=4)
    table = PositionalEncoding(name, config.max_length, d_model).table.numpy()
    np.testing.assert_allclose(position_table_array(config), table, atol=1e-7)


def test_weights_are_converted_once_and_again_after_a_change(micro_model, tmp_path, monkeypatch):
    folder, config = write_engine_folder(tmp_path / "model", micro_model), micro_model.config
    first = cached_conversion(folder, config, "fp32")
    with monkeypatch.context() as patch:
        patch.setattr(ctranslate2_convert, "write_ctranslate2_model", None)
        assert cached_conversion(folder, config, "fp32") == first
    before = score_target(folder, config)
    copied = shutil.copytree(folder / ctranslate2_convert.CONVERSION_FOLDER, tmp_path / "copied")
    write_engine_folder(folder, with_larger_weights(micro_model))
    shutil.copytree(copied, folder / ctranslate2_convert.CONVERSION_FOLDER)
    assert cached_conversion(folder, config, "fp32") != first
    assert score_target(folder, config) != pytest.approx(before, abs=0.1)


def test_the_model_files_are_not_changed(micro_model, tmp_path):
    folder = write_engine_folder(tmp_path / "model", micro_model)
    before = read_manifest(folder)
    assert cached_conversion(folder, micro_model.config, "int8").is_relative_to(folder)
    assert read_manifest(folder) == before


def test_the_users_cache_is_used_if_the_model_folder_is_not_writable(micro_model, tmp_path):
    folder = write_engine_folder(tmp_path / "model", micro_model)
    (folder / ctranslate2_convert.CONVERSION_FOLDER).write_bytes(b"a file in place of the folder")
    converted = cached_conversion(folder, micro_model.config, "int8")
    assert converted.is_relative_to(default_cache_folder())
    assert cached_conversion(folder, micro_model.config, "int8") == converted


def test_a_damaged_conversion_is_repeated(micro_model, tmp_path):
    folder = write_engine_folder(tmp_path / "model", micro_model)
    before = score_target(folder, micro_model.config)
    (cached_conversion(folder, micro_model.config, "fp32") / "model.bin").write_bytes(b"half of")
    assert score_target(folder, micro_model.config) == before


def test_damaged_weights_are_not_converted(micro_model, tmp_path):
    folder = write_engine_folder(tmp_path / "model", micro_model)
    with (folder / WEIGHTS_FILE).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x7f")
    with pytest.raises(CheckpointError, match="is damaged: model.safetensors is not what was written"):
        cached_conversion(folder, micro_model.config, "int8")
    assert not list((folder / ctranslate2_convert.CONVERSION_FOLDER).rglob("model.bin"))

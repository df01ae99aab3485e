import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.ctranslate2_models import log_probability, with_larger_weights, write_engine_folder
from regard.checkpoint import WEIGHTS_FILE, read_manifest, write_folder_atomically
from regard.data.cache import default_cache_folder
from regard.errors import CheckpointError
from regard.inference import ctranslate2_convert
from regard.inference.ctranslate2_convert import cached_conversion, load_conversion, position_table_array
from regard.model.position import PositionalEncoding
from regard.model.transformer import Transformer

ctranslate2 = pytest.importorskip("ctranslate2")
SOURCE, TARGET = [5, 9, 14, 3], [7, 4, 21, 20, 6]


def with_nan_in_a_table(content):
    """Replace the first cosine of the position table, a 1, by NaN."""
    return content.replace(np.float32(1).tobytes(), np.float32(np.nan).tobytes(), 1)


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


def flip_bit_unseen(path, place):
    """Flip a bit; size and time of the file stay."""
    status, content = path.stat(), bytearray(path.read_bytes())
    content[place] ^= 0x20
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("place", [3, 2000, -200, -3])
def test_a_flipped_bit_in_a_conversion_is_reported_and_the_model_converted_again(
    micro_model, tmp_path, capsys, place
):
    folder, config = write_engine_folder(tmp_path / "model", micro_model), micro_model.config
    binary = cached_conversion(folder, config, "fp32") / "model.bin"
    whole = binary.read_bytes()
    flip_bit_unseen(binary, place)
    loaded = load_conversion(folder, config, "fp32", lambda converted: (converted / "model.bin").read_bytes())
    assert loaded == whole
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(binary.parent) in error
    assert "is damaged" in error
    assert error.endswith("; it is created again\n")


def test_an_undamaged_conversion_is_loaded_once_and_nothing_is_said(micro_model, tmp_path, capsys):
    folder = write_engine_folder(tmp_path / "model", micro_model)
    paths = []
    for _ in range(2):
        load_conversion(folder, micro_model.config, "int8", paths.append)
    assert len(paths) == 2
    assert capsys.readouterr().err == ""


def rewrite(folder, name, change):
    """Change a file of a folder and write its manifest anew, as a stranger can."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}
    files[name] = change(files[name])

    def fill(temporary):
        for each, content in files.items():
            (temporary / each).write_bytes(content)
        return {"written": {path.name: path.stat().st_mtime_ns for path in temporary.iterdir()}}

    write_folder_atomically(folder, fill, overwrite=True)


HEADS = b"num_heads\0\x00\x02\x02\0\0\0"
VOCABULARY_SHAPE = b"\x17\0\0\0\x10\0\0\0"


def replaced(old, new):
    return lambda content: content.replace(old, new, 1)


HOSTILE_CONVERSIONS = {
    "heads": ("model.bin", replaced(HEADS + b"\x04", HEADS + b"\x00")),
    "short": ("model.bin", lambda content: content[:-1]),
    "long": ("model.bin", lambda content: content + b"\0"),
    "shape": ("model.bin", replaced(VOCABULARY_SHAPE, b"\xff\xff\xff\x7f\x10\0\0\0")),
    "name": ("model.bin", replaced(b"layer_norm/gamma", b"layer_norm/gamme")),
    "nan": ("model.bin", with_nan_in_a_table),
    "config": ("config.json", replaced(b"add_source_eos", b"add_source_bos")),
    "vocabulary": ("shared_vocabulary.json", replaced(b"[", b"[" * 100_000)),
}


@pytest.mark.parametrize("weight_format", ["int8", "fp32"])
@pytest.mark.parametrize(("name", "change"), HOSTILE_CONVERSIONS.values(), ids=HOSTILE_CONVERSIONS)
def test_a_conversion_that_came_with_the_folder_is_loaded_only_if_it_is_like_ours(
    micro_model, tmp_path, capsys, weight_format, name, change
):
    folder, config = write_engine_folder(tmp_path / "model", micro_model), micro_model.config
    converted = cached_conversion(folder, config, weight_format)
    whole = (converted / name).read_bytes()
    assert change(whole) != whole
    rewrite(converted, name, change)
    assert (cached_conversion(folder, config, weight_format) / name).read_bytes() == whole
    assert capsys.readouterr().err.endswith("; it is created again\n")


@pytest.mark.parametrize("link", [".ctranslate2", ".ctranslate2/int8", "entry"])
def test_no_link_in_a_model_folder_is_followed(micro_model, tmp_path, link):
    folder, config = write_engine_folder(tmp_path / "model", micro_model), micro_model.config
    entry = cached_conversion(folder, config, "int8")
    place = entry if link == "entry" else folder / link
    shutil.rmtree(place)
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    converted = cached_conversion(folder, config, "int8")
    assert converted.is_relative_to(default_cache_folder())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_weights_that_are_not_finite_are_not_converted(micro_model, tmp_path):
    with torch.no_grad():
        micro_model.output.weight[3, 5] = torch.inf
    folder = write_engine_folder(tmp_path / "model", micro_model)
    with pytest.raises(CheckpointError, match="tokens.weight has values that are not finite"):
        cached_conversion(folder, micro_model.config, "int8")


def test_weights_of_other_settings_are_not_converted(micro_model, tmp_path):
    folder = write_engine_folder(tmp_path / "model", micro_model)
    with pytest.raises(CheckpointError, match=r"encoder.layers.2.self_attention.query.weight is missing"):
        cached_conversion(folder, replace(micro_model.config, encoder_layers=1000), "int8")

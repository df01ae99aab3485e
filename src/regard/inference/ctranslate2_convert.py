"""CTranslate2's file format: numbers under names, some of which are other names for the same numbers.

CTranslate2's own package can write it too, but imports torch to do so wherever torch is installed, and
that alone takes longer than a first translation should.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Literal, assert_never

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load_file

from regard.checkpoint import WEIGHTS_FILE, read_manifest
from regard.data.cache import DiskCache
from regard.errors import CheckpointError, RegardError
from regard.model.config import ModelConfig
from regard.text.tokenizer import BOS, EOS, PAD

BINARY_VERSION = 6
"""CTranslate2 goes on reading the formats it once wrote, so this need not follow it."""
SPEC_NAME, SPEC_REVISION = "TransformerSpec", 7
"""What it expects under which names."""
DTYPE_CODES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3}


def write_ctranslate2_binary(
    path: Path, arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]
) -> None:
    """Every array under its name, then the names in `also`, each for another that is there."""
    with path.open("wb") as file:
        file.write(struct.pack("<I", BINARY_VERSION))
        _write_text(file, SPEC_NAME)
        file.write(struct.pack("<II", SPEC_REVISION, len(arrays)))
        for name, value in arrays.items():
            _write_text(file, name)
            file.write(struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape))
            file.write(struct.pack("<BI", DTYPE_CODES[value.dtype.name], value.nbytes))
            file.write(value.tobytes())
        file.write(struct.pack("<I", len(aliases)))
        for name, other in aliases.items():
            _write_text(file, name)
            _write_text(file, other)


def _write_text(file: BinaryIO, text: str) -> None:
    content = text.encode() + b"\0"
    file.write(struct.pack("<H", len(content)) + content)


WeightFormat = Literal["int8", "fp32"]
WeightArrays = Mapping[str, np.ndarray]
NamedArrays = Iterator[tuple[str, np.ndarray]]

CONVERSION_FOLDER = ".ctranslate2"
"""Where in a model's folder; its manifest does not name it, so the folder stays what was written."""
CONVERTER_VERSION = 1
"""Of this file: what another one converted is converted again."""
ACTIVATION_CODES = {"relu": 0, "gelu": 3}


def cached_conversion(model: Path, config: ModelConfig, weight_format: WeightFormat) -> Path:
    """The folder for CTranslate2, in the model's own, or in the user's cache where nothing can be written.

    It is named by what it was made from, so that weights which changed are converted again.
    """
    sha256 = read_manifest(model, size_only=[WEIGHTS_FILE])["files"][WEIGHTS_FILE]["sha256"]
    made_from = {
        "weights": sha256,
        "config": repr(config),
        "stored": weight_format,
        "version": CONVERTER_VERSION,
    }

    def fill(folder: Path) -> dict[str, object]:
        read_manifest(model)  # now that the weights are read, they are checked
        write_ctranslate2_model(folder, _read_weights(model / WEIGHTS_FILE), config, weight_format)
        return {"made_from": made_from}

    try:
        return DiskCache(str(model / CONVERSION_FOLDER), _ignore_message).get_or_create(
            weight_format, made_from, fill
        )[0]
    except RegardError as error:
        if not isinstance(error.__context__, OSError):
            raise
    return DiskCache(None, _ignore_message).get_or_create("ctranslate2", made_from, fill)[0]


def write_ctranslate2_model(
    folder: Path, weights: WeightArrays, config: ModelConfig, weight_format: WeightFormat
) -> None:
    """The three files of a CTranslate2 model. Its words are our ids, written out: it takes only text."""
    named = dict(_ctranslate2_arrays(weights, config))
    write_ctranslate2_binary(
        folder / "model.bin",
        dict(_quantized(named)) if weight_format == "int8" else named,
        _tied_aliases(config, weight_format),
    )
    words = [str(id) for id in range(config.vocab_size)]
    (folder / "shared_vocabulary.json").write_text(json.dumps(words), "utf-8")
    about = {
        "bos_token": words[BOS],
        "decoder_start_token": words[BOS],
        "eos_token": words[EOS],
        "unk_token": words[PAD],  # there is no unknown piece, but the format asks for one
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": config.norm_epsilon,
    }
    (folder / "config.json").write_text(json.dumps(about), "utf-8")


def position_table_array(config: ModelConfig) -> Float[np.ndarray, "length d_model"]:
    """The table that model/position.py has under this name."""
    length, channels = config.max_length, config.d_model
    at = np.arange(length, dtype=np.float64)[:, None]
    angle = at / 10_000 ** (np.arange(0, channels, 2) / channels)
    match config.position:
        case "paper":
            table = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(length, -1)[:, :channels]
        case "halves":
            table = np.concatenate([np.sin(angle), np.cos(angle[:, : channels // 2])], axis=1)
        case "tensor2tensor":
            timescales = channels // 2
            angle = at * np.exp(-math.log(10_000) / max(timescales - 1, 1) * np.arange(timescales))
            odd = np.zeros((length, channels % 2))
            table = np.concatenate([np.sin(angle), np.cos(angle), odd], axis=1)
        case "none":
            table = np.zeros((length, channels))
        case "learned":
            raise ValueError("learned positions are among the weights")
        case _:
            assert_never(config.position)
    return table.astype(np.float32)


def _read_weights(path: Path) -> WeightArrays:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None


def _ignore_message(_: str) -> None:
    """A conversion that was damaged is made again, and nothing is lost."""


def _ctranslate2_arrays(weights: WeightArrays, config: ModelConfig) -> NamedArrays:
    """All weights under CTranslate2's names; those of tied matrices once."""
    yield "encoder/embeddings_merge", np.array(0, np.int8)
    yield from _stack_arrays(weights, "encoder", "source_embedding", config)
    yield from _stack_arrays(weights, "decoder", "target_embedding", config)
    for layer in range(config.encoder_layers):
        ours, name = f"encoder.layers.{layer}", f"encoder/layer_{layer}"
        yield from _self_attention(weights, name, ours, "around_attention", config)
        yield from _feed_forward(weights, name, ours)
    for layer in range(config.decoder_layers):
        ours, name = f"decoder.layers.{layer}", f"decoder/layer_{layer}"
        yield from _self_attention(weights, name, ours, "around_self_attention", config)
        yield from _cross_attention(weights, name, ours, config)
        yield from _feed_forward(weights, name, ours)
    yield "encoder/embeddings_0/weight", weights["source_embedding.tokens.weight"]
    if config.tied != "all":
        yield "decoder/embeddings/weight", weights["target_embedding.tokens.weight"]
    if config.tied == "none":
        yield "decoder/projection/weight", weights["output.weight"]


def _tied_aliases(config: ModelConfig, stored: WeightFormat) -> dict[str, str]:
    """Section 3.4: tied matrices, each by the name that has the numbers."""
    match config.tied:
        case "all":
            tied = {
                "decoder/embeddings": "encoder/embeddings_0",
                "decoder/projection": "encoder/embeddings_0",
            }
        case "target":
            tied = {"decoder/projection": "decoder/embeddings"}
        case "none":
            tied = {}
        case _:
            assert_never(config.tied)
    kinds = ("weight", "weight_scale") if stored == "int8" else ("weight",)
    return {f"{name}/{kind}": f"{other}/{kind}" for name, other in tied.items() for kind in kinds}


def _stack_arrays(weights: WeightArrays, side: str, embedding: str, config: ModelConfig) -> NamedArrays:
    yield f"{side}/num_heads", np.array(config.heads, np.int16)
    yield f"{side}/pre_norm", np.array(config.norm == "pre", np.int8)
    yield f"{side}/activation", np.array(ACTIVATION_CODES[config.activation], np.int8)
    yield f"{side}/scale_embeddings", np.array(1, np.int8)
    learned = config.position == "learned"
    table = weights[f"{embedding}.positions.table"] if learned else position_table_array(config)
    yield f"{side}/position_encodings/encodings", table
    if config.norm == "pre":
        yield from _norm(weights, f"{side}/layer_norm", f"{side}.norm")


def _self_attention(
    weights: WeightArrays, name: str, ours: str, around: str, config: ModelConfig
) -> NamedArrays:
    """Query, key and value read the same input there, so their matrices are one."""
    name, attention = f"{name}/self_attention", f"{ours}.self_attention"
    yield from _norm(weights, f"{name}/layer_norm", f"{ours}.{around}.norm")
    yield from _linear(weights, f"{name}/linear_0", *(f"{attention}.{x}" for x in ("query", "key", "value")))
    yield from _linear(weights, f"{name}/linear_1", f"{attention}.output")
    yield from _heads(name, config)


def _cross_attention(weights: WeightArrays, name: str, ours: str, config: ModelConfig) -> NamedArrays:
    name, attention = f"{name}/attention", f"{ours}.cross_attention"
    yield from _norm(weights, f"{name}/layer_norm", f"{ours}.around_cross_attention.norm")
    yield from _linear(weights, f"{name}/linear_0", f"{attention}.query")
    yield from _linear(weights, f"{name}/linear_1", f"{attention}.key", f"{attention}.value")
    yield from _linear(weights, f"{name}/linear_2", f"{attention}.output")
    yield from _heads(name, config)


def _heads(name: str, config: ModelConfig) -> NamedArrays:
    """Where they are not d_model / heads wide, or not scaled by the root of that."""
    if config.d_k is not None:
        yield f"{name}/head_dim", np.array(config.d_k, np.int32)
    if config.attention_scale is not None:
        yield f"{name}/queries_scale", np.array(config.attention_scale, np.float32)


def _feed_forward(weights: WeightArrays, name: str, ours: str) -> NamedArrays:
    yield from _norm(weights, f"{name}/ffn/layer_norm", f"{ours}.around_feed_forward.norm")
    yield from _linear(weights, f"{name}/ffn/linear_0", f"{ours}.feed_forward.inner")
    yield from _linear(weights, f"{name}/ffn/linear_1", f"{ours}.feed_forward.outer")


def _linear(weights: WeightArrays, name: str, *parts: str) -> NamedArrays:
    for kind in ("weight", "bias"):
        yield f"{name}/{kind}", np.concatenate([weights[f"{part}.{kind}"] for part in parts])


def _norm(weights: WeightArrays, name: str, ours: str) -> NamedArrays:
    yield f"{name}/gamma", weights[f"{ours}.weight"]
    yield f"{name}/beta", weights[f"{ours}.bias"]


def _quantized(named: WeightArrays) -> NamedArrays:
    """Matrices in int8, with a scale for each row; the rest as it was."""
    for name, value in named.items():
        if not name.endswith("/weight"):
            yield name, value
            continue
        largest = np.abs(value).max(axis=1)
        scale = (127 / np.where(largest == 0, 127, largest)).astype(np.float32)
        yield name, np.rint(value * scale[:, None]).astype(np.int8)
        yield f"{name}_scale", scale

"""Conversion of model weights to a CTranslate2 folder, cached beside the model; no torch.

CTranslate2's own converter would do, but it imports torch wherever torch is installed, which alone takes
longer than a first translation should.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, assert_never

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load_file

from regard.checkpoint import WEIGHTS_FILE, read_manifest, verify_file
from regard.data.cache import DiskCache
from regard.errors import CheckpointError, RegardError
from regard.model.config import ModelConfig
from regard.text.tokenizer import BOS, EOS, PAD

WeightFormat = Literal["int8", "fp32"]
WeightArrays = Mapping[str, np.ndarray]
NamedArrays = Iterator[tuple[str, np.ndarray]]

CONVERSION_FOLDER = ".ctranslate2"
"""The cache inside a model folder; the manifest does not list it, so the folder stays valid."""
CONVERTER_VERSION = 1
"""Part of the cache key: a conversion by another version is repeated."""
ACTIVATION_CODES = {"relu": 0, "gelu": 3}


def cached_conversion(
    model: Path,
    config: ModelConfig,
    weight_format: WeightFormat,
    manifest: Mapping[str, Any] | None = None,
) -> Path:
    """Return the CTranslate2 folder of a model, converted if needed.

    It is cached inside the model folder, or in the user's cache folder if that is read-only. The cache key
    contains the hash of the weights, so changed weights are converted again. `manifest` is that of the
    folder if the caller has read it already.
    """
    checked = read_manifest(model, size_only=[WEIGHTS_FILE]) if manifest is None else manifest
    made_from = {
        "weights": checked["files"][WEIGHTS_FILE]["sha256"],
        "config": repr(config),
        "stored": weight_format,
        "version": CONVERTER_VERSION,
    }

    def fill(folder: Path) -> dict[str, object]:
        verify_file(model, checked, WEIGHTS_FILE)
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
    """Write the three files of a CTranslate2 model; its vocabulary is our token ids as strings."""
    arrays = dict(_ctranslate2_arrays(weights, config))
    write_ctranslate2_binary(
        folder / "model.bin",
        dict(_quantized(arrays)) if weight_format == "int8" else arrays,
        _tied_aliases(config, weight_format),
    )
    vocabulary = [str(id) for id in range(config.vocab_size)]
    (folder / "shared_vocabulary.json").write_text(json.dumps(vocabulary), "utf-8")
    settings = {
        "bos_token": vocabulary[BOS],
        "decoder_start_token": vocabulary[BOS],
        "eos_token": vocabulary[EOS],
        "unk_token": vocabulary[PAD],  # there is no unknown token, but the format requires one
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": config.norm_epsilon,
    }
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")


def position_table_array(config: ModelConfig) -> Float[np.ndarray, "length d_model"]:
    """Return the position table of `config.position` with NumPy, equal to that of model/position.py."""
    length, channels = config.max_length, config.d_model
    position = np.arange(length, dtype=np.float64)[:, None]
    angle = position / 10_000 ** (np.arange(0, channels, 2) / channels)
    match config.position:
        case "paper":
            table = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(length, -1)[:, :channels]
        case "halves":
            table = np.concatenate([np.sin(angle), np.cos(angle[:, : channels // 2])], axis=1)
        case "tensor2tensor":
            timescales = channels // 2
            angle = position * np.exp(-math.log(10_000) / max(timescales - 1, 1) * np.arange(timescales))
            padding = np.zeros((length, channels % 2))
            table = np.concatenate([np.sin(angle), np.cos(angle), padding], axis=1)
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
    """Ignore cache messages: a damaged conversion is repeated, and nothing is lost."""


def _ctranslate2_arrays(weights: WeightArrays, config: ModelConfig) -> NamedArrays:
    """Yield all weights under CTranslate2's names, tied matrices once."""
    yield "encoder/embeddings_merge", np.array(0, np.int8)
    yield from _stack_arrays(weights, "encoder", "source_embedding", config)
    yield from _stack_arrays(weights, "decoder", "target_embedding", config)
    for layer in range(config.encoder_layers):
        prefix, name = f"encoder.layers.{layer}", f"encoder/layer_{layer}"
        yield from _self_attention(weights, name, prefix, "around_attention", config)
        yield from _feed_forward(weights, name, prefix)
    for layer in range(config.decoder_layers):
        prefix, name = f"decoder.layers.{layer}", f"decoder/layer_{layer}"
        yield from _self_attention(weights, name, prefix, "around_self_attention", config)
        yield from _cross_attention(weights, name, prefix, config)
        yield from _feed_forward(weights, name, prefix)
    yield "encoder/embeddings_0/weight", weights["source_embedding.tokens.weight"]
    if config.tied != "all":
        yield "decoder/embeddings/weight", weights["target_embedding.tokens.weight"]
    if config.tied == "none":
        yield "decoder/projection/weight", weights["output.weight"]


def _tied_aliases(config: ModelConfig, weight_format: WeightFormat) -> dict[str, str]:
    """Return the aliases of tied matrices (section 3.4)."""
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
    kinds = ("weight", "weight_scale") if weight_format == "int8" else ("weight",)
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
    weights: WeightArrays, name: str, prefix: str, residual: str, config: ModelConfig
) -> NamedArrays:
    """Yield self-attention weights, with query, key and value fused into one matrix."""
    name, attention = f"{name}/self_attention", f"{prefix}.self_attention"
    yield from _norm(weights, f"{name}/layer_norm", f"{prefix}.{residual}.norm")
    yield from _linear(weights, f"{name}/linear_0", *(f"{attention}.{x}" for x in ("query", "key", "value")))
    yield from _linear(weights, f"{name}/linear_1", f"{attention}.output")
    yield from _heads(name, config)


def _cross_attention(weights: WeightArrays, name: str, prefix: str, config: ModelConfig) -> NamedArrays:
    name, attention = f"{name}/attention", f"{prefix}.cross_attention"
    yield from _norm(weights, f"{name}/layer_norm", f"{prefix}.around_cross_attention.norm")
    yield from _linear(weights, f"{name}/linear_0", f"{attention}.query")
    yield from _linear(weights, f"{name}/linear_1", f"{attention}.key", f"{attention}.value")
    yield from _linear(weights, f"{name}/linear_2", f"{attention}.output")
    yield from _heads(name, config)


def _heads(name: str, config: ModelConfig) -> NamedArrays:
    """Yield head width and attention scale where they are not the default."""
    if config.d_k is not None:
        yield f"{name}/head_dim", np.array(config.d_k, np.int32)
    if config.attention_scale is not None:
        yield f"{name}/queries_scale", np.array(config.attention_scale, np.float32)


def _feed_forward(weights: WeightArrays, name: str, prefix: str) -> NamedArrays:
    yield from _norm(weights, f"{name}/ffn/layer_norm", f"{prefix}.around_feed_forward.norm")
    yield from _linear(weights, f"{name}/ffn/linear_0", f"{prefix}.feed_forward.inner")
    yield from _linear(weights, f"{name}/ffn/linear_1", f"{prefix}.feed_forward.outer")


def _linear(weights: WeightArrays, name: str, *parts: str) -> NamedArrays:
    for kind in ("weight", "bias"):
        yield f"{name}/{kind}", np.concatenate([weights[f"{part}.{kind}"] for part in parts])


def _norm(weights: WeightArrays, name: str, prefix: str) -> NamedArrays:
    yield f"{name}/gamma", weights[f"{prefix}.weight"]
    yield f"{name}/beta", weights[f"{prefix}.bias"]


def _quantized(named: WeightArrays) -> NamedArrays:
    """Yield matrices in int8 with one scale per row, and the other arrays unchanged."""
    for name, value in named.items():
        if not name.endswith("/weight"):
            yield name, value
            continue
        largest = np.abs(value).max(axis=1)
        scale = (127 / np.where(largest == 0, 127, largest)).astype(np.float32)
        yield name, np.rint(value * scale[:, None]).astype(np.int8)
        yield f"{name}_scale", scale


BINARY_VERSION = 6
"""The version of the file format; newer CTranslate2 releases still read it."""
SPEC_NAME, SPEC_REVISION = "TransformerSpec", 7
"""The set of array names that CTranslate2 expects."""
DTYPE_CODES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3}


def write_ctranslate2_binary(
    path: Path, arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]
) -> None:
    """Write arrays by name, then `aliases`: further names of arrays already written."""
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

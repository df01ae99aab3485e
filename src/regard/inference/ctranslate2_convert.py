"""Conversion of model weights to a CTranslate2 folder, cached beside the model; no torch.

CTranslate2's own converter would do, but it imports torch wherever torch is installed, which alone takes
longer than a first translation should.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Literal, TypeVar, assert_never

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load_file

from regard.checkpoint import WEIGHTS_FILE, read_manifest, remove_folder_atomically, verify_file
from regard.data.cache import DiskCache
from regard.errors import CheckpointError, RegardError
from regard.inference.ctranslate2_binary import check_ctranslate2_binary, write_ctranslate2_binary
from regard.model.config import ModelConfig
from regard.model.weight_shapes import transformer_weight_shapes
from regard.safetensors_file import check_weight_specs
from regard.strict_json import read_bytes_within
from regard.text.tokenizer import BOS, EOS, PAD

WeightFormat = Literal["int8", "fp32"]
WeightArrays = Mapping[str, np.ndarray]
NamedArrays = Iterator[tuple[str, np.ndarray]]
LoadedT = TypeVar("LoadedT")

CONVERSION_FOLDER = ".ctranslate2"
"""The cache inside a model folder; the manifest does not list it, so the folder stays valid."""
CONVERTER_VERSION = 1
"""Part of the cache key: a conversion by another version is repeated."""
BINARY_FILE = "model.bin"
POSITION_TABLES = ("source_embedding.positions.table", "target_embedding.positions.table")
ACTIVATION_CODES = {"relu": 0, "gelu": 3}


def load_conversion(
    model: Path,
    config: ModelConfig,
    weight_format: WeightFormat,
    load: Callable[[Path], LoadedT],
    manifest: Mapping[str, Any] | None = None,
) -> LoadedT:
    """Load the CTranslate2 folder of a model with `load`, converting the model if needed.

    The SHA-256 of the conversion is verified while it is loaded. A damaged one is made again.
    """
    folder = cached_conversion(model, config, weight_format, manifest)
    errors: list[CheckpointError] = []
    hashing = Thread(target=_collect_damage, args=(folder, errors))
    hashing.start()
    loaded = load(folder)
    hashing.join()
    if not errors:
        return loaded
    _report_damage(errors[0])
    remove_folder_atomically(folder)
    return load(cached_conversion(model, config, weight_format, manifest))


def cached_conversion(
    model: Path,
    config: ModelConfig,
    weight_format: WeightFormat,
    manifest: Mapping[str, Any] | None = None,
) -> Path:
    """Return the CTranslate2 folder of a model, converted if needed.

    It is cached inside the model folder, or in the user's cache folder if that is read-only or a link leads
    out of it. The cache key contains the hash of the weights, so changed weights are converted again.
    `manifest` is that of the folder if the caller has read it already.
    """
    checked = read_manifest(model, size_only=[WEIGHTS_FILE]) if manifest is None else manifest
    made_from = {
        "weights": checked["files"][WEIGHTS_FILE]["sha256"],
        "config": repr(config),
        "stored": weight_format,
        "version": CONVERTER_VERSION,
    }

    def fill(folder: Path) -> dict[str, object]:
        check_weight_specs(model / WEIGHTS_FILE, transformer_weight_shapes(config))
        verify_file(model, checked, WEIGHTS_FILE)
        write_ctranslate2_model(folder, _read_weights(model / WEIGHTS_FILE), config, weight_format)
        return {"made_from": made_from}

    def check(folder: Path) -> None:
        check_ctranslate2_model(folder, config, weight_format)

    try:
        if not _has_link(model / CONVERSION_FOLDER, weight_format):
            cache = DiskCache(str(model / CONVERSION_FOLDER), _report_message)
            return cache.get_or_create(weight_format, made_from, fill, check)[0]
    except RegardError as error:
        if not isinstance(error.__context__, OSError):
            raise
    return DiskCache(None, _report_message).get_or_create("ctranslate2", made_from, fill, check)[0]


def write_ctranslate2_model(
    folder: Path, weights: WeightArrays, config: ModelConfig, weight_format: WeightFormat
) -> None:
    """Write the three files of a CTranslate2 model; its vocabulary is our token ids as strings."""
    arrays = dict(_ctranslate2_arrays(_with_position_tables(weights, config), config))
    write_ctranslate2_binary(
        folder / BINARY_FILE,
        dict(_quantized(arrays)) if weight_format == "int8" else arrays,
        _tied_aliases(config, weight_format),
    )
    for name, content in _text_files(config).items():
        (folder / name).write_bytes(content)


def check_ctranslate2_model(folder: Path, config: ModelConfig, weight_format: WeightFormat) -> None:
    """Refuse a conversion that differs from ours in more than the values of matrices."""
    try:
        for name, content in _text_files(config).items():
            if read_bytes_within(folder / name, len(content)) != content:
                raise CheckpointError(f"{folder / name} is damaged: it is not what was written")
        arrays = dict(_ctranslate2_arrays(_zero_weights(config), config))
        check_ctranslate2_binary(
            folder / BINARY_FILE,
            dict(_quantized(arrays)) if weight_format == "int8" else arrays,
            _tied_aliases(config, weight_format),
        )
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} is damaged: {error}") from None


def _collect_damage(folder: Path, errors: list[CheckpointError]) -> None:
    """Append the error of the first file of a folder that is not what was written."""
    try:
        read_manifest(folder)
    except CheckpointError as error:
        errors.append(error)
    except OSError as error:
        errors.append(CheckpointError(f"{folder} cannot be read: {error.strerror}"))


def _report_damage(error: CheckpointError) -> None:
    """Say in one line that a conversion is damaged and made again."""
    _report_message(f"{str(error).partition(';')[0]}; it is created again")


def _report_message(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{message}\n")


def _has_link(root: Path, weight_format: WeightFormat) -> bool:
    """Return whether a link is where conversions are written: they would be written elsewhere."""
    if root.is_symlink() or (root / weight_format).is_symlink():
        return True
    return any(path.is_symlink() for path in (root / weight_format).glob("*"))


def _text_files(config: ModelConfig) -> dict[str, bytes]:
    """Return the contents of the two small files."""
    vocabulary = [str(id) for id in range(config.vocab_size)]
    settings = {
        "bos_token": vocabulary[BOS],
        "decoder_start_token": vocabulary[BOS],
        "eos_token": vocabulary[EOS],
        "unk_token": vocabulary[PAD],  # there is no unknown token, but the format requires one
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": config.norm_epsilon,
    }
    return {
        "shared_vocabulary.json": json.dumps(vocabulary).encode(),
        "config.json": json.dumps(settings).encode(),
    }


def _zero_weights(config: ModelConfig) -> WeightArrays:
    """Return weights of the right shapes that take no memory."""
    zeros = {name: np.broadcast_to(np.float32(0), shape) for name, shape in transformer_weight_shapes(config)}
    table = np.broadcast_to(np.float32(0), (config.max_length, config.d_model))
    return {**zeros, **dict.fromkeys(POSITION_TABLES, table)}


def _with_position_tables(weights: WeightArrays, config: ModelConfig) -> WeightArrays:
    """Return the weights and the position tables, which are among them only if they are learned."""
    if config.position == "learned":
        return weights
    table = position_table_array(config)
    return {**weights, **dict.fromkeys(POSITION_TABLES, table)}


def _concatenate(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate along the first axis; zeros without memory stay without memory."""
    if any(any(part.strides) for part in parts):
        return np.concatenate(parts)
    return np.broadcast_to(parts[0].dtype.type(0), (sum(map(len, parts)), *parts[0].shape[1:]))


def position_table_array(config: ModelConfig) -> Float[np.ndarray, "length d_model"]:
    """Return the position table of `config.position` with NumPy, equal to that of model/position.py."""
    length, channels = config.max_length, config.d_model
    position = np.arange(length, dtype=np.float64)[:, None]
    angle = position / 10_000 ** (np.arange(0, channels, 2) / channels)
    match config.position:
        case "paper":
            pairs = [np.sin(angle).astype(np.float32), np.cos(angle).astype(np.float32)]  # half the memory
            table = np.stack(pairs, axis=2).reshape(length, -1)[:, :channels]
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
    """Return the weights; all values must be finite."""
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    for name, weight in weights.items():
        if not np.isfinite([weight.min(), weight.max()]).all():
            raise CheckpointError(f"{path} cannot be used: {name} has values that are not finite")
    return weights


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
    yield f"{side}/position_encodings/encodings", weights[f"{embedding}.positions.table"]
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
        yield f"{name}/{kind}", _concatenate([weights[f"{part}.{kind}"] for part in parts])


def _norm(weights: WeightArrays, name: str, prefix: str) -> NamedArrays:
    yield f"{name}/gamma", weights[f"{prefix}.weight"]
    yield f"{name}/beta", weights[f"{prefix}.bias"]


def _quantized(named: WeightArrays) -> NamedArrays:
    """Yield matrices in int8 with one scale per row, and the other arrays unchanged."""
    for name, value in named.items():
        if not name.endswith("/weight"):
            yield name, value
            continue
        if not any(value.strides):  # zeros without memory
            yield name, np.broadcast_to(np.int8(0), value.shape)
            yield f"{name}_scale", np.broadcast_to(np.float32(0), value.shape[:1])
            continue
        largest = np.abs(value).max(axis=1)
        scale = (127 / np.where(largest == 0, 127, largest)).astype(np.float32)
        yield name, np.rint(value * scale[:, None]).astype(np.int8)
        yield f"{name}_scale", scale

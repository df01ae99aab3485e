"""Random mutations of model folders, whose manifest is then written again so that all hashes fit."""

import hashlib
import json
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from regard.checkpoint import CONFIG_FILE, MANIFEST_FILE, WEIGHTS_FILE, file_sha256
from regard.strict_json import seal_json

RAW = "@RAW@"
"""Marks a text that is written as it is, instead of a JSON value."""
HOSTILE_NUMBERS = (
    -1,
    0,
    1,
    2,
    3,
    255,
    2**31 - 1,
    2**31,
    2**48,
    2**63,
    2**64,
    10**20,
    -(2**63),
    0.5,
    1e308,
    5e-324,
)
HOSTILE_TEXTS = (
    "",
    "none",
    "../../etc/passwd",
    "/dev/zero",
    "\0",
    "\x1b[31m",
    "\u202e",
    "e\u0301" * 50,
    "x" * 10**6,
)
HOSTILE_RAW = (
    "NaN",
    "-Infinity",
    "1" + "0" * 400,
    "1" * 5000,
    "1e999",
    '"\\ud800"',
    "[" * 10**5,
    '{"a":' * 10**5,
)
HOSTILE_PARTS = (
    {"type": "Replace", "pattern": {"Regex": "(a*)*$"}, "content": "b"},
    {"type": "Replace", "pattern": {"String": ""}, "content": "aaaaaaaa"},
    {"type": "Replace", "pattern": {"Regex": "("}, "content": ""},
    {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"},
    {"type": "Prepend", "prepend": "x" * 10**6},
    {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "ab"}] * 50},
    {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}] * 50},
    {"type": "Split", "pattern": {"Regex": "(?:)"}, "behavior": "Isolated", "invert": False},
    {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
    {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0},
    {"strategy": {"Fixed": 10**12}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"},
    [{"id": 0, "content": "the", "special": True, "normalized": True, "lstrip": True, "rstrip": True}],
)
HOSTILE_TOML = (
    *("-1", "0", "1", "3", "17", "1000", "100000", "1000000", "20000000", "1" + "0" * 30, "1" * 5000),
    *("nan", "inf", "-inf", "1e308", "1e-320", "0.0", "1.0", "true", "1979-05-27", '""', '"none"', '"auto"'),
    *(
        "[]",
        "{}",
        "[1, 2]",
        "[" * 10**5,
        "[0" + ", 0" * 90_000 + "]",
        "{a = " * 10**5,
        '"' + "x" * 200_000 + '"',
    ),
    *('"literal"', '"learned"', '"gelu"', '"paper"', '"pre"', "[0.1, 0.9]", "[0.5]", "[-1, nan]"),
)
HEADER_NUMBERS = (
    -1,
    0,
    1,
    4,
    8,
    2**31,
    2**40,
    2**47,
    2**63,
    2**64 - 1,
    10**30,
    1.5,
    float("nan"),
    "16",
    None,
    [1],
)

Mutation = Callable[[Path, Random], str]
"""Changes a folder and returns what it did."""


def mutate_model(folder: Path, random: Random) -> str:
    """Change one or two things of a model folder; return a description."""
    kinds = [_mutate_settings, _mutate_json, _mutate_header, _mutate_weights, _mutate_file, _mutate_manifest]
    weights = (4, 5, 5, 2, 2, 2)
    chosen = random.choices(kinds, weights, k=random.choice((1, 1, 1, 2)))
    if chosen[-1] is _mutate_manifest:  # which cannot be read again after a change
        del chosen[:-1]
    chosen.sort(key=kinds.index)  # a file that is replaced as a whole cannot be changed afterwards
    done = [mutate(folder, random) for mutate in chosen if mutate is not _mutate_manifest]
    reseal_manifest(folder)
    done += [mutate(folder, random) for mutate in chosen[:1] if mutate is _mutate_manifest]
    return "; ".join(done)


def reseal_manifest(folder: Path) -> None:
    """Write sizes and hashes of the files as they are now, and a seal that fits."""
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_bytes())
    for name in manifest["files"]:
        with suppress(OSError):  # a device, or nothing
            if (folder / name).is_file():
                size = (folder / name).stat().st_size
                sha256 = file_sha256(folder / name) if size else hashlib.sha256(b"").hexdigest()
                manifest["files"][name] = {"bytes": size, "sha256": sha256}
    del manifest["seal"]
    path.write_text(seal_json(manifest))


def _mutate_settings(folder: Path, random: Random) -> str:
    """Change a value of config.toml, most often one of the model."""
    path = folder / CONFIG_FILE
    lines = path.read_text(errors="replace").split("\n")
    model = lines.index("[model]") if "[model]" in lines else 0
    keys = [
        number
        for number, line in enumerate(lines)
        if " = " in line and (number > model or random.random() < 0.2)
    ]
    keys = [number for number in keys if number < model + 24 or random.random() < 0.1] or [0]
    number, value = random.choice(keys), random.choice(HOSTILE_TOML)
    key = lines[number].partition(" = ")[0]
    match random.randrange(8):
        case 0:
            del lines[number]
        case 1:
            lines.insert(number, lines[number])
        case 2:
            value = random.choice(
                ("a." * 50_000 + "a = 1", "[" + "a." * 50_000 + "a]", "\0", "= =", "x" * 300_000)
            )
            lines.insert(number, value)
        case _:
            lines[number] = f"{key} = {value}"
    path.write_text("\n".join(lines))
    return f"{CONFIG_FILE}: {key} = {value[:30]!a}"


def _mutate_json(folder: Path, random: Random) -> str:
    """Change a value of a JSON file."""
    path = random.choice([path for path in folder.glob("*.json") if path.name != MANIFEST_FILE])
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return f"{path.name}: no JSON any more"
    document, description = _mutate_value(document, random)
    path.write_text(_dumps(document))
    return f"{path.name}: {description}"


def _mutate_manifest(folder: Path, random: Random) -> str:
    """Change a value of the manifest, and seal it where that can be done."""
    manifest = json.loads((folder / MANIFEST_FILE).read_bytes())
    del manifest["seal"]
    manifest, description = _mutate_value(manifest, random)
    try:
        text = seal_json(manifest) if RAW not in json.dumps(manifest) else _dumps(manifest)
    except (TypeError, ValueError):
        text = _dumps(manifest)
    (folder / MANIFEST_FILE).write_text(text, errors="backslashreplace")
    return f"{MANIFEST_FILE}: {description}"


def _mutate_value(document: Any, random: Random) -> tuple[Any, str]:
    """Return a document with a value somewhere in it replaced, removed or added."""
    place, way = document, []
    while isinstance(place, dict | list) and place and (not way or random.random() < 0.75):
        parent = place
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = random.choice(list(keys))
        way.append(str(key)[:20])
        place = parent[key]
    if not way or random.random() < 0.03:
        return (value := _hostile_value(random)), f"all {str(value)[:30]!a}"
    match random.randrange(6):
        case 0:
            del parent[key]
            return document, f"no {'.'.join(way)}"
        case 1 if isinstance(parent, dict):
            parent[f"{RAW}{key}"] = place
            return document, f"{'.'.join(way)} twice"
        case 1 | 2 if isinstance(parent, list):
            parent.extend([place] * random.choice((1, 1000, 100_000)))
            return document, f"{'.'.join(way)} many times"
        case _:
            parent[key] = value = _hostile_value(random)
            return document, f"{'.'.join(way)} = {str(value)[:30]!a}"


def _hostile_value(random: Random) -> Any:
    groups = (
        HOSTILE_NUMBERS,
        HOSTILE_TEXTS,
        [RAW + text for text in HOSTILE_RAW],
        HOSTILE_PARTS,
        (None, True, False, [], {}, [[]], [None] * 10**5, {str(number): number for number in range(10**5)}),
    )
    return random.choice(random.choice(groups))


def _dumps(document: Any) -> str:
    """Return JSON with the marked texts as they are, and the marked keys twice."""
    text = json.dumps(document)
    for raw in HOSTILE_RAW:
        text = text.replace(json.dumps(RAW + raw), raw)
    return text.replace(RAW, "")


def _mutate_header(folder: Path, random: Random) -> str:  # noqa: PLR0912
    """Change the header of the weights."""
    path = folder / WEIGHTS_FILE
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    try:
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    except (ValueError, RecursionError):
        return f"{WEIGHTS_FILE}: no header any more"
    name = random.choice([name for name in header if name != "__metadata__"])
    entry = header[name]
    text = None
    match random.randrange(14):
        case 0:
            done, _ = "removed", header.pop(name)
        case 1:
            done = "renamed"
            header[random.choice((name + "x", "", "a" * 10**5, "__metadata__", "../x"))] = header.pop(name)
        case 2:
            done, entry["dtype"] = (
                "dtype",
                random.choice(("F64", "F16", "BF16", "I8", "U8", "BOOL", "F8_E4M3", "X", 3, None)),
            )
        case 3 | 4:
            done = "shape"
            entry["shape"] = random.choice(
                ([], [2**24, 2**24], [2**40], [0], [1] * 10**4, entry["shape"][::-1], {}, None)
            )
        case 5 | 6:
            done, side = "shape value", random.randrange(len(entry["shape"]))
            entry["shape"][side] = random.choice(HEADER_NUMBERS)
        case 7 | 8:
            done, entry["data_offsets"][random.randrange(2)] = "offset", random.choice(HEADER_NUMBERS)
        case 9:
            done, other = "overlap", random.choice(list(header))
            entry["data_offsets"] = header[other].get("data_offsets", [0, 0])
        case 10:
            done = "100,000 tensors"
            shape = random.choice(([0], [1]))
            end = len(data)
            for number in range(100_000):
                size = 4 * shape[0]
                header[f"t{number}"] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
                end += size
            data += bytes(end - len(data))
        case 11:
            done, text = "twice", json.dumps(header)[:-1] + f', "{name}": {json.dumps(entry)}}}'
        case 12:
            done = "deep or odd"
            odd = random.choice(
                ("[" * 10**5, '{"a":' * 10**5, "NaN", "[]", "1", '"x"', "{", "\0", '{"a": NaN}')
            )
            text = random.choice((odd, json.dumps({**header, "__metadata__": "@"}).replace('"@"', odd)))
        case _:
            done, header = "metadata", {**header, "__metadata__": _hostile_value(random)}
    encoded = (_dumps(header) if text is None else text).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    return f"{WEIGHTS_FILE}: {done} of {name}"


def _mutate_weights(folder: Path, random: Random) -> str:
    """Change the data of the weights, or the length of their header."""
    path = folder / WEIGHTS_FILE
    content = bytearray(path.read_bytes())
    length = int.from_bytes(content[:8], "little")
    match random.randrange(6):
        case 0:
            value = random.choice((0, 1, 7, length - 1, length + 1, len(content), 2**32, 2**63, 2**64 - 1))
            content[:8], done = struct.pack("<Q", value), f"header of {value} bytes"
        case 1:
            del content[random.randrange(len(content)) :]
            done = "cut off"
        case 2:
            content, done = content + bytes(random.choice((1, 4, 10**6))), "longer"
        case _:
            value = random.choice((float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-45, 1e19))
            every, done = random.choice((1, 7, 10**9)), f"{value} in the weights"
            first = 8 + length + 4 * random.randrange(max(1, (len(content) - 8 - length) // 4))
            for place in range(first, len(content) - 3, 4 * every):
                content[place : place + 4] = struct.pack("<f", value)
    path.write_bytes(content)
    return f"{WEIGHTS_FILE}: {done}"


def _mutate_file(folder: Path, random: Random) -> str:
    """Replace a whole file by something else."""
    path = random.choice([path for path in folder.iterdir() if path.is_file() and not path.is_symlink()])
    content = path.read_bytes()
    if path.name == MANIFEST_FILE:
        return "nothing"
    path.unlink()
    done = random.choice(
        ("removed", "empty", "link", "loop", "device", "pipe", "folder", "noise", "flip", "text")
    )
    match done:
        case "empty":
            path.write_bytes(b"")
        case "link":
            path.symlink_to(random.choice(("/etc/passwd", "/proc/self/mem", "/proc/kmsg", "no such file")))
        case "loop":
            path.symlink_to(path.name)
        case "device":
            path.symlink_to(random.choice(("/dev/zero", "/dev/stdin", "/dev/null", "/dev/random")))
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "noise":
            path.write_bytes(random.randbytes(random.choice((1, 1000, 10**6))))
        case "flip":
            noisy = bytearray(content or b"x")
            for _ in range(random.choice((1, 10))):
                noisy[random.randrange(len(noisy))] ^= 1 << random.randrange(8)
            path.write_bytes(noisy)
        case "text":
            path.write_text(
                random.choice(("null", "[]", "{}", "0", "\ufeff{}", "[" * 10**6, "[" + "0," * 10**6 + "0]"))
            )
    return f"{path.name}: {done}"


def mutate_conversion(folder: Path, random: Random) -> str:
    """Change the cached CTranslate2 conversion of a model; sizes and times stay the same if possible."""
    [conversion] = [path.parent for path in folder.glob(".ctranslate2/*/*/model.bin")]
    path = conversion / random.choice(("model.bin", "model.bin", "config.json", "shared_vocabulary.json"))
    times, content = path.stat(), bytearray(path.read_bytes())
    match random.randrange(6):
        case 0:
            del content[random.randrange(len(content)) :]
            done = "cut off"
        case 1:
            content, done = content + bytes(1000), "longer"
        case 2:
            place, done = random.randrange(len(content) - 4), "a number"
            content[place : place + 4] = struct.pack("<I", random.choice((0, 1, 2**31, 2**32 - 1)))
        case _:
            done = "bits flipped"
            for _ in range(random.choice((1, 1, 100))):
                content[random.randrange(min(len(content), random.choice((300, 10**9))))] ^= (
                    1 << random.randrange(8)
                )
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if random.random() < 0.5:
        done += ", sealed again"
        reseal_manifest(conversion)
    return f"{path.name}: {done}"

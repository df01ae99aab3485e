"""A tokenizer file from a stranger: vocabulary and merges are checked, and nothing else may differ."""

import json

import pytest

from regard.errors import CheckpointError
from regard.text.tokenizer import learn_tokenizer, learn_word_tokenizer
from regard.text.tokenizer_file import load_tokenizer

TEXTS = ["Jane visits Africa in September.", "Jane visite l'Afrique en septembre.", "été 12"] * 20
TOKENIZERS = {
    (kind, lowercase): learn(TEXTS, 400, lowercase)
    for kind, learn in (("bpe", learn_tokenizer), ("words", learn_word_tokenizer))
    for lowercase in (False, True)
}


def write_changed(path, change, kind="bpe"):
    document = json.loads(TOKENIZERS[kind, False].to_json())
    change(document)
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(("kind", "lowercase"), TOKENIZERS)
def test_a_written_tokenizer_is_read_back_unchanged(tmp_path, kind, lowercase):
    tokenizer = TOKENIZERS[kind, lowercase]
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.lowercase == lowercase
    assert loaded.tokenize(TEXTS) == tokenizer.tokenize(TEXTS)


REPLACE_BOMB = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10_000}
HOSTILE = {
    "a normalizer that repeats text": (
        lambda d: d.update(normalizer={"type": "Sequence", "normalizers": [REPLACE_BOMB] * 4}),
        "normalizer.normalizers",
    ),
    "no normalizer": (lambda d: d.update(normalizer=None), "normalizer"),
    "a regular expression": (
        lambda d: d["pre_tokenizer"]["pattern"].update(Regex="(a*)*b"),
        "pre_tokenizer.pattern.Regex",
    ),
    "an invalid character map": (
        lambda d: d.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        "normalizer.type",
    ),
    "padding": (
        lambda d: d.update(
            padding={
                "strategy": {"Fixed": 10**12},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "<pad>",
            }
        ),
        "padding",
    ),
    "truncation": (
        lambda d: d.update(
            truncation={"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0}
        ),
        "truncation",
    ),
    "added tokens": (lambda d: d.update(added_tokens=[{"id": 5, "content": "a"}]), "added_tokens"),
    "a post-processor": (lambda d: d.update(post_processor={"type": "ByteLevel"}), "post_processor"),
    "another decoder": (lambda d: d["decoder"]["decoders"].pop(), "decoder.decoders"),
    "no byte fallback": (lambda d: d["model"].update(byte_fallback=False), "model.byte_fallback"),
    "dropout": (lambda d: d["model"].update(dropout=0.5), "model.dropout"),
    "an unknown setting": (lambda d: d["model"].update(script="rm"), "model.script"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_regard_does_not_write_is_refused_and_named(tmp_path, name):
    change, key = HOSTILE[name]
    path = write_changed(tmp_path / "tokenizer.json", change)
    with pytest.raises(CheckpointError, match=f"its {key} is not what regard writes"):
        load_tokenizer(path)


def test_empty_settings_of_other_versions_of_the_library_make_no_difference(tmp_path):
    def change(document):
        del document["model"]["ignore_merges"], document["truncation"]
        document["model"]["new_setting"] = None

    loaded = load_tokenizer(write_changed(tmp_path / "tokenizer.json", change))
    assert loaded.fingerprint == TOKENIZERS["bpe", False].fingerprint


def replaced(tokens, old, new):
    return {(new if token == old else token): id for token, id in tokens.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["vocab"].update({" Jane": 7}), "each once"),
        (lambda m: m["vocab"].update({" new": 10**9}), "each once"),
        (lambda m: m["vocab"].update({" new": -1}), "each once"),
        (lambda m: m["vocab"].update({" new": len(m["vocab"]) + 0.0}), "each once"),
        (lambda m: m.update(vocab=replaced(m["vocab"], "</s>", "x")), "special tokens and the bytes"),
        (lambda m: m.update(vocab=replaced(m["vocab"], "<0x41>", "x")), "special tokens and the bytes"),
        (lambda m: m.update(vocab={}), "special tokens and the bytes"),
        (lambda m: m.update(vocab=[1]), "vocabulary must have"),
        (lambda m: m["vocab"].update({"x" * 5000: len(m["vocab"])}), "from 1 to 4,096 characters"),
        (lambda m: m["vocab"].update({"": len(m["vocab"])}), "from 1 to 4,096 characters"),
        (lambda m: m["vocab"].update({"\ud800": len(m["vocab"])}), "surrogates not allowed"),
        (lambda m: m.update(merges=None), "must be a list"),
        (lambda m: m["merges"].append(["a"]), "must be two tokens"),
        (lambda m: m["merges"].append("a b"), "must be two tokens"),
        (lambda m: m["merges"].append(["Q", "X"]), "not in the vocabulary"),
        (lambda m: m["merges"].append(m["merges"][0]), "a merge twice"),
        (lambda m: m.update(type="Unigram"), "BPE or WordLevel"),
    ],
)
def test_an_invalid_vocabulary_or_merge_is_refused(tmp_path, change, message):
    path = write_changed(tmp_path / "tokenizer.json", lambda document: change(document["model"]))
    with pytest.raises(CheckpointError, match=message):
        load_tokenizer(path)


def test_a_word_vocabulary_needs_the_token_of_unknown_words(tmp_path):
    def change(document):
        document["model"]["vocab"] = replaced(document["model"]["vocab"], " <unk>", "x")

    with pytest.raises(CheckpointError, match="must begin with"):
        load_tokenizer(write_changed(tmp_path / "tokenizer.json", change, "words"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"model": {}, "model": {}}', "the key 'model' twice"),
        (" " * (24 * 2**20 + 1), "more than"),
        ("[" + "0," * 1_600_000 + "0]", "values"),
        ('{"model": NaN}', "NaN is not a finite number"),
    ],
    ids=["depth", "key", "size", "values", "nan"],
)
def test_json_without_end_is_refused(tmp_path, content, message):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(CheckpointError, match=message):
        load_tokenizer(tmp_path / "tokenizer.json")

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from regard.checkpoint import file_sha256
from regard.corpus import prepare as prepare_module
from regard.corpus.prepare import write_data_report
from regard.data.config import DataConfig
from regard.errors import ConfigError, DataError
from regard.text.corpus_files import FileLines
from regard.text.tokenizer import BASE_VOCAB_SIZE
from regard.translation.corpus import prepare_pair_corpora

QUIET = Console(quiet=True)
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
PAIRS = [(f"{a} and {b}", f"{WORDS[a]} {WORDS[b]}") for a in range(10) for b in range(6)]


def write(path: Path, lines) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path) -> DataConfig:
    """Sixty sums in figures and in letters."""
    source, target = (
        write(tmp_path / name, side) for name, side in zip("st", zip(*PAIRS, strict=True), strict=True)
    )
    return DataConfig((source,), (target,))


def prepare(data, vocab_size=300, max_length=50, seed=5, console=QUIET):
    return prepare_pair_corpora(data, vocab_size, max_length, seed, console)


def texts(corpora, side="source"):
    ids = getattr(corpora.train, side)
    return corpora.tokenizer.detokenize([ids[i].tolist() for i in range(len(ids))])


def test_a_part_is_held_out_and_no_sentence_of_it_is_learned_from(files):
    corpora = prepare(files)
    assert (len(corpora.train), len(corpora.valid_texts), corpora.held_out) == (54, 6, True)
    held = set(corpora.valid_texts)
    assert set(zip(texts(corpora), texts(corpora, "target"), strict=True)) == set(PAIRS) - held
    assert prepare(files, seed=6).valid_texts == corpora.valid_texts
    assert prepare(replace(files, split_seed=6)).valid_texts != corpora.valid_texts


def test_the_second_preparation_comes_from_the_cache(files, monkeypatch):
    first = prepare(files)

    def fail(*_, **__):
        raise AssertionError

    for function in ("corpus.prepare.learn_tokenizer", "corpus.prepare.write_token_ids"):
        monkeypatch.setattr(f"regard.{function}", fail)
    monkeypatch.setattr("regard.translation.corpus.check_pair_corpus", fail)
    again = prepare(files)
    assert (texts(again), again.valid_texts, again.report) == (texts(first), first.valid_texts, first.report)
    assert isinstance(again.train.source.flat.base, np.memmap)


def test_a_changed_setting_or_byte_is_noticed(files, tmp_path):
    first = prepare(files, max_length=50)
    assert len(prepare(files, max_length=6).train) < len(first.train)
    assert prepare(files, vocab_size=280).tokenizer.vocab_size < first.tokenizer.vocab_size
    write(tmp_path / "t", [b.upper() for _, b in PAIRS])
    assert (
        "ONE ONE" in texts(prepare(files), "target") or ("1 and 1", "ONE ONE") in prepare(files).valid_texts
    )


def test_damaged_cache_files_are_reported_and_created_again(files, tmp_path, capsys):
    data = replace(files, cache=str(tmp_path / "cache"))
    first = texts(prepare(data))
    for name in ("source.ids", "lines", "keep", "tokenizer.json"):
        [path] = (tmp_path / "cache").rglob(name)
        path.write_bytes(path.read_bytes()[:-1])
        assert texts(prepare(data, console=Console(soft_wrap=True))) == first
        assert f"{name} is not what was written" in capsys.readouterr().out


def test_files_that_change_while_they_are_read_are_rejected_and_not_cached(files, tmp_path, monkeypatch):
    def changing(*arguments):
        write(tmp_path / "t", ["other text"] * 60)
        return real(*arguments)

    real = prepare_module.write_token_ids
    monkeypatch.setattr(prepare_module, "write_token_ids", changing)
    data = replace(files, cache=str(tmp_path / "cache"))
    with pytest.raises(DataError, match="t changed while it was read; start again"):
        prepare(data)
    assert list((tmp_path / "cache" / "ids").iterdir()) == []


def test_a_tokenizer_that_is_given_is_used(files):
    tokenizer = prepare(files, vocab_size=280).tokenizer
    corpora = prepare_pair_corpora(files, 999, 50, 5, QUIET, tokenizer)
    assert corpora.tokenizer is tokenizer
    assert corpora.train.source.flat.max() < 280


def test_several_corpora_and_shapes_of_files_are_one(tmp_path):
    two = write(tmp_path / "a", [a for a, _ in PAIRS[:20]]), write(tmp_path / "b", [b for _, b in PAIRS[:20]])
    tsv = tmp_path / "c.tsv.gz"
    tsv.write_bytes(gzip.compress("".join(f"{a}\t{b}\n" for a, b in PAIRS[20:40]).encode()))
    rows = [json.dumps({"source": a, "target": b}) for a, b in PAIRS[40:]]
    jsonl = write(tmp_path / "d.jsonl", rows)
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    data = DataConfig(
        (two[0],), (two[1],), pairs=(str(tsv), jsonl), weights=(1.0, 2.5, 0.5), valid_pairs=valid
    )
    corpora = prepare(data)
    assert list(zip(texts(corpora), texts(corpora, "target"), strict=True)) == PAIRS
    assert corpora.train.epoch_size == 20 + 50 + 10
    assert any(
        "an epoch has 80 pairs: the corpora have the weights 1, 2.5, 0.5" in line
        for line in corpora.describe()
    )
    assert corpora.fingerprint == {path: file_sha256(Path(path)) for path in (*two, str(tsv), jsonl)}
    assert corpora.valid_fingerprint == {valid: file_sha256(Path(valid))}


def test_validation_files_are_used_unfiltered(files, tmp_path):
    """Even pairs that are excluded from training: a published test set must stay comparable."""
    valid = [("the same text", "the same text"), ("", "nothing"), ("7 and 7", "seven seven")]
    source = write(tmp_path / "vs", [a for a, _ in valid])
    target = write(tmp_path / "vt", [b for _, b in valid])
    corpora = prepare(replace(files, valid_source=source, valid_target=target))
    assert corpora.valid_texts == (valid[0], valid[2])
    assert (len(corpora.train), corpora.held_out) == (60, False)
    assert "        left out of validation: blank side (1)" in list(corpora.describe())


def test_pairs_shared_with_the_validation_files_are_left_out(files, tmp_path):
    valid = write(tmp_path / "v.tsv", ["1 and 1\tuno", "never seen\ttwo two"])
    corpora = prepare(replace(files, valid_pairs=valid))
    assert len(corpora.train) == 58
    assert "        left out of training: shared (2)" in list(corpora.describe())
    with pytest.raises(
        DataError, match=r"s and .*t line 8: shared; in all shared \(2\), and --strict refuses"
    ):
        prepare(replace(files, valid_pairs=valid, strict=True))


def replace_line(files, line, text):
    path = Path(files.target[0])
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines), encoding="utf-8")


def test_bad_pairs_are_excluded_counted_and_listed(files, tmp_path):
    replace_line(files, 7, " ")
    replace_line(files, 9, "one\0two")
    corpora = prepare(files)
    assert len(corpora.train) + len(corpora.valid) == 58
    assert "        left out of training: blank side (1), NUL (1)" in list(corpora.describe())
    write_data_report(tmp_path, corpora)
    document = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    [report] = document["train"]["corpora"]
    assert [(f["kind"], f["lines"]) for f in report["findings"]] == [("blank side", [7]), ("NUL", [9])]
    assert document["train"]["left_out"] == {"blank side": 1, "NUL": 1}
    assert document["files"] == corpora.fingerprint


def read_training_lines(corpora, indexes):
    """Return the text on the lines that the pairs come from."""
    [lines] = corpora.training_lines(np.array(indexes))
    sides = [Path(file).read_text(encoding="utf-8").split("\n") for file in lines.files]
    return [tuple(side[number - 1] for side in sides) for number in lines.numbers]


def test_line_numbers_skip_bad_and_held_out_pairs(files):
    for line in (1, 7, 8, 60):
        replace_line(files, line, "")
    corpora = prepare(files)
    assert len(corpora.train) < 56
    trained = list(zip(texts(corpora), texts(corpora, "target"), strict=True))
    for index, pair in enumerate(trained):
        assert read_training_lines(corpora, [index]) == [pair]
    assert read_training_lines(corpora, [9, 3, 3]) == [trained[3], trained[9]]


def test_lines_of_several_corpora_come_with_their_files(files, tmp_path):
    rows = ["no pair", *[f"{a}, {a}\t{b}, {b}" for a, b in PAIRS[:9]], "no pair", "0 or 1\tzero or one"]
    tsv = write(tmp_path / "more.tsv", rows)
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    replace_line(files, 2, "")
    data = replace(
        files, pairs=(tsv,), weights=(1.0, 3.0), valid_pairs=valid, bpe_dropout=0.2, bpe_variants=3
    )
    corpora = prepare(data)
    indexes = corpora.train.epoch_indexes(1, np.arange(corpora.train.epoch_size))
    two, one = corpora.training_lines(indexes)  # each pair of the second corpus comes three times
    assert two == FileLines((*files.source, *files.target), (1, *range(3, 61)))
    assert one == FileLines((tsv,), (*range(2, 11), 12))
    last = np.array([3 * 59 + 3 * 9 + 2])
    assert corpora.training_lines(last) == [FileLines((tsv,), (12,))]


def test_parts_of_a_split_pair_have_its_line_number(files, tmp_path):
    half = "9 " * 30
    write(tmp_path / "s", ["", f"{half}. {half}.", *[a for a, _ in PAIRS]])
    write(tmp_path / "t", ["", f"{half}! {half}!", *[b for _, b in PAIRS]])
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    corpora = prepare(replace(files, long="split", valid_pairs=valid))
    numbers = [corpora.training_lines(np.array([index]))[0].numbers for index in range(62)]
    assert numbers == [*[(line,) for line in range(3, 63)], (2,), (2,)]  # split pairs come last


def test_strict_rejects_bad_pairs_and_names_the_first(files):
    replace_line(files, 9, "one\0two")
    replace_line(files, 7, "")
    for _ in range(2):  # checked, and from the cache
        with pytest.raises(
            DataError, match=r"line 7: blank side; in all blank side \(1\), NUL \(1\), and --strict"
        ):
            prepare(replace(files, strict=True))


@pytest.mark.parametrize(
    ("policy", "pairs", "message"),
    [
        ("drop", 60, "left out of training: over 49 tokens (2)"),
        ("cut", 62, "cut to 49 tokens: 2 pairs"),
        ("split", 62, "split into sentences: 1 long pairs, into 2"),
    ],
)
def test_the_treatment_of_long_pairs_is_described(files, tmp_path, policy, pairs, message):
    half = "9 " * 30
    write(tmp_path / "s", [*[a for a, _ in PAIRS], f"{half}. {half}.", "8 " * 99])
    write(tmp_path / "t", [*[b for _, b in PAIRS], f"{half}! {half}!", "7 " * 99])
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    corpora = prepare(replace(files, long=policy, valid_pairs=valid))
    assert len(corpora.train) == pairs
    assert any(message in line for line in corpora.describe())
    assert max(corpora.train.source.lengths.max(), corpora.train.target.lengths.max()) <= 49


def test_a_corpus_of_long_pairs_only_is_rejected(files):
    with pytest.raises(DataError, match="every pair is longer than model.max_length = 2"):
        prepare(files, max_length=2)


def test_too_few_different_pairs_are_rejected(tmp_path):
    data = DataConfig((write(tmp_path / "a", "xxxx"),), (write(tmp_path / "b", "yyyy"),))
    with pytest.raises(DataError, match="too few different pairs to hold some out"):
        prepare(data)


def test_the_tokenizer_is_learned_from_the_training_lines_alone(files, tmp_path):
    valid = write(tmp_path / "v.tsv", ["zzzz zzzz zzzz\tzzzz zzzz"] * 50)
    corpora = prepare(replace(files, valid_pairs=valid), vocab_size=400)
    assert len(corpora.tokenizer.tokenize(["zzzz"])[0]) > 3


def test_the_tokenizer_of_a_large_corpus_is_learned_from_a_sample(files, monkeypatch):
    monkeypatch.setattr(prepare_module, "TOKENIZER_SAMPLE_SIZE", 10)
    sampled = []

    def learn(sample, *options):
        sampled.extend(sample)
        return real(sample, *options)

    real = prepare_module.learn_tokenizer
    monkeypatch.setattr(prepare_module, "learn_tokenizer", learn)
    corpora = prepare(files)
    assert "        the tokenizer is learned from 10 of them, evenly spaced" in list(corpora.describe())
    places = [texts(corpora).index(text) for text in sampled[::2]]
    assert len(places) == 10
    assert set(np.diff(places)) <= {5, 6}


def test_the_error_without_training_files_names_the_flags():
    with pytest.raises(ConfigError, match="give --source FILE and --target FILE, or --pairs FILE"):
        prepare(DataConfig())


def test_the_report_has_the_lengths_of_the_sentences(files):
    corpora = prepare(files)
    for side in ("source", "target"):
        lengths = getattr(corpora.train, side).lengths
        bins, counts = corpora.report["lengths"][side].values()
        assert counts == np.histogram(lengths, bins)[0].tolist()
        assert sum(counts) == len(lengths)


def test_the_report_has_the_length_ratio_and_vocabulary_coverage(files):
    corpora = prepare(files)
    source, target = corpora.train.source.flat, corpora.train.target.flat
    assert corpora.report["ratio"] == pytest.approx(len(target) / len(source), abs=1e-4)
    ids, vocabulary = np.concatenate([source, target]), corpora.report["vocabulary"]
    assert vocabulary["size"] == corpora.tokenizer.vocab_size - BASE_VOCAB_SIZE
    assert vocabulary["used"] == len({id for id in ids.tolist() if id >= BASE_VOCAB_SIZE})
    assert vocabulary["byte_share"] == pytest.approx((ids < BASE_VOCAB_SIZE).mean(), abs=1e-6)

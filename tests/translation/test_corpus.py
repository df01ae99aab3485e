import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from regard.checkpoint import file_sha256
from regard.corpus import prepare as prepared_module
from regard.corpus.prepare import write_data_report
from regard.data.config import DataConfig
from regard.errors import ConfigError, DataError
from regard.text.tokenizer import BASE_VOCAB_SIZE
from regard.train.task import FileLines
from regard.translation import corpus as corpora_module
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


def ready(data, vocab_size=300, max_length=50, seed=5, console=QUIET):
    return prepare_pair_corpora(data, vocab_size, max_length, seed, console)


def texts(corpora, side="source"):
    ids = getattr(corpora.train, side)
    return corpora.tokenizer.detokenize([ids[i].tolist() for i in range(len(ids))])


def test_a_part_is_held_out_and_no_sentence_of_it_is_learned_from(files):
    corpora = ready(files)
    assert (len(corpora.train), len(corpora.valid_texts), corpora.held_out) == (54, 6, True)
    held = set(corpora.valid_texts)
    assert set(zip(texts(corpora), texts(corpora, "target"), strict=True)) == set(PAIRS) - held
    assert ready(files, seed=6).valid_texts != corpora.valid_texts


def test_the_second_time_nothing_is_made_again(files, monkeypatch):
    first = ready(files)

    def refuse(*_):
        raise AssertionError

    for made in ("corpus.prepare.learn_tokenizer", "translation.corpus.write_tokenized_pairs"):
        monkeypatch.setattr(f"regard.{made}", refuse)
    monkeypatch.setattr("regard.corpus.pair_checks.check_pair_corpus", refuse)
    again = ready(files)
    assert (texts(again), again.valid_texts, again.report) == (texts(first), first.valid_texts, first.report)
    assert isinstance(again.train.source.flat.base, np.memmap)


def test_a_change_of_any_setting_or_byte_is_seen(files, tmp_path):
    first = ready(files, max_length=50)
    assert len(ready(files, max_length=6).train) < len(first.train)
    assert ready(files, vocab_size=280).tokenizer.vocab_size < first.tokenizer.vocab_size
    write(tmp_path / "t", [b.upper() for _, b in PAIRS])
    assert "ONE ONE" in texts(ready(files), "target") or ("1 and 1", "ONE ONE") in ready(files).valid_texts


def test_a_damaged_store_is_made_again_and_said(files, tmp_path, capsys):
    data = replace(files, cache=str(tmp_path / "cache"))
    first = texts(ready(data))
    for name in ("source.ids", "lines", "keep", "tokenizer.json"):
        [path] = (tmp_path / "cache").rglob(name)
        path.write_bytes(path.read_bytes()[:-1])
        assert texts(ready(data, console=Console(soft_wrap=True))) == first
        assert f"{name} is not what was written" in capsys.readouterr().out


def test_files_that_change_while_they_are_read_are_refused_and_nothing_is_kept(files, tmp_path, monkeypatch):
    def changing(*arguments):
        write(tmp_path / "t", ["other text"] * 60)
        return real(*arguments)

    real = corpora_module.write_tokenized_pairs
    monkeypatch.setattr(corpora_module, "write_tokenized_pairs", changing)
    data = replace(files, cache=str(tmp_path / "cache"))
    with pytest.raises(DataError, match="t has changed while it was read; start again"):
        ready(data)
    assert list((tmp_path / "cache" / "ids").iterdir()) == []


def test_a_tokenizer_that_is_given_is_used(files):
    tokenizer = ready(files, vocab_size=280).tokenizer
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
    corpora = ready(data)
    assert list(zip(texts(corpora), texts(corpora, "target"), strict=True)) == PAIRS
    assert corpora.train.epoch_size == 20 + 50 + 10
    assert any(
        "an epoch shows 80 pairs: the corpora have the weights 1, 2.5, 0.5" in line
        for line in corpora.describe()
    )
    assert corpora.fingerprint == {path: file_sha256(Path(path)) for path in (*two, str(tsv), jsonl)}
    assert corpora.valid_fingerprint == {valid: file_sha256(Path(valid))}


def test_validation_files_are_used_as_they_are(files, tmp_path):
    """Even where the doctor would not learn from a pair: a published test set must stay comparable."""
    valid = [("the same text", "the same text"), ("", "nothing"), ("7 and 7", "seven seven")]
    source = write(tmp_path / "vs", [a for a, _ in valid])
    target = write(tmp_path / "vt", [b for _, b in valid])
    corpora = ready(replace(files, valid_source=source, valid_target=target))
    assert corpora.valid_texts == (valid[0], valid[2])
    assert (len(corpora.train), corpora.held_out) == (60, False)
    assert "        left out of validation: blank side (1)" in list(corpora.describe())


def test_pairs_shared_with_the_validation_files_are_left_out(files, tmp_path):
    valid = write(tmp_path / "v.tsv", ["1 and 1\tuno", "never seen\ttwo two"])
    corpora = ready(replace(files, valid_pairs=valid))
    assert len(corpora.train) == 58
    assert "        left out of training: shared (2)" in list(corpora.describe())
    with pytest.raises(
        DataError, match=r"s and .*t line 8: shared; in all shared \(2\), and --strict refuses"
    ):
        ready(replace(files, valid_pairs=valid, strict=True))


def spoil(files, line, text):
    path = Path(files.target[0])
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines), encoding="utf-8")


def test_bad_pairs_are_left_out_counted_and_listed(files, tmp_path):
    spoil(files, 7, " ")
    spoil(files, 9, "one\0two")
    corpora = ready(files)
    assert len(corpora.train) + len(corpora.valid) == 58
    assert "        left out of training: blank side (1), NUL (1)" in list(corpora.describe())
    write_data_report(tmp_path, corpora)
    document = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    [report] = document["train"]["corpora"]
    assert [(f["kind"], f["lines"]) for f in report["findings"]] == [("blank side", [7]), ("NUL", [9])]
    assert document["train"]["left_out"] == {"blank side": 1, "NUL": 1}
    assert document["files"] == corpora.fingerprint


def found(corpora, indexes):
    """What stands on the lines that the pairs are said to come from."""
    [lines] = corpora.training_lines(np.array(indexes))
    sides = [Path(file).read_text(encoding="utf-8").split("\n") for file in lines.files]
    return [tuple(side[number - 1] for side in sides) for number in lines.numbers]


def test_lines_are_those_of_the_files_with_bad_and_held_out_pairs_between(files):
    for line in (1, 7, 8, 60):
        spoil(files, line, "")
    corpora = ready(files)
    assert len(corpora.train) < 56
    learned = list(zip(texts(corpora), texts(corpora, "target"), strict=True))
    for index, pair in enumerate(learned):
        assert found(corpora, [index]) == [pair]
    assert found(corpora, [9, 3, 3]) == [learned[3], learned[9]]


def test_lines_of_several_corpora_are_named_with_their_files(files, tmp_path):
    rows = ["no pair", *[f"{a}, {a}\t{b}, {b}" for a, b in PAIRS[:9]], "no pair", "0 or 1\tzero or one"]
    tsv = write(tmp_path / "more.tsv", rows)
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    spoil(files, 2, "")
    data = replace(
        files, pairs=(tsv,), weights=(1.0, 3.0), valid_pairs=valid, bpe_dropout=0.2, bpe_variants=3
    )
    corpora = ready(data)
    shown = corpora.train.epoch_indexes(
        1, np.arange(corpora.train.epoch_size)
    )  # each pair of the second corpus three times
    two, one = corpora.training_lines(shown)
    assert two == FileLines((*files.source, *files.target), (1, *range(3, 61)))
    assert one == FileLines((tsv,), (*range(2, 11), 12))
    last = np.array([3 * 59 + 3 * 9 + 2])
    assert corpora.training_lines(last) == [FileLines((tsv,), (12,))]


def test_parts_of_a_long_pair_have_its_line(files, tmp_path):
    half = "9 " * 30
    write(tmp_path / "s", ["", f"{half}. {half}.", *[a for a, _ in PAIRS]])
    write(tmp_path / "t", ["", f"{half}! {half}!", *[b for _, b in PAIRS]])
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    corpora = ready(replace(files, long="split", valid_pairs=valid))
    numbers = [corpora.training_lines(np.array([index]))[0].numbers for index in range(62)]
    assert numbers == [*[(line,) for line in range(3, 63)], (2,), (2,)]  # what was split comes last


def test_strict_refuses_them_and_names_the_first(files):
    spoil(files, 9, "one\0two")
    spoil(files, 7, "")
    for _ in range(2):  # new, and remembered
        with pytest.raises(
            DataError, match=r"line 7: blank side; in all blank side \(1\), NUL \(1\), and --strict"
        ):
            ready(replace(files, strict=True))


@pytest.mark.parametrize(
    ("policy", "pairs", "said"),
    [
        ("drop", 60, "left out of training: over 49 pieces (2)"),
        ("cut", 62, "cut to 49 pieces: 2 pairs"),
        ("split", 62, "split into sentences: 1 long pairs, into 2"),
    ],
)
def test_long_pairs_are_said(files, tmp_path, policy, pairs, said):
    half = "9 " * 30
    write(tmp_path / "s", [*[a for a, _ in PAIRS], f"{half}. {half}.", "8 " * 99])
    write(tmp_path / "t", [*[b for _, b in PAIRS], f"{half}! {half}!", "7 " * 99])
    valid = write(tmp_path / "v.tsv", ["x\ty"])
    corpora = ready(replace(files, long=policy, valid_pairs=valid))
    assert len(corpora.train) == pairs
    assert any(said in line for line in corpora.describe())
    assert max(corpora.train.source.lengths.max(), corpora.train.target.lengths.max()) <= 49


def test_a_corpus_of_nothing_but_long_pairs_is_refused(files):
    with pytest.raises(DataError, match="every pair is longer than model.max_length = 2"):
        ready(files, max_length=2)


def test_too_few_different_sentences_are_refused(tmp_path):
    data = DataConfig((write(tmp_path / "a", "xxxx"),), (write(tmp_path / "b", "yyyy"),))
    with pytest.raises(DataError, match="too few different pairs to hold some out"):
        ready(data)


def test_pieces_are_learnt_from_the_training_part_alone(files, tmp_path):
    valid = write(tmp_path / "v.tsv", ["zzzz zzzz zzzz\tzzzz zzzz"] * 50)
    corpora = ready(replace(files, valid_pairs=valid), vocab_size=400)
    assert len(corpora.tokenizer.tokenize(["zzzz"])[0]) > 3


def test_pieces_of_a_large_corpus_are_learnt_from_a_part_and_said(files, monkeypatch):
    monkeypatch.setattr(prepared_module, "TOKENIZER_SAMPLE_SIZE", 10)
    seen = []

    def learn(sample, *how):
        seen.extend(sample)
        return real(sample, *how)

    real = prepared_module.learn_tokenizer
    monkeypatch.setattr(prepared_module, "learn_tokenizer", learn)
    corpora = ready(files)
    assert "        the pieces are learnt from 10 of them, evenly spaced" in list(corpora.describe())
    places = [texts(corpora).index(text) for text in seen[::2]]
    assert len(places) == 10
    assert set(np.diff(places)) <= {5, 6}


def test_nothing_to_train_on_says_which_flags_to_give():
    with pytest.raises(ConfigError, match="give --source FILE and --target FILE, or --pairs FILE"):
        ready(DataConfig())


def test_the_report_has_the_lengths_of_the_sentences(files):
    corpora = ready(files)
    for side in ("source", "target"):
        lengths = getattr(corpora.train, side).lengths
        bins, counts = corpora.report["lengths"][side].values()
        assert counts == np.histogram(lengths, bins)[0].tolist()
        assert sum(counts) == len(lengths)


def test_the_report_says_how_lengths_compare_and_which_pieces_occur(files):
    corpora = ready(files)
    source, target = corpora.train.source.flat, corpora.train.target.flat
    assert corpora.report["ratio"] == pytest.approx(len(target) / len(source), abs=1e-4)
    ids, pieces = np.concatenate([source, target]), corpora.report["pieces"]
    assert pieces["all"] == corpora.tokenizer.vocab_size - BASE_VOCAB_SIZE
    assert pieces["occur"] == len({id for id in ids.tolist() if id >= BASE_VOCAB_SIZE})
    assert pieces["bytes"] == pytest.approx((ids < BASE_VOCAB_SIZE).mean(), abs=1e-6)

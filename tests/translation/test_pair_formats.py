"""A corpus of pairs in any format trains the same model as the same pairs in two text files."""

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corpus_formats import WRITERS
from rich.console import Console

from regard.api.run_settings import resolve_settings
from regard.api.training_request import TrainingRequest
from regard.checkpoint import file_sha256
from regard.cli.args.train_args import add_pair_arguments
from regard.config import read_settings
from regard.data.config import DataConfig
from regard.errors import ConfigError, DataError
from regard.model.config import TINY
from regard.text.languages import languages_of_model
from regard.training.loop import TrainConfig
from regard.translation.corpus import find_languages, measure_training_files, prepare_pair_corpora
from regard.translation.run import TranslationRun
from regard.translation.task import train_translation

QUIET = Console(quiet=True)
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
PAIRS = [(f"{a} and {b} make {a + b}", f"{WORDS[a]} {WORDS[b]}, „é“") for a in range(10) for b in range(8)]


def data_of(flags: list[str]) -> DataConfig:
    """Return the settings of these flags, as `regard train` reads them."""
    parser = argparse.ArgumentParser()
    for name in ("--source", "--target", "--pairs"):
        parser.add_argument(name, nargs="+", default=[])
    add_pair_arguments(parser)
    values = vars(parser.parse_args(flags))
    return DataConfig(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    )


def write(folder: Path, name: str, pairs=PAIRS) -> DataConfig:
    return replace(data_of(WRITERS[name](folder / name, pairs)), batch_tokens=200, bleu_pairs=3)


@pytest.fixture
def text(tmp_path) -> DataConfig:
    return write(tmp_path, "text")


def prepare(data: DataConfig):
    return prepare_pair_corpora(data, 300, 50, 5, QUIET)


def assert_same_corpora(corpora, expected):
    assert corpora.tokenizer.fingerprint == expected.tokenizer.fingerprint
    assert corpora.valid_texts == expected.valid_texts
    for side in ("source", "target"):
        for part in ("flat", "starts"):
            found, wanted = (getattr(getattr(each.train, side), part) for each in (corpora, expected))
            assert np.array_equal(found, wanted)


def run_of(data: DataConfig) -> TranslationRun:
    model = replace(TINY, d_model=16, heads=2, d_ff=16, encoder_layers=1, decoder_layers=1, vocab_size=300)
    return TranslationRun(model=model, data=data, train=TrainConfig(steps=4, save_every=2, seed=5))


def train(data: DataConfig, out: Path) -> str:
    train_translation(run_of(data), out, QUIET)
    return file_sha256(out / "model" / "model.safetensors")


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "text"])
def test_each_format_gives_the_same_prepared_corpora_and_the_same_size(text, tmp_path, name):
    data = write(tmp_path, name)
    assert_same_corpora(prepare(data), prepare(text))
    assert measure_training_files(data, QUIET) == measure_training_files(text, QUIET)


def test_files_of_units_and_of_rows_give_the_same_weights(text, tmp_path):
    expected = train(text, tmp_path / "text-run")
    for name in ("tmx", "parquet-struct"):
        assert train(write(tmp_path, name), tmp_path / f"run-{name}") == expected


def interrupted_tmx(path: Path) -> str:
    """Write the pairs with a unit that is not translated after every third."""
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = [variant.format("en", a) + variant.format("de", b) for a, b in PAIRS]
    for place in range(len(units), 0, -3):
        units.insert(place, variant.format("en", f"left out {place}"))
    body = "\n".join(f"<tu>{unit}</tu>" for unit in units)
    path.write_text(f"<tmx><body>\n{body}</body></tmx>", encoding="utf-8")
    return str(path)


def test_skipped_units_change_nothing_but_the_positions(text, tmp_path):
    data = replace(
        text,
        **{"source": (), "target": (), "pairs": (interrupted_tmx(tmp_path / "a.tmx"),)},
        source_language="en",
        target_language="de",
    )
    corpora, expected = prepare(data), prepare(text)
    assert_same_corpora(corpora, expected)
    assert measure_training_files(data, QUIET) == measure_training_files(text, QUIET)
    assert corpora.report["train"]["left_out"]["untranslated"] == 27
    units = [line - 1 for line in corpora.train.line_numbers.tolist()]
    lines = [line - 1 for line in expected.train.line_numbers.tolist()]
    content = Path(data.pairs[0]).read_text(encoding="utf-8").split("\n")[1:]
    for unit, line in zip(units, lines, strict=True):
        assert PAIRS[line][0] in content[unit]
    [file_lines] = corpora.training_lines(np.array([0, 1]))
    assert str(file_lines) == f"{data.pairs[0]} units {units[0] + 1}, {units[1] + 1}"


def test_formats_are_mixed_in_one_training(text, tmp_path):
    third = len(PAIRS) // 3
    parts = PAIRS[:third], PAIRS[third : 2 * third], PAIRS[2 * third :]
    names = ("xliff-2.0", "csv", "po")
    paths = [write(tmp_path, name, part).pairs[0] for name, part in zip(names, parts, strict=True)]
    data = replace(
        text,
        **{"source": (), "target": (), "pairs": tuple(paths)},
        source_language="en",
        target_language="de",
    )
    assert_same_corpora(prepare(data), prepare(text))


def test_validation_pairs_come_in_any_format(text, tmp_path):
    valid = write(tmp_path, "xliff-1.2", [("a new text", "ein neuer Text"), ("another", "")])
    corpora = prepare(replace(text, valid_pairs=valid.pairs[0]))
    assert corpora.valid_texts == (("a new text", "ein neuer Text"),)
    assert corpora.report["valid"]["left_out"] == {"untranslated": 1}


def test_the_second_preparation_comes_from_the_cache_and_a_changed_file_is_noticed(tmp_path, monkeypatch):
    data = write(tmp_path, "tmx")
    first = prepare(data)

    def fail(*_, **__):
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr("regard.text.pair_formats.tmx_pairs.parse_xml_chunks", fail)
        assert_same_corpora(prepare(data), first)
    write(tmp_path, "tmx", PAIRS[:-10])
    assert len(prepare(data).train) < len(first.train)
    other = replace(data, source_language="de", target_language="en")
    assert prepare(other).valid_texts != prepare(data).valid_texts


def test_a_run_of_a_memory_resumes_exactly_and_refuses_another_file(tmp_path):
    data = write(tmp_path, "tmx")
    whole = train(data, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "half")
    for name in ("step-000004", "model"):
        shutil.rmtree(tmp_path / "half" / name)
    assert train(data, tmp_path / "half") == whole
    write(tmp_path, "tmx", PAIRS[:-1])
    shutil.rmtree(tmp_path / "half" / "model")
    with pytest.raises(DataError, match=r"tmx.tmx changed since .* was started"):
        train(data, tmp_path / "half")


def test_the_languages_are_written_into_the_model(tmp_path):
    data = replace(write(tmp_path, "xliff-2.0"), batch_tokens=200)
    train(data, tmp_path / "run")
    assert read_settings(tmp_path / "run" / "config.toml")["data"]["source_language"] == ""
    stored = read_settings(tmp_path / "run" / "model" / "config.toml")["data"]
    assert (stored["source_language"], stored["target_language"]) == ("en", "de")


def test_a_fine_tuned_model_keeps_the_languages_of_its_start(tmp_path):
    train(write(tmp_path, "tmx"), tmp_path / "parent")
    lines = write(tmp_path, "jsonl")
    data = replace(lines, source_language=None, target_language=None)
    run = run_of(data)
    vocabulary = read_settings(tmp_path / "parent" / "model" / "config.toml")["model"]["vocab_size"]
    start = replace(run.start, model=str(tmp_path / "parent"))
    run = replace(run, start=start, model=replace(run.model, vocab_size=vocabulary))
    train_translation(run, tmp_path / "child", QUIET)
    shutil.rmtree(tmp_path / "parent")
    shutil.rmtree(tmp_path / "child" / "model")
    shutil.rmtree(tmp_path / "child" / "step-000004")
    train_translation(run, tmp_path / "child", QUIET)  # resumes without the start model
    stored = read_settings(tmp_path / "child" / "model" / "config.toml")["data"]
    assert (stored["source_language"], stored["target_language"]) == ("en", "de")


@pytest.mark.parametrize(
    ("data", "languages"),
    [
        (DataConfig(("a/train.en",), ("a/train.fr.gz",)), ("en", "fr")),
        (DataConfig(("multi30k.de-en.de",), ("multi30k.de-en.en",)), ("de", "en")),
        (DataConfig(("train.en.txt",), ("train.pt-BR.txt",)), ("en", "pt-BR")),
        (DataConfig(("train.src",), ("train.tgt",)), (None, None)),
        (DataConfig(("a.en", "b.en"), ("a.fr", "b.fr")), ("en", "fr")),
        (DataConfig(("a.en", "b.de"), ("a.fr", "b.fr")), (None, "fr")),
        (DataConfig(("a.en",), ("b.en",)), (None, None)),
        (DataConfig(("a.en",), ("a.fr",), source_language="en-GB"), ("en-GB", "fr")),
    ],
)
def test_languages_come_from_names_that_are_clear(data, languages):
    assert find_languages(data) == languages


def test_an_old_model_without_languages_has_those_of_its_file_names():
    assert languages_of_model({"source": ["train.en"], "target": ["train.fr"]}) == ("en", "fr")
    assert languages_of_model({"source": "train.en", "target": "train.fr", "target_language": ""}) == (
        "en",
        "fr",
    )
    assert languages_of_model({"pairs": ["a.tsv"]}) == (None, None)


def settings_of(console=QUIET, **arguments):
    return resolve_settings(TrainingRequest(arguments), console)


def test_nothing_is_planned_from_bytes_of_another_type(text, tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(b"PAR1" + bytes(5000))
    (tmp_path / "b.tmx").write_text("<html><body>no memory</body></html>")
    (tmp_path / "c.xliff").write_text('<xliff version="1.2"><file><trans-unit><source>a</target>')
    console = Console(soft_wrap=True)
    with pytest.raises(DataError, match=r"a.txt is a Parquet file, not plain text.*give it with --pairs"):
        settings_of(console, source=[str(tmp_path / "a.txt")], target=list(text.target))
    for name, message in (("b.tmx", "is HTML, not .tmx"), ("c.xliff", "is not well-formed XML")):
        with pytest.raises(DataError, match=message):
            settings_of(console, pairs=[str(tmp_path / name)])
    assert capsys.readouterr().out == ""


def test_a_memory_without_a_direction_is_asked_about_before_planning(tmp_path, capsys):
    data = write(tmp_path, "tmx")
    with pytest.raises(
        DataError, match="has texts in de and en; say which are translated into which"
    ) as caught:
        settings_of(Console(soft_wrap=True), pairs=list(data.pairs))
    assert "--source-language de --target-language en, or the reverse" in str(caught.value)
    assert capsys.readouterr().out == ""
    run = settings_of(pairs=list(data.pairs), source_language="de")
    assert run.data.source_language == "de"


def test_files_into_different_languages_are_refused_before_planning(tmp_path, capsys):
    german = write(tmp_path, "xliff-2.0").pairs[0]
    messages = tmp_path / "fr.po"
    messages.write_text('msgid ""\nmsgstr "Language: fr_CA\\n"\n\nmsgid "cat"\nmsgstr "chat"\n')
    expected = r"2.0.xlf is translated into de and .*fr.po into fr_CA; a model translates into one language"
    for arguments in ({"pairs": [german, str(messages)]}, {"pairs": [german], "valid_pairs": str(messages)}):
        with pytest.raises(DataError, match=expected):
            settings_of(Console(soft_wrap=True), **arguments)
    with pytest.raises(DataError, match=expected):
        prepare(DataConfig(pairs=(german, str(messages))))
    assert capsys.readouterr().out == ""
    with pytest.raises(
        DataError, match=r"fr.po translates an unnamed language into fr_CA, which does not go with"
    ):
        prepare(DataConfig(pairs=(german, str(messages)), target_language="de"))


def test_languages_that_are_no_codes_are_refused():
    with pytest.raises(
        ConfigError, match="data.source_language = 'the English' cannot work; it must be the code"
    ):
        DataConfig(source_language="the English")


def test_the_data_report_names_units(tmp_path):
    path = tmp_path / "a.tmx"
    content = Path(interrupted_tmx(path)).read_text().replace(PAIRS[4][1], PAIRS[4][1] + " x" * 200)
    path.write_text(content)
    data = DataConfig(pairs=(str(path),), source_language="en", target_language="de", strict=False)
    [report] = prepare(data).report["train"]["corpora"]
    findings = {finding["kind"]: finding for finding in report["findings"]}
    assert report["unit"] == "unit"
    assert findings["untranslated"]["count"] == 27
    assert len(findings["untranslated"]["lines"]) == 27
    [unit] = findings["length ratio"]["lines"]
    assert PAIRS[4][0] in content.split("\n")[unit]
    assert findings["length ratio"]["file_lines"] == [unit + 1]
    with pytest.raises(
        DataError, match=rf"a.tmx unit {unit}: length ratio; in all length ratio \(1\), and --strict"
    ):
        prepare(replace(data, strict=True))
    assert json.dumps(report)

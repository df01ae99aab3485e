import json
from dataclasses import replace

import pytest
from rich.console import Console

from labelled_corpus import labelled_sentences, tiny_classification_run, write_labelled_file
from regard.classification.corpus import prepare_labelled_corpora
from regard.classification.task import train_classification
from regard.errors import ConfigError, DataError

QUIET = Console(quiet=True)


@pytest.fixture
def corpus(tmp_path):
    return write_labelled_file(tmp_path / "things.tsv")


def prepare(run):
    return prepare_labelled_corpora(
        run.data, run.model.vocab_size, run.model.max_length, run.train.seed, QUIET
    )


def test_bad_lines_are_left_out_and_reported_with_their_line_numbers(corpus, tmp_path):
    corpus.write_text("animal\t\nno tab here\n" + corpus.read_text())
    left_out = prepare(tiny_classification_run(corpus)).corpora.report["train"]["left_out"]
    assert left_out.items() >= {"blank": 1, "no label": 1}.items()
    train_classification(tiny_classification_run(corpus), tmp_path / "run", QUIET)
    report = json.loads((tmp_path / "run" / "data.json").read_text())
    lines = {each["kind"]: each["lines"] for each in report["train"]["corpora"][0]["findings"]}
    assert (lines["blank"], lines["no label"]) == ([1], [2])


def test_strict_refuses_bad_lines(corpus):
    corpus.write_text("animal\t\n" + corpus.read_text())
    run = tiny_classification_run(corpus)
    with pytest.raises(DataError, match=r"things.tsv line 1: blank"):
        prepare(replace(run, data=replace(run.data, strict=True)))


def test_held_out_texts_are_not_in_the_training_texts(corpus):
    corpora = prepare(tiny_classification_run(corpus)).corpora
    held_out = {text for text, _ in corpora.valid_texts}
    assert len(held_out) == 7
    rows = corpora.train.source
    train_texts = {corpora.tokenizer.detokenize([rows[i].tolist()])[0] for i in range(len(rows))}
    assert not held_out & train_texts


def test_a_validation_label_missing_from_training_is_refused(corpus, tmp_path):
    other = write_labelled_file(tmp_path / "dev.tsv", [("a stone", "mineral")])
    run = tiny_classification_run(corpus)
    with pytest.raises(DataError, match=r"labels that are not in the training files: mineral; those are an"):
        prepare(replace(run, data=replace(run.data, valid_labelled=str(other))))


def test_separate_text_and_label_files_equal_one_labelled_file(corpus, tmp_path):
    rows = labelled_sentences()
    (tmp_path / "texts").write_text("".join(f"{text}\n" for text, _ in rows))
    (tmp_path / "labels").write_text("".join(f"{label}\n" for _, label in rows))
    run = tiny_classification_run(corpus)
    two = replace(run.data, labelled=(), texts=(str(tmp_path / "texts"),), labels=(str(tmp_path / "labels"),))
    one, other = prepare(run), prepare(replace(run, data=two))
    assert one.labels == other.labels
    assert one.corpora.train.source.flat.tolist() == other.corpora.train.source.flat.tolist()
    assert one.corpora.train.target.flat.tolist() == other.corpora.train.target.flat.tolist()


def test_texts_longer_than_the_model_are_cut_or_dropped(corpus):
    corpus.write_text(corpus.read_text() + "animal\t" + "cat " * 40 + "\n")
    run = tiny_classification_run(corpus)
    cut = prepare(run).corpora
    dropped = prepare(replace(run, data=replace(run.data, long="drop"))).corpora
    assert cut.report["train"]["long"] == {"cut": 1}
    assert (cut.train.source.lengths.max(), len(cut.train) - len(dropped.train)) == (15, 1)


def test_bpe_dropout_of_whole_words_is_refused(corpus):
    run = tiny_classification_run(corpus)
    with pytest.raises(ConfigError, match="data.bpe_dropout needs data.tokenizer = bpe"):
        replace(run.data, bpe_dropout=0.1)


def test_a_prepared_corpus_is_read_from_the_cache(corpus, monkeypatch):
    first = prepare(tiny_classification_run(corpus))

    def refuse(*_):
        raise AssertionError

    for function in ("corpus.prepare.learn_word_tokenizer", "corpus.prepare.write_token_ids"):
        monkeypatch.setattr(f"regard.{function}", refuse)
    assert prepare(tiny_classification_run(corpus)).corpora.report == first.corpora.report

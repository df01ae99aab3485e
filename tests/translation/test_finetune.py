from dataclasses import replace

import pytest
import torch
from rich.console import Console

from regard.config import apply_settings, read_settings, to_toml
from regard.data.config import DataConfig
from regard.errors import CheckpointError, ConfigError
from regard.model.config import TINY
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.text.vocab_extension import decompose_new_tokens, extend_tokenizer
from regard.training.loop import TrainConfig
from regard.training.optimizer import OptimizerConfig
from regard.translation.finetune import (
    StartConfig,
    extend_transformer,
    inherit_finetune_settings,
    read_start_model,
)
from regard.translation.model_folder import load_translation_model, save_translation_model
from regard.translation.run import TranslationRun
from regard.translation.task import (
    TranslationTask,
    load_start_model,
    prepare_run_corpora,
    train_translation,
)
from regard.translation.translator import Translator

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two corpora of numbers, and a model trained on the first."""
    home = tmp_path_factory.mktemp("home")
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
    pairs = [(a, b) for a in range(12) for b in range(12)]
    parts = {
        "first.en": [f"{a} and {b}" for a, b in pairs],
        "first.fr": [f"{words[a]} {words[b]}" for a, b in pairs],
        "second.en": [f"what is {a} minus {b}?" for a, b in pairs],
        "second.fr": [f"take {words[b]} from {words[a]}" for a, b in pairs],
    }
    for name, lines in parts.items():
        (home / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    train_translation(first_run(home), home / "parent", QUIET)
    return home


def data(home, part):
    files = ((str(home / f"{part}.{side}"),) for side in ("en", "fr"))
    return DataConfig(*files, batch_tokens=1000, bleu_pairs=5)


def first_run(home):
    model = replace(
        TINY, d_model=32, d_ff=64, encoder_layers=1, decoder_layers=1, vocab_size=500, dropout=0.0
    )
    return TranslationRun(
        model=model,
        data=data(home, "first"),
        optimizer=OptimizerConfig(peak=0.01, warmup=20),
        train=TrainConfig(steps=80, save_every=80),
    )


def second_run(home, extend=None, steps=20):
    run = apply_settings(TranslationRun(), inherit_finetune_settings(home / "parent"))
    start = StartConfig(str(home / "parent"), extend)
    return replace(run, data=data(home, "second"), start=start, train=TrainConfig(steps=steps, save_every=20))


def task_for(run):
    start = load_start_model(run)
    return TranslationTask(run, prepare_run_corpora(run, start, None, QUIET), start)


@pytest.mark.parametrize("extend", [None, 20])
def test_fine_tuning_improves_the_loss_and_beats_random_weights(home, tmp_path, extend):
    run = second_run(home, extend)
    run = replace(run, optimizer=OptimizerConfig(peak=0.003, warmup=5))
    before = task_for(run).validate().metrics["loss"]
    after = train_translation(run, tmp_path / "child", QUIET).metrics["loss"]
    assert after < before - 0.1
    random_start = replace(run, start=StartConfig())
    assert train_translation(random_start, tmp_path / "other", QUIET).metrics["loss"] > after


def test_a_kept_tokenizer_is_identical(home, tmp_path):
    train_translation(second_run(home, steps=1), tmp_path / "child", QUIET)
    child, parent = (run / "model" / "tokenizer.json" for run in (tmp_path / "child", home / "parent"))
    assert child.read_bytes() == parent.read_bytes()


def test_the_run_starts_with_the_parents_weights_and_records_them(home, tmp_path):
    run = second_run(home, steps=1)
    task = task_for(run)
    parent = load_translation_model(home / "parent")
    for name, weight in parent.transformer.named_parameters():
        assert torch.equal(weight, dict(task.model.named_parameters())[name])
    assert f"start   from {home / 'parent'} (step 80), vocabulary kept" in list(task.describe())
    train_translation(run, tmp_path / "child", QUIET)
    entry = load_translation_model(tmp_path / "child").manifest["from"]
    assert entry == {"weights": parent.manifest["files"]["model.safetensors"]["sha256"], "step": 80}


def test_an_extended_vocabulary_is_described_and_saved(home, tmp_path):
    run = second_run(home, extend=9, steps=1)
    assert "vocabulary extended by 9" in " ".join(task_for(run).describe())
    train_translation(run, tmp_path / "child", QUIET)
    sizes = [
        load_translation_model(folder).tokenizer.vocab_size
        for folder in (home / "parent", tmp_path / "child")
    ]
    assert sizes[1] == sizes[0] + 9


def test_an_extended_model_translates_as_before_until_it_is_trained(home):
    old = load_translation_model(home / "parent")
    texts = [line for part in ("first", "second") for line in (home / f"{part}.en").read_text().split("\n")]
    tokenizer = extend_tokenizer(old.tokenizer, texts, 20)
    new = extend_transformer(old.transformer, decompose_new_tokens(old.tokenizer, tokenizer))
    rows = tokenizer.tokenize(texts)
    size = old.tokenizer.vocab_size
    unchanged = [text for text, row in zip(texts, rows, strict=True) if row and max(row) < size]
    assert 5 < len(unchanged) < len(texts) - 20
    translations = Translator.from_model(new, tokenizer).translate(unchanged, beam=1)
    assert translations == Translator.from_model(old.transformer, old.tokenizer).translate(unchanged, beam=1)


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_new_embedding_rows_are_the_mean_of_their_parts(micro, tied):
    torch.manual_seed(0)
    model = Transformer(replace(micro, tied=tied)).eval()
    new = extend_transformer(model, [[3, 4], [5, 5, 6]])
    assert new.config == replace(model.config, vocab_size=micro.vocab_size + 2)
    for old_rows, rows in (
        (model.source_embedding.tokens.weight, new.source_embedding.tokens.weight),
        (model.target_embedding.tokens.weight, new.target_embedding.tokens.weight),
        (model.output.weight, new.output.weight),
    ):
        assert torch.equal(rows[:-2], old_rows)
        torch.testing.assert_close(rows[-2], (old_rows[3] + old_rows[4]) / 2)
        torch.testing.assert_close(rows[-1], (2 * old_rows[5] + old_rows[6]) / 3)
    assert (new.output.weight is new.source_embedding.tokens.weight) == (tied == "all")


def test_a_new_token_never_scores_above_all_its_parts(micro_model):
    parts = [[a, b, (a * b) % 23] for a in range(3, 23) for b in range(3, 23) if a != b]
    new = extend_transformer(micro_model, parts)
    source = torch.randint(3, 23, (16, 9))
    scores = new(source, torch.ones_like(source, dtype=torch.bool), torch.randint(3, 23, (16, 12)))
    assert int(scores.argmax(-1).max()) < 23


def test_settings_that_contradict_the_start_model_are_refused(home):
    model = inherit_finetune_settings(home / "parent")["model"]
    config = apply_settings(TranslationRun(), {"model": model}).model
    for change, message in (
        ({"d_model": 64}, "model.d_model = 64 contradicts .*parent, where it is 32; leave it out"),
        ({"norm": "pre"}, "model.norm = pre contradicts"),
        ({"vocab_size": 600}, "model.vocab_size = 600 contradicts"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_start_model(home / "parent", replace(config, **change), False)
    with pytest.raises(ConfigError, match="data.lowercase = True contradicts"):
        read_start_model(home / "parent", config, True)
    assert read_start_model(home / "parent", replace(config, dropout=0.3), False).model.tokenizer


def test_lower_casing_is_inherited(tmp_path, micro):
    tokenizer = learn_tokenizer(["Jane"] * 3, 300, lowercase=True)
    model = Transformer(replace(micro, vocab_size=tokenizer.vocab_size))
    run = TranslationRun(model.config, data=DataConfig(lowercase=True))
    save_translation_model(tmp_path / "model", model, tokenizer, to_toml(run), {})
    assert apply_settings(TranslationRun(), inherit_finetune_settings(tmp_path / "model")).data.lowercase


def test_a_damaged_start_model_is_refused(home, tmp_path):
    folder = tmp_path / "model"
    model = load_translation_model(home / "parent")
    save_translation_model(folder, model.transformer, model.tokenizer, to_toml(TranslationRun()), {})
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged: model.safetensors is not what was written"):
        inherit_finetune_settings(folder)


def test_impossible_start_settings_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere does not exist"):
        inherit_finetune_settings(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="there is no vocabulary to extend without start.model"):
        StartConfig(extend_vocabulary=5)
    with pytest.raises(ConfigError, match="start.extend_vocabulary = 0 cannot work"):
        StartConfig("model", 0)


def test_the_stored_settings_describe_the_same_run(home, tmp_path):
    run = second_run(home, extend=9, steps=1)
    train_translation(run, tmp_path / "child", QUIET)
    assert apply_settings(TranslationRun(), read_settings(tmp_path / "child" / "config.toml")) == run

from dataclasses import replace

import pytest

from regard.errors import DataError
from regard.training.logs.metrics_file import MetricsWriter
from regard.training.loop import TrainConfig
from regard.training.model_card import (
    CardText,
    TrainingCost,
    build_card_files,
    find_changed_settings,
    render_model_card,
)
from regard.training.task import ValidationSample
from regard.translation.run import TranslationRun

TEXT = CardText(
    task_verb="translate",
    unit="pairs",
    usage_command="regard translate THIS_FOLDER",
    evaluation="BLEU and chrF of greedy translations of the first 500",
    score_names={"bleu": "BLEU", "chrf": "chrF"},
)
COST = TrainingCost(steps=12_000, seconds=754.0, device="NVIDIA H200", precision="bfloat16")
MANIFEST = {
    "regard": "0.1.0",
    "step": 11_000,
    "parameters": 44_140_544,
    "metrics": {"loss": 1.51, "bleu": 41.25, "chrf": 63.0, "bleu_signature": "nrefs:1|tok:13a"},
    "trained_on": {
        "pairs": 29_000,
        "files": {"/home/jane/train.en": "ab12", "/home/jane/train.de": "cd34"},
        "left_out": {"blank side": 3},
    },
    "validated_on": {"pairs": 1014, "translated": 500, "files": {"valid.en": "ef56", "valid.de": "7890"}},
}


def test_the_card_has_scores_data_cost_and_settings():
    text = render_model_card(MANIFEST, [], [("model.dropout", "0.3", "0.1")], COST, TEXT, has_curves=True)
    for fact in (
        "# train.en → train.de",
        "| BLEU | 41.25 |",
        "`nrefs:1|tok:13a`",
        "On 1,014 pairs not used in training, at step 11,000 (BLEU and chrF of greedy translations of "
        "the first 500):",
        "| training | 29,000 | train.en | `ab12` |",
        "- blank side: 3 pairs of training",
        "44,140,544 parameters; 12,000 steps in 13 minutes on NVIDIA H200 in bfloat16",
        "| `model.dropout` | 0.3 | 0.1 |",
        "(curves.svg)",
    ):
        assert fact in text, fact
    assert "/home/jane" not in text


def test_held_out_validation_data_does_not_repeat_the_training_files():
    trained = {**MANIFEST["trained_on"], "left_out": {"over 99 tokens": 3}}
    held_out = {"pairs": 100, "files": trained["files"], "left_out": {"over 99 tokens": 2}}
    manifest = {**MANIFEST, "trained_on": trained, "validated_on": held_out}
    text = render_model_card(manifest, [], [], COST, TEXT, has_curves=False)
    assert text.count("`ab12`") == 1
    assert "| validation | 100 | held out of the files above | |" in text
    assert "- over 99 tokens: 3 pairs of training\n- over 99 tokens: 2 pairs of validation\n" in text


def test_a_fine_tuned_model_names_its_parent():
    manifest = {**MANIFEST, "from": {"weights": "beef", "step": 3}}
    assert "from the weights with the SHA-256 `beef`" in render_model_card(
        manifest, [], [], COST, TEXT, has_curves=False
    )


def test_without_curves_the_card_shows_none():
    assert "curves.svg" not in render_model_card(MANIFEST, [], [], COST, TEXT, has_curves=False)


def test_a_sentence_is_escaped_in_its_table_cell():
    text = "a|b\n<img src=x> `c` [d](e)"
    text = render_model_card(MANIFEST, [ValidationSample(text, text, text)], [], COST, TEXT, has_curves=False)
    (row,) = [line for line in text.splitlines() if "img" in line]
    assert row == "| " + " | ".join([r"a\|b &lt;img src=x> \`c\` \[d\](e)"] * 3) + " |"


def test_an_older_manifest_still_gives_a_card():
    assert render_model_card({}, [], [], COST, TEXT, has_curves=False)


def test_changed_settings_are_found_without_paths():
    run = TranslationRun(train=TrainConfig(minutes=5.0, tensorboard=True))
    run = replace(run, data=replace(run.data, source=("a",), target=("b",), held_out=5, long="cut"))
    assert find_changed_settings(run, TranslationRun()) == [
        ("data.held_out", "5", "1000"),
        ("data.long", "cut", "drop"),
        ("train.minutes", "5.0", "none"),
        ("train.tensorboard", "true", "false"),
    ]
    assert find_changed_settings(TranslationRun(), TranslationRun()) == []


@pytest.fixture
def run(tmp_path):
    record = MetricsWriter(tmp_path / "metrics.jsonl", pytest.fail)
    samples = [{"source": "A dog.", "reference": "Ein Hund.", "hypothesis": "Ein Hund!"}]
    record.write({"kind": "valid", "step": 10_000, "loss": 1.6, "samples": []})
    record.write({"kind": "valid", "step": 11_000, "loss": 1.51, "samples": samples})
    record.close()
    return tmp_path


def test_the_card_files_are_the_card_and_the_curves(run):
    files = build_card_files(
        run, MANIFEST, [], COST, TEXT, render_curves=lambda folder: f"curves of {folder.name}"
    )
    assert files.keys() == {"README.md", "curves.svg"}
    assert files["curves.svg"] == f"curves of {run.name}"
    assert "| A dog. | Ein Hund. | Ein Hund! |" in files["README.md"]
    assert build_card_files(run, MANIFEST, [], COST, TEXT, render_curves=None).keys() == {"README.md"}


def test_the_card_of_averaged_checkpoints_shows_no_samples_of_another_model(run):
    """Averaged checkpoints have the step of the last one, and another loss."""
    mean = {**MANIFEST, "metrics": {"loss": 1.4}}
    assert "Ein Hund!" not in build_card_files(run, mean, [], COST, TEXT, render_curves=None)["README.md"]


def test_a_card_is_written_without_curves_that_cannot_be_rendered(run):
    def draw(folder):
        raise DataError(f"{folder} has no metrics.jsonl")

    assert "curves.svg" not in build_card_files(run, MANIFEST, [], COST, TEXT, draw)["README.md"]


def test_a_card_is_written_without_metrics_jsonl(tmp_path):
    assert build_card_files(tmp_path, MANIFEST, [], COST, TEXT, render_curves=None)["README.md"].startswith(
        "# train.en"
    )

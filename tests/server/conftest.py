"""A run folder with random models, and an explorer server for it."""

import json
from dataclasses import replace

import pytest
import torch

from conftest import MICRO
from regard.config import to_toml
from regard.model.transformer import Transformer
from regard.search.config import PAPER_SEARCH
from regard.server.explorer.checkpoint_cache import CheckpointCache, load_explorer_model
from regard.server.explorer.explorer_api import explorer_routes
from regard.server.explorer.trace_service import ExplorerSettings, TraceService
from regard.server.explorer.training_runs import find_training_run
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun
from regard.translation.translator import Translator
from server.http_client import run_server

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3
LIMIT = 14


def save_random(folder, seed, **config):
    """Save an untrained model in a folder."""
    tokenizer = learn_tokenizer(TEXTS, 300)
    torch.manual_seed(seed)
    config = {"max_length": 14, **config}  # an untrained model rarely predicts the end of sentence
    model = Transformer(replace(MICRO, vocab_size=tokenizer.vocab_size, **config)).eval()
    save_translation_model(folder, model, tokenizer, to_toml(TranslationRun(model.config)), {"step": seed})
    return folder


def write_metrics(run, *rows):
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def build_service(path, text="the cat", limit=LIMIT):
    run = find_training_run(path)
    return TraceService(
        CheckpointCache(path, run, lambda folder: load_explorer_model(folder, "cpu")),
        run,
        ExplorerSettings(text, PAPER_SEARCH, limit),
    )


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run with three checkpoints and a model."""
    run = tmp_path_factory.mktemp("runs") / "mine"
    for step in (100, 200, 300):
        save_random(run / f"step-{step:06}", step)
    save_random(run / "model", 200)
    samples = [{"source": "a bird sings.", "reference": "", "hypothesis": ""}]
    write_metrics(
        run,
        {"kind": "train", "step": 100, "loss": 2.0, "target_tokens": 7},
        {"kind": "valid", "step": 200, "loss": 1.0, "best": True, "samples": samples},
        {"kind": "valid", "step": 300, "loss": 1.5, "best": False, "samples": samples},
    )
    return run


@pytest.fixture(scope="module")
def client(run_folder):
    """A client of the explorer's server."""
    with run_server(explorer_routes(build_service(run_folder))) as client:
        yield client


@pytest.fixture(scope="module")
def translator(run_folder):
    """The same model in this process, for comparison."""
    return Translator.load(run_folder, "cpu", "torch")

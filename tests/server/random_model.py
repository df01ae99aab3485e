"""A model folder with random weights, for tests of the translation server."""

from dataclasses import replace

import torch

from conftest import MICRO
from regard.config import to_toml
from regard.model.transformer import Transformer
from regard.text.tokenizer import learn_tokenizer
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings.", "a cat sleeps under the tree."]


def save_random(folder, seed, languages=("en", "fr"), **config):
    """Save an untrained model in a folder; another seed is another model."""
    tokenizer = learn_tokenizer(TEXTS * 3, 300)
    torch.manual_seed(seed)
    model = Transformer(replace(MICRO, vocab_size=tokenizer.vocab_size, max_length=24, **config)).eval()
    data = {"source_language": languages[0], "target_language": languages[1]}
    save_translation_model(
        folder, model, tokenizer, to_toml(TranslationRun(model.config)), {"step": seed, "data": data}
    )
    return folder

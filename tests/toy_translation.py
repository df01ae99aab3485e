"""A toy translation model, trained in seconds through the command line: it spells each word backwards."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

SYLLABLES = "ba cu do fe gi ha ju ko lu mi na po qui ra so tu vo we xi zu"
WORDS = SYLLABLES.split()
SETTINGS = (
    "model.encoder_layers=2 model.decoder_layers=2 model.heads=4 model.d_model=64 model.d_ff=128 "
    "model.dropout=0.0 model.vocab_size=380 model.max_length=300 data.batch_tokens=512 data.bleu_pairs=20 "
    "optimizer.peak=0.003 optimizer.warmup=100 optimizer.cooldown=200 "
    "train.steps=400 train.save_every=200 train.log_every=10"
)


def random_sentence(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(2, 8)))


def toy_translation(text: str) -> str:
    return " ".join(word[::-1] for word in text.split())


def train_toy_model(folder: Path) -> Path:
    """Train the model; return the run folder with two checkpoints, metrics and the model."""
    random = Random(0)
    lines = [random_sentence(random) for _ in range(6000)]
    (folder / "train.la").write_text("".join(f"{line}\n" for line in lines))
    (folder / "train.eo").write_text("".join(f"{toy_translation(line)}\n" for line in lines))
    command = [sys.executable, "-m", "regard", "train", "--preset", "tiny", "--out", str(folder / "toy")]
    command += ["--source", str(folder / "train.la"), "--target", str(folder / "train.eo")]
    command += [f"--set={setting}" for setting in SETTINGS.split()]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=300)
    return folder / "toy"

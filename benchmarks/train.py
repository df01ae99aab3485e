"""How fast is one training step, next to the same model in torch.nn.Transformer and HF Marian?

    python benchmarks/train.py --preset small --vocab 8000 --threads 2

The three take turns on the same batches, so that a busy machine slows all alike; the ratio of the
medians is what counts. One step: forward, smoothed cross-entropy, backward, Adam; dropout 0.1, fp32.
Prints one JSON line.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from regard.data.batch import PairBatch
from regard.model import config as presets
from regard.model.config import ModelConfig
from regard.model.position import paper
from regard.model.transformer import Transformer
from regard.text.tokenizer import PAD
from regard.train.device import keep_freed_memory
from regard.train.loss import smoothed_cross_entropy


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with embeddings and output around it, as its tutorial does."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.register_buffer("positions", paper(config.max_length, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.core = nn.Transformer(
            config.d_model,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        self.scale = math.sqrt(config.d_model)

    def forward(self, source: Tensor, source_keep: Tensor, target_in: Tensor) -> Tensor:
        causal = torch.ones(target_in.shape[1], target_in.shape[1], dtype=torch.bool).triu(1)
        decoded = self.core(
            self._embed(source),
            self._embed(target_in),
            tgt_mask=causal,
            src_key_padding_mask=~source_keep,
            tgt_key_padding_mask=target_in == PAD,
            memory_key_padding_mask=~source_keep,
        )
        return self.output(decoded)

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embedding(tokens) * self.scale + self.positions[: tokens.shape[1]])


class Marian(nn.Module):
    """HF's MarianMTModel of the same shape."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        self.core = MarianMTModel(
            MarianConfig(
                vocab_size=config.vocab_size,
                d_model=config.d_model,
                encoder_layers=config.encoder_layers,
                decoder_layers=config.decoder_layers,
                encoder_attention_heads=config.heads,
                decoder_attention_heads=config.heads,
                encoder_ffn_dim=config.d_ff,
                decoder_ffn_dim=config.d_ff,
                dropout=config.dropout,
                activation_function="relu",
                scale_embedding=True,
                pad_token_id=PAD,
                max_position_embeddings=config.max_length,
            )
        )

    def forward(self, source: Tensor, source_keep: Tensor, target_in: Tensor) -> Tensor:
        return self.core(
            input_ids=source, attention_mask=source_keep.long(), decoder_input_ids=target_in, use_cache=False
        ).logits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", choices=("tiny", "small", "base"), default="small")
    parser.add_argument("--vocab", type=int, default=8000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    config = replace(getattr(presets, options.preset.upper()), vocab_size=options.vocab)
    batches = [random_batch(options.tokens, options.vocab, seed) for seed in range(options.steps)]
    steppers = {
        "regard": stepper(Transformer(config)),
        "torch": stepper(TorchTransformer(config)),
        "marian": stepper(Marian(config)),
    }
    times: dict[str, list[float]] = {name: [] for name in steppers}
    for round_, batch in enumerate([batches[0], *batches]):
        for name, step in steppers.items():
            start = time.perf_counter()
            step(batch)
            if round_:  # the first is for warming up
                times[name].append((time.perf_counter() - start) / batch.tokens)
    speed = {name: 1 / statistics.median(seconds) for name, seconds in times.items()}
    print(
        json.dumps(
            {
                "benchmark": "train",
                "preset": options.preset,
                "vocab": options.vocab,
                "threads": options.threads,
                "torch": torch.__version__,
                "target_tokens_per_second": {name: round(value) for name, value in speed.items()},
                "regard_over_torch": round(speed["regard"] / speed["torch"], 2),
                "regard_over_marian": round(speed["regard"] / speed["marian"], 2),
            }
        )
    )


def stepper(model: nn.Module) -> Callable[[PairBatch], None]:
    """A function that takes one training step."""
    model.train()
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(batch: PairBatch) -> None:
        adam.zero_grad(set_to_none=True)
        logits = model(batch.source, batch.source_keep, batch.target_in)
        loss = smoothed_cross_entropy(logits, batch.target_out, 0.1, PAD)
        (loss / batch.tokens).backward()
        adam.step()

    return step


def random_batch(tokens: int, vocab: int, seed: int) -> PairBatch:
    """Sentences of like length, about 14 pieces, a little padding, as bucketing leaves it."""
    torch.manual_seed(seed)
    length = int(torch.randint(8, 21, ()))
    rows = tokens // length
    keep = torch.arange(length)[None] < torch.randint(length - 2, length + 1, (rows, 1))
    source, target_in, target_out = (
        torch.randint(3, vocab, (rows, length)).masked_fill(~keep, PAD) for _ in range(3)
    )
    return PairBatch(source, keep, target_in, target_out)


if __name__ == "__main__":
    main()

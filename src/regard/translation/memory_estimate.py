"""How much memory a training step of a translation model takes, by its shape.

An estimate: at most a quarter above and an eighth below what was measured for three sizes at several
lengths and budgets, on a CPU in fp32 and bf16 and on a GPU in bf16.
"""

import torch

from regard.model.config import ModelConfig
from regard.train.loss import SCORES_PER_CHUNK, LossConfig
from regard.train.memory import StepMemory

ENCODER_ACTIVATIONS, DECODER_ACTIVATIONS, OUTER_ACTIVATIONS = (12, 15), (20, 25), 10
"""What a layer keeps of each token for the way back, in widths of the model, in fp32 and in bf16; and
what lies before and after the layers. Autocast keeps copies in both precisions, hence the second."""
EXPLICIT_ATTENTION_ACTIVATIONS = 4
"""What is kept for each head and each key that a token sees, where attention is not one kernel."""
LOGIT_BYTES = {("cpu", False): 8, ("cpu", True): 12, ("cuda", False): 12, ("cuda", True): 5}
"""For each score of the loss that is held at once, by device and whether in bf16."""
BACKWARD_OVERHEAD = {"cpu": 1.6, "cuda": 1.3}
"""What the way back and freed pieces that do not fit again add; nothing where a step was recorded."""


def estimate_translation_step_memory(
    model: ModelConfig,
    loss: LossConfig,
    ema: bool,
    device: torch.device,
    precision: torch.dtype,
    captured: bool,
    sentence_length: float,
    batch_tokens: int,
) -> StepMemory:
    """What a step takes; `length` is that of a sentence, `tokens` those of the batch that is hoped for."""
    kind, half = device.type, precision == torch.bfloat16
    passes = 2 if loss.rdrop else 1
    matrix = model.vocab_size * model.d_model
    copies = 20 if ema else 16  # of 4 bytes: weight, gradient, two moments, mean
    scores = min(SCORES_PER_CHUNK[kind], passes * batch_tokens * model.vocab_size)
    fixed = (
        count_transformer_weights(model) * (copies + 2 * half)
        + matrix * 8  # its gradient on its own way
        + scores * LOGIT_BYTES[kind, half] * (2 if loss.rdrop else 1)
    )
    overhead = 1.0 if captured else BACKWARD_OVERHEAD[kind]
    size = 2 if half else 4
    explicit = model.attention_dropout > 0 or (kind == "cpu" and half)
    return StepMemory(
        fixed,
        passes * size * overhead * _activations_per_token(model, half, sentence_length if explicit else 0.0),
    )


def count_transformer_weights(model: ModelConfig) -> int:
    """Their number, but for biases and norms."""
    width = model.heads * model.head_width
    attention, feed_forward = 4 * model.d_model * width, 2 * model.d_model * model.d_ff
    matrices = {"all": 1, "target": 2, "none": 3}[model.tied]
    return (
        model.encoder_layers * (attention + feed_forward)
        + model.decoder_layers * (2 * attention + feed_forward)
        + matrices * model.vocab_size * model.d_model
    )


def _activations_per_token(model: ModelConfig, half: bool, seen: float) -> float:
    """Numbers that are kept of one source token and one target token until the way back."""
    width = max(model.d_model, model.heads * model.head_width)
    inner = model.d_ff * (1 + (model.activation == "gelu") + 2 * (model.activation_dropout > 0))
    looks = EXPLICIT_ATTENTION_ACTIVATIONS * model.heads * seen
    encoder = ENCODER_ACTIVATIONS[half] * width + inner + looks
    decoder = DECODER_ACTIVATIONS[half] * width + inner + 2 * looks
    return model.encoder_layers * encoder + model.decoder_layers * decoder + OUTER_ACTIVATIONS * width

"""Estimate of the memory that a training step of a translation model takes, from its sizes.

At most a quarter above and an eighth below the memory measured for three sizes at several sentence lengths
and token budgets, on a CPU in fp32 and bf16 and on a GPU in bf16.
"""

import torch

from regard.model.config import ModelConfig
from regard.training.loss import SCORES_PER_CHUNK, LossConfig
from regard.training.memory import StepMemory

ENCODER_ACTIVATIONS, DECODER_ACTIVATIONS, OUTER_ACTIVATIONS = (12, 15), (20, 25), 10
"""Activations that a layer keeps per token for the backward pass, in multiples of d_model, in fp32 and in
bf16; and those outside the layers. In bf16 autocast keeps copies in both precisions."""
EXPLICIT_ATTENTION_ACTIVATIONS = 4
"""Activations per head and attended key, where attention is not a single kernel."""
LOGIT_BYTES = {("cpu", False): 8, ("cpu", True): 12, ("cuda", False): 12, ("cuda", True): 5}
"""Bytes per logit that the loss holds at once, by device and whether in bf16."""
BACKWARD_OVERHEAD = {"cpu": 1.6, "cuda": 1.3}
"""Factor for the backward pass and for fragmentation; 1 for a step captured as CUDA graphs."""


def estimate_translation_step_memory(
    model: ModelConfig,
    loss: LossConfig,
    *,
    has_ema: bool,
    device: torch.device,
    precision: torch.dtype,
    is_captured: bool,
    sentence_length: float,
    batch_tokens: int,
) -> StepMemory:
    """Estimate the memory of a step with `batch_tokens` tokens, for sentences of that mean length."""
    kind, is_bf16 = device.type, precision == torch.bfloat16
    passes = 2 if loss.rdrop else 1
    output_weights = model.vocab_size * model.d_model
    bytes_per_weight = 20 if has_ema else 16  # 4 each: weight, gradient, two Adam moments, moving average
    logits = min(SCORES_PER_CHUNK[kind], passes * batch_tokens * model.vocab_size)
    fixed_bytes = (
        count_transformer_weights(model) * (bytes_per_weight + 2 * is_bf16)
        + output_weights * 8  # the gradient of the output projection, before it is added to the others
        + logits * LOGIT_BYTES[kind, is_bf16] * passes
    )
    overhead = 1.0 if is_captured else BACKWARD_OVERHEAD[kind]
    bytes_per_activation = 2 if is_bf16 else 4
    is_explicit = model.attention_dropout > 0 or (kind == "cpu" and is_bf16)
    activations = _activations_per_token(model, is_bf16, sentence_length if is_explicit else 0.0)
    return StepMemory(fixed_bytes, passes * bytes_per_activation * overhead * activations)


def count_transformer_weights(model: ModelConfig) -> int:
    """Return the number of weights without biases and layer norms."""
    width = model.heads * model.head_width
    attention, feed_forward = 4 * model.d_model * width, 2 * model.d_model * model.d_ff
    vocabulary_matrices = {"all": 1, "target": 2, "none": 3}[model.tied]
    return (
        model.encoder_layers * (attention + feed_forward)
        + model.decoder_layers * (2 * attention + feed_forward)
        + vocabulary_matrices * model.vocab_size * model.d_model
    )


def _activations_per_token(model: ModelConfig, is_bf16: bool, attended_keys: float) -> float:
    """Return the activations kept for one source and one target token until the backward pass."""
    width = max(model.d_model, model.heads * model.head_width)
    inner = model.d_ff * (1 + (model.activation == "gelu") + 2 * (model.activation_dropout > 0))
    attention = EXPLICIT_ATTENTION_ACTIVATIONS * model.heads * attended_keys
    encoder = ENCODER_ACTIVATIONS[is_bf16] * width + inner + attention
    decoder = DECODER_ACTIVATIONS[is_bf16] * width + inner + 2 * attention
    return model.encoder_layers * encoder + model.decoder_layers * decoder + OUTER_ACTIVATIONS * width

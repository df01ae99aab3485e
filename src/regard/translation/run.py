"""Settings of a translation run, and how device, precision and batches are resolved before it starts."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import torch

from regard.checkpoint import CONFIG_FILE
from regard.config import apply_settings, read_settings
from regard.corpus.prepare import PreparedCorpora
from regard.data.config import DataConfig
from regard.errors import require_setting
from regard.model.attention import PACKED_KERNEL_HEAD_WIDTHS
from regard.model.config import SMALL, ModelConfig
from regard.training.device import ComputeConfig, can_capture_cuda_graphs, choose_device, choose_precision
from regard.training.loop import TrainConfig
from regard.training.loss import LossConfig
from regard.training.memory import describe_resumed_memory, fit_batches_to_memory
from regard.training.optimizer import OptimizerConfig
from regard.training.setup import resolve_device
from regard.translation.finetune import StartConfig
from regard.translation.memory_estimate import estimate_translation_step_memory
from regard.translation.model_folder import TRANSLATION_TASK


@dataclass(frozen=True)
class TranslationRun:
    """All settings of a translation run, one TOML section each."""

    task: ClassVar[str] = TRANSLATION_TASK
    model: ModelConfig = SMALL
    start: StartConfig = field(default_factory=StartConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    def __post_init__(self) -> None:
        judge, rdrop = self.train.judge, self.loss.rdrop
        require_setting(judge in ("loss", "bleu"), "train.judge", judge, "it must be loss or bleu")
        works = not rdrop or self.model.has_dropout
        require_setting(works, "loss.rdrop", rdrop, "without model.dropout two passes always agree")


def resolve_translation_run(
    run: TranslationRun, corpora: PreparedCorpora, checkpoint: Path | None
) -> tuple[TranslationRun, str]:
    """Return the run with its final device, precision and batches, and a line about its memory.

    A run that resumes keeps those of its checkpoint: others would be another training.
    """
    run = resolve_device(run, checkpoint)
    data, train, compute = run.data, run.train, run.compute
    device = choose_device(compute.device)
    precision = choose_precision(compute.precision, device)
    step_memory = estimate_translation_step_memory(
        replace(run.model, vocab_size=corpora.tokenizer.vocab_size),
        run.loss,
        has_ema=train.ema is not None,
        device=device,
        precision=precision,
        is_captured=uses_captured_steps(run, device, precision),
        sentence_length=corpora.train.mean_length,
        batch_tokens=data.batch_tokens,
    )
    if checkpoint is None:
        batches = fit_batches_to_memory(
            step_memory, data.batch_tokens, run.model.max_length, compute.memory, device
        )
        tokens, accumulate = batches.tokens_per_batch, batches.count * train.accumulate
        memory = batches.description
    else:
        stored = read_settings(checkpoint / CONFIG_FILE)
        before = apply_settings(run, {name: stored[name] for name in ("data", "train")})
        tokens, accumulate = before.data.batch_tokens, before.train.accumulate
        memory = describe_resumed_memory(step_memory, tokens, device)
    resolved = replace(
        run, data=replace(data, batch_tokens=tokens), train=replace(train, accumulate=accumulate)
    )
    return resolved, memory


def uses_captured_steps(run: TranslationRun, device: torch.device, precision: torch.dtype) -> bool:
    """Return whether steps run as CUDA graphs; the packed attention kernel must support the model."""
    is_supported = run.model.attention_dropout == 0 and run.model.head_width in PACKED_KERNEL_HEAD_WIDTHS
    return is_supported and can_capture_cuda_graphs(run.compute.capture, device, precision)

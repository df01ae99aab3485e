"""Translation, from two text files to a model folder."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from regard.checkpoint import read_manifest
from regard.config import apply_settings, read_settings, to_toml
from regard.corpus.prepare import PreparedCorpora, write_data_report
from regard.data.batch import BatchShape, PairBatch, make_pair_batch
from regard.data.bucketing import bucket_by_length
from regard.data.config import DataConfig
from regard.data.prefetch import prefetch_items
from regard.data.stream import StreamPosition as Place
from regard.data.stream import TokenBudget, stream_batches
from regard.errors import require_setting
from regard.metrics.translation import bleu_by_length, corpus_bleu, corpus_chrf
from regard.model.attention import PACKED_KERNEL_HEAD_WIDTHS
from regard.model.config import SMALL, ModelConfig
from regard.model.transformer import Transformer
from regard.text.tokenizer import load_tokenizer
from regard.train.cuda_graph_step import CudaGraphStep
from regard.train.device import ComputeConfig, can_capture_cuda_graphs, choose_device, choose_precision
from regard.train.harness import train_and_publish
from regard.train.logs.console import format_header
from regard.train.loop import TrainConfig, TrainingResult
from regard.train.loss import LossConfig, label_smoothing_floor
from regard.train.memory import describe_resumed_memory, fit_batches_to_memory
from regard.train.model_card import CardText, CurvesRenderer
from regard.train.model_files import CONFIG_FILE
from regard.train.optimizer import OptimizerConfig
from regard.train.setup import TrainingSetup, resolve_device
from regard.train.step import EagerStep, Learner, TrainStep
from regard.train.task import BatchCounts, DataPosition, FileLines, ValidationResult, ValidationSample
from regard.translation.corpus import hash_pair_files, prepare_pair_corpora
from regard.translation.finetune import StartConfig, StartModel, read_start_model
from regard.translation.memory_estimate import estimate_translation_step_memory
from regard.translation.model_folder import TOKENIZER_FILE, TRANSLATION_TASK, write_translation_model_files
from regard.translation.task import pair_loss, rdrop_pair_loss
from regard.translation.translator import Translator

PREFETCH_BATCHES = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
TRANSLATION_SAMPLES = 3
"""Sentences that are watched through the whole training."""


@dataclass(frozen=True)
class TranslationRun:
    """All settings of a run, one TOML section each."""

    task: ClassVar[str] = TRANSLATION_TASK
    model: ModelConfig = SMALL
    start: StartConfig = field(default_factory=StartConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    def __post_init__(self) -> None:
        drops, rdrop = self.model.has_dropout, self.loss.rdrop
        judge = self.train.judge
        require_setting(judge in ("loss", "bleu"), "train.judge", judge, "it must be loss or bleu")
        require_setting(
            not rdrop or drops, "loss.rdrop", rdrop, "without model.dropout two passes always agree"
        )


def train_translation(
    run: TranslationRun, out: Path, console: Console, render_curves: CurvesRenderer | None = None
) -> TrainingResult:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model.

    `draw` makes the curves that go with it.
    """

    def make(begun: Path | None) -> TranslationTask:
        start = load_start_model(run) if begun is None else None
        corpora = prepare_run_corpora(run, start, begun, console)
        parent = read_manifest(begun).get("from") if begun else start and start.manifest_entry
        as_it_will_be, memory = resolve_translation_run(run, corpora, begun)
        return TranslationTask(as_it_will_be, corpora, start, parent, memory)

    return train_and_publish(
        run, out, console, lambda: hash_pair_files(run.data, console), make, render_curves
    )


def _uses_captured_steps(run: TranslationRun, device: torch.device, precision: torch.dtype) -> bool:
    """Whether steps are played back: never for attention that the kernels for packed sentences cannot do."""
    suits = run.model.attention_dropout == 0 and run.model.head_width in PACKED_KERNEL_HEAD_WIDTHS
    return suits and can_capture_cuda_graphs(run.compute.capture, device, precision)


def load_start_model(run: TranslationRun) -> StartModel | None:
    """The model that the run goes on from, if it does."""
    if run.start.model is None:
        return None
    return read_start_model(Path(run.start.model), run.model, run.data.lowercase)


def prepare_run_corpora(
    run: TranslationRun, start: StartModel | None, checkpoint: Path | None, console: Console
) -> PreparedCorpora:
    """The run's corpora in pieces of their own, or in those of the model or checkpoint it goes on from."""
    model, seed, extend = run.model, run.train.seed, None
    tokenizer = load_tokenizer(checkpoint / TOKENIZER_FILE) if checkpoint else None
    if start is not None:
        tokenizer, extend = start.model.tokenizer, run.start.extend_vocabulary
    return prepare_pair_corpora(
        run.data, model.vocab_size, model.max_length, seed, console, tokenizer, extend
    )


def resolve_translation_run(
    run: TranslationRun, corpora: PreparedCorpora, checkpoint: Path | None
) -> tuple[TranslationRun, str]:
    """The run with device, precision and batches as they will be, and what to say of its memory.

    A run that goes on keeps what its checkpoint has, since anything else would be another training.
    """
    run = resolve_device(run, checkpoint)
    data, train, compute = run.data, run.train, run.compute
    device = choose_device(compute.device)
    precision = choose_precision(compute.precision, device)
    need = estimate_translation_step_memory(
        replace(run.model, vocab_size=corpora.tokenizer.vocab_size),
        run.loss,
        train.ema is not None,
        device,
        precision,
        _uses_captured_steps(run, device, precision),
        corpora.train.mean_length,
        data.batch_tokens,
    )
    if checkpoint is None:
        plan = fit_batches_to_memory(need, data.batch_tokens, run.model.max_length, compute.memory, device)
        tokens, batches, said = plan.tokens_per_batch, plan.count * train.accumulate, plan.description
    else:
        kept = read_settings(checkpoint / CONFIG_FILE)
        before = apply_settings(run, {name: kept[name] for name in ("data", "train")})
        tokens, batches = before.data.batch_tokens, before.train.accumulate
        said = describe_resumed_memory(need, tokens, device)
    return replace(
        run, data=replace(data, batch_tokens=tokens), train=replace(train, accumulate=batches)
    ), said


class TranslationTask:
    """Translation as the training loop sees it: satisfies `train.trainable.Trainable`."""

    def __init__(
        self,
        run: TranslationRun,
        corpora: PreparedCorpora,
        start: StartModel | None = None,
        parent: Mapping[str, Any] | None = None,
        memory: str | None = None,
    ) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are.

        `parent` is what the manifest says of the model that the run once started from, `memory` what is
        to be said of it.
        """
        tokenizer = corpora.tokenizer
        run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        self._run = run
        self.corpora = corpora
        self._tokenizer = tokenizer
        self._start, self._parent, self._memory = start, parent, memory
        torch.manual_seed(run.train.seed)
        self.model = Transformer(run.model).to(choose_device(run.compute.device))
        self.setup = TrainingSetup(run, self.model, has_perplexity=True)
        self._device, self._precision = self.setup.device, self.setup.precision
        if start is not None:
            self.model.load_state_dict(start.initial_transformer(tokenizer).state_dict())
        self._translator = Translator.from_model(self.model, tokenizer)
        self._batch_shape = (
            self._fixed_batch_shape() if _uses_captured_steps(run, self._device, self._precision) else None
        )

    def describe(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model, run = self._run.model, self._run
        size = (
            f"{model.encoder_layers}+{model.decoder_layers} layers, {model.d_model} wide, {model.heads} heads"
        )
        said = f"{size}, {model.vocab_size:,} pieces: {self.setup.parameter_count:,} parameters"
        yield from format_header([("model", said)])
        if self._start is not None:
            yield from format_header([("start", self._start.describe(self._tokenizer))])
        yield from self.corpora.describe()
        if dropout := run.data.bpe_dropout:
            yield from format_header(
                [("", f"cut into pieces {run.data.bpe_variants} ways, with dropout {dropout:g}")]
            )
        yield from self.setup.describe(f"{run.data.batch_tokens * run.train.accumulate:,} tokens")
        if smoothing := run.loss.label_smoothing:
            floor = f"the training loss cannot go below {self.loss_floor:.2f}"
            yield from format_header([("", f"label smoothing {smoothing:g}: {floor}")])
        if self._memory is not None:
            yield from format_header([("memory", self._memory)])

    @property
    def loss_floor(self) -> float:
        """What the training loss cannot go below."""
        return label_smoothing_floor(self._run.loss.label_smoothing, self._run.model.vocab_size)

    @property
    def card_text(self) -> CardText:
        translated = min(self._run.data.bleu_pairs, len(self.corpora.valid_texts))
        return CardText(
            task_verb="translate",
            unit="pairs",
            usage_command='regard translate THIS_FOLDER <<< "A sentence."',
            evaluation=f"BLEU and chrF of greedy translations of the first {translated:,}",
            score_names={
                "bleu": "BLEU",
                "chrf": "chrF",
                "loss": "loss, nats a token",
                "perplexity": "perplexity",
            },
        )

    def run_metadata(self) -> dict[str, object]:
        """What the curves of a translation model are to be compared with."""
        return {"label_smoothing": self._run.loss.label_smoothing, "loss_floor": self.loss_floor}

    def write_data_report(self, out: Path) -> None:
        write_data_report(out, self.corpora)

    def make_step(self, learner: Learner) -> TrainStep[PairBatch]:
        """The way to take a step: recorded and played back where that can be, else one by one."""
        run = self._run.train
        if self._batch_shape is None:
            return EagerStep(self, learner, run.seed, run.clip)
        example = next(self.batches({}))[0].to(self._device)
        return CudaGraphStep(
            self, learner, run.seed, run.clip, example, run.accumulate, self._modules_to_compile()
        )

    def batches(self, start: DataPosition) -> Iterator[tuple[PairBatch, DataPosition]]:
        batches = self._batches(start)
        return prefetch_items(batches, PREFETCH_BATCHES) if self._device.type == "cuda" else batches

    def _batches(self, start: DataPosition) -> Iterator[tuple[PairBatch, DataPosition]]:
        pairs, form, tokens = self.corpora.train, self._batch_shape, self._run.data.batch_tokens
        plan = (
            TokenBudget(tokens)
            if form is None
            else TokenBudget(form.tokens, form.guaranteed_pairs, sort_by_length=False)
        )
        for indexes, after in stream_batches(pairs, plan, self._run.train.seed, Place(**start)):
            batch = make_pair_batch(pairs.source, pairs.target, indexes, form)
            yield batch.pin_memory() if self._device.type == "cuda" else batch, asdict(after)

    def _fixed_batch_shape(self) -> BatchShape:
        """Of every batch: room for its tokens, and for as many sentences as are likely to come with them."""
        pairs, longest = self.corpora.train, self._run.model.max_length
        tokens = max(self._run.data.batch_tokens, longest)
        return BatchShape(tokens, int(1.2 * tokens / pairs.mean_length) + -(-tokens // longest) + 1, longest)

    def _modules_to_compile(self) -> list[nn.Module]:
        """The parts of the model that are worth compiling, each kind once."""
        model = self.model
        return [model.source_embedding, model.target_embedding, *model.encoder.layers, *model.decoder.layers]

    def batch_counts(self, batch: PairBatch) -> BatchCounts:
        real = batch.source_tokens + batch.target_tokens
        return BatchCounts(batch.source_tokens, batch.target_tokens, batch.computed_tokens - real)

    def loss(self, batch: PairBatch) -> Tensor:
        config = self._run.loss
        if not config.rdrop:
            return self._cross_entropy(batch, config.label_smoothing)
        with self.setup.autocast():
            on_device = batch.to(self._device)
            return rdrop_pair_loss(self.model, on_device, config.label_smoothing, config.rdrop)

    def locate_lines(self, batch: PairBatch) -> list[FileLines]:
        return self.corpora.training_lines(batch.pair_indexes)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

    def validate(self) -> ValidationResult:
        """Loss over the validation pairs that fit the model, without smoothing; BLEU over the first pairs."""
        self.model.eval()
        loss = self._validation_loss()
        texts = self.corpora.valid_texts[: self._run.data.bleu_pairs]
        sources, references = ([pair[side] for pair in texts] for side in (0, 1))
        hypotheses = self._translator.translate(self._blank_overlong(sources), beam=1)
        lowercase = self._run.data.lowercase
        score, letters = (
            corpus_bleu(hypotheses, references, lowercase),
            corpus_chrf(hypotheses, references, lowercase),
        )
        lengths = [len(row) for row in self._tokenizer.tokenize(sources)]
        by_length = bleu_by_length(lengths, hypotheses, references, lowercase)
        watched = zip(
            sources[:TRANSLATION_SAMPLES],
            references[:TRANSLATION_SAMPLES],
            hypotheses[:TRANSLATION_SAMPLES],
            strict=True,
        )
        return ValidationResult(
            metrics={
                "loss": loss,
                "perplexity": math.exp(min(loss, 50)),
                "bleu": score.score,
                "chrf": letters.score,
            },
            details={"bleu_signature": score.signature, "chrf_signature": letters.signature},
            chart_data={"bleu_by_length": asdict(by_length)},
            samples=[ValidationSample(*texts) for texts in watched],
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        facts = {
            "parameters": self.setup.parameter_count,
            "trained_on": {
                "pairs": len(corpora.train),
                "files": dict(corpora.fingerprint),
                "left_out": dict(corpora.report["train"]["left_out"]),
            },
            "validated_on": {
                "pairs": len(corpora.valid),
                "files": dict(corpora.valid_fingerprint),
                "left_out": dict(corpora.report["valid"]["left_out"]),
                "translated": min(self._run.data.bleu_pairs, len(corpora.valid_texts)),
            },
        }
        if self._parent is not None:
            facts["from"] = dict(self._parent)
        return write_translation_model_files(folder, self.model, self._tokenizer, to_toml(self._run), facts)

    def _cross_entropy(self, batch: PairBatch, smoothing: float) -> Tensor:
        batch = batch.to(self._device)
        with self.setup.autocast():
            return pair_loss(self.model, batch, smoothing)

    @torch.no_grad()
    def _validation_loss(self) -> float:
        pairs = self.corpora.valid
        lengths = np.maximum(pairs.source.lengths, pairs.target.lengths)
        total, tokens = 0.0, 0
        for indexes in bucket_by_length(lengths, self._run.data.batch_tokens):
            batch = make_pair_batch(pairs.source, pairs.target, indexes)
            total += float(self._cross_entropy(batch, smoothing=0.0))
            tokens += batch.target_tokens
        return total / tokens

    def _blank_overlong(self, texts: list[str]) -> list[str]:
        """A validation sentence that the model cannot take counts as not translated."""
        longest = self._run.model.max_length - 1
        rows = self._tokenizer.tokenize(texts)
        return [text if len(row) <= longest else "" for text, row in zip(texts, rows, strict=True)]

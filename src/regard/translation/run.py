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
from regard.config import apply, read_settings, to_toml
from regard.corpus.prepare import Corpora, write_report
from regard.data.batch import Form, PairBatch, pair_batch
from regard.data.bucketing import by_length
from regard.data.config import DataConfig
from regard.data.prefetch import ahead
from regard.data.stream import BatchPlan, stream
from regard.data.stream import Position as Place
from regard.errors import require
from regard.metrics.translation import bleu, bleu_by_length, chrf
from regard.model.attention import KERNEL_WIDTHS
from regard.model.config import SMALL, ModelConfig
from regard.model.transformer import Transformer
from regard.text.tokenizer import load_tokenizer
from regard.train.cuda_graph_step import CapturedStep
from regard.train.device import ComputeConfig, can_capture, choose_device, choose_precision
from regard.train.harness import train_run
from regard.train.logs.console import header
from regard.train.loop import Outcome, TrainConfig
from regard.train.loss import LossConfig, smoothing_floor
from regard.train.memory import as_begun, fitted
from regard.train.model_card import Draw, Words
from regard.train.model_files import CONFIG
from regard.train.optimizer import OptimizerConfig
from regard.train.setup import Course, with_device
from regard.train.step import EagerStep, Learner, Step
from regard.train.task import Counts, Lines, Position, Sample, Validation
from regard.translation.corpus import fingerprints, prepare
from regard.translation.finetune import Start, StartConfig, start_from
from regard.translation.memory_estimate import step_need
from regard.translation.model_folder import TASK, TOKENIZER, fill_model
from regard.translation.task import agreeing_pair_loss, pair_loss
from regard.translation.translator import Translator

AHEAD = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
SAMPLES = 3
"""Sentences that are watched through the whole training."""


@dataclass(frozen=True)
class TranslationRun:
    """All settings of a run, one TOML section each."""

    task: ClassVar[str] = TASK
    model: ModelConfig = SMALL
    start: StartConfig = field(default_factory=StartConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    def __post_init__(self) -> None:
        drops, rdrop = self.model.drops, self.loss.rdrop
        judge = self.train.judge
        require(judge in ("loss", "bleu"), "train.judge", judge, "it must be loss or bleu")
        require(not rdrop or drops, "loss.rdrop", rdrop, "without model.dropout two passes always agree")


def train_translation(run: TranslationRun, out: Path, console: Console, draw: Draw | None = None) -> Outcome:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model.

    `draw` makes the curves that go with it.
    """

    def make(begun: Path | None) -> TranslationTask:
        start = find_start(run) if begun is None else None
        corpora = prepare_corpora(run, start, begun, console)
        parent = read_manifest(begun).get("from") if begun else start and start.parent
        as_it_will_be, memory = settled(run, corpora, begun)
        return TranslationTask(as_it_will_be, corpora, start, parent, memory)

    return train_run(run, out, console, lambda: fingerprints(run.data, console), make, draw)


def _captured(run: TranslationRun, device: torch.device, precision: torch.dtype) -> bool:
    """Whether steps are played back: never for attention that the kernels for packed sentences cannot do."""
    suits = run.model.attention_dropout == 0 and run.model.head_width in KERNEL_WIDTHS
    return suits and can_capture(run.compute.capture, device, precision)


def find_start(run: TranslationRun) -> Start | None:
    """The model that the run goes on from, if it does."""
    if run.start.model is None:
        return None
    return start_from(Path(run.start.model), run.model, run.data.lowercase)


def prepare_corpora(
    run: TranslationRun, start: Start | None, begun: Path | None, console: Console
) -> Corpora:
    """The run's corpora in pieces of their own, or in those of the model or checkpoint it goes on from."""
    model, seed, extend = run.model, run.train.seed, None
    tokenizer = load_tokenizer(begun / TOKENIZER) if begun else None
    if start is not None:
        tokenizer, extend = start.model.tokenizer, run.start.extend_vocabulary
    return prepare(run.data, model.vocab_size, model.max_length, seed, console, tokenizer, extend)


def settled(run: TranslationRun, corpora: Corpora, begun: Path | None) -> tuple[TranslationRun, str]:
    """The run with device, precision and batches as they will be, and what to say of its memory.

    A run that goes on keeps what its checkpoint has, since anything else would be another training.
    """
    run = with_device(run, begun)
    data, train, compute = run.data, run.train, run.compute
    device = choose_device(compute.device)
    precision = choose_precision(compute.precision, device)
    need = step_need(
        replace(run.model, vocab_size=corpora.tokenizer.vocab_size),
        run.loss,
        train.ema is not None,
        device,
        precision,
        _captured(run, device, precision),
        corpora.train.mean_length,
        data.batch_tokens,
    )
    if begun is None:
        plan = fitted(need, data.batch_tokens, run.model.max_length, compute.memory, device)
        tokens, batches, said = plan.tokens, plan.parts * train.accumulate, plan.said
    else:
        kept = read_settings(begun / CONFIG)
        before = apply(run, {name: kept[name] for name in ("data", "train")})
        tokens, batches = before.data.batch_tokens, before.train.accumulate
        said = as_begun(need, tokens, device)
    return replace(
        run, data=replace(data, batch_tokens=tokens), train=replace(train, accumulate=batches)
    ), said


class TranslationTask:
    """Translation as the training loop sees it: satisfies `train.trainable.Trainable`."""

    def __init__(
        self,
        run: TranslationRun,
        corpora: Corpora,
        start: Start | None = None,
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
        self.course = Course(run, self.model, perplexity=True)
        self._device, self._precision = self.course.device, self.course.precision
        if start is not None:
            self.model.load_state_dict(start.weights(tokenizer).state_dict())
        self._translator = Translator.of(self.model, tokenizer)
        self._form = self._one_form() if _captured(run, self._device, self._precision) else None

    def plan(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model, run = self._run.model, self._run
        size = (
            f"{model.encoder_layers}+{model.decoder_layers} layers, {model.d_model} wide, {model.heads} heads"
        )
        said = f"{size}, {model.vocab_size:,} pieces: {self.course.parameters:,} parameters"
        yield from header([("model", said)])
        if self._start is not None:
            yield from header([("start", self._start.said(self._tokenizer))])
        yield from self.corpora.plan()
        if dropout := run.data.bpe_dropout:
            yield from header(
                [("", f"cut into pieces {run.data.bpe_variants} ways, with dropout {dropout:g}")]
            )
        yield from self.course.plan(f"{run.data.batch_tokens * run.train.accumulate:,} tokens")
        if smoothing := run.loss.label_smoothing:
            floor = f"the training loss cannot go below {self.floor:.2f}"
            yield from header([("", f"label smoothing {smoothing:g}: {floor}")])
        if self._memory is not None:
            yield from header([("memory", self._memory)])

    @property
    def floor(self) -> float:
        """What the training loss cannot go below."""
        return smoothing_floor(self._run.loss.label_smoothing, self._run.model.vocab_size)

    @property
    def words(self) -> Words:
        translated = min(self._run.data.bleu_pairs, len(self.corpora.valid_texts))
        return Words(
            learnt="translate",
            unit="pairs",
            command='regard translate THIS_FOLDER <<< "A sentence."',
            judged=f"BLEU and chrF of greedy translations of the first {translated:,}",
            scores={"bleu": "BLEU", "chrf": "chrF", "loss": "loss, nats a token", "perplexity": "perplexity"},
        )

    def facts(self) -> dict[str, object]:
        """What the curves of a translation model are to be compared with."""
        return {"label_smoothing": self._run.loss.label_smoothing, "loss_floor": self.floor}

    def write_report(self, out: Path) -> None:
        write_report(out, self.corpora)

    def step(self, learner: Learner) -> Step[PairBatch]:
        """The way to take a step: recorded and played back where that can be, else one by one."""
        run = self._run.train
        if self._form is None:
            return EagerStep(self, learner, run.seed, run.clip)
        example = next(self.batches({}))[0].to(self._device)
        return CapturedStep(self, learner, run.seed, run.clip, example, run.accumulate, self._compiled())

    def batches(self, start: Position) -> Iterator[tuple[PairBatch, Position]]:
        batches = self._batches(start)
        return ahead(batches, AHEAD) if self._device.type == "cuda" else batches

    def _batches(self, start: Position) -> Iterator[tuple[PairBatch, Position]]:
        pairs, form, tokens = self.corpora.train, self._form, self._run.data.batch_tokens
        plan = BatchPlan(tokens) if form is None else BatchPlan(form.tokens, form.room, sort=False)
        for indexes, after in stream(pairs, plan, self._run.train.seed, Place(**start)):
            batch = pair_batch(pairs.source, pairs.target, indexes, form)
            yield batch.pinned() if self._device.type == "cuda" else batch, asdict(after)

    def _one_form(self) -> Form:
        """Of every batch: room for its tokens, and for as many sentences as are likely to come with them."""
        pairs, longest = self.corpora.train, self._run.model.max_length
        tokens = max(self._run.data.batch_tokens, longest)
        return Form(tokens, int(1.2 * tokens / pairs.mean_length) + -(-tokens // longest) + 1, longest)

    def _compiled(self) -> list[nn.Module]:
        """The parts of the model that are worth compiling, each kind once."""
        model = self.model
        return [model.source_embedding, model.target_embedding, *model.encoder.layers, *model.decoder.layers]

    def counts(self, batch: PairBatch) -> Counts:
        real = batch.source_tokens + batch.target_tokens
        return Counts(batch.source_tokens, batch.target_tokens, batch.places - real)

    def loss(self, batch: PairBatch) -> Tensor:
        config = self._run.loss
        if not config.rdrop:
            return self._cross_entropy(batch, config.label_smoothing)
        with self.course.computing():
            on_device = batch.to(self._device)
            return agreeing_pair_loss(self.model, on_device, config.label_smoothing, config.rdrop)

    def where(self, batch: PairBatch) -> list[Lines]:
        return self.corpora.lines_of(batch.pairs)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

    def validate(self) -> Validation:
        """Loss over the validation pairs that fit the model, without smoothing; BLEU over the first pairs."""
        self.model.eval()
        loss = self._valid_loss()
        texts = self.corpora.valid_texts[: self._run.data.bleu_pairs]
        sources, references = ([pair[side] for pair in texts] for side in (0, 1))
        hypotheses = self._translator.translate(self._within_limit(sources), beam=1)
        lowercase = self._run.data.lowercase
        score, letters = bleu(hypotheses, references, lowercase), chrf(hypotheses, references, lowercase)
        lengths = [len(row) for row in self._tokenizer.tokenize(sources)]
        by_length = bleu_by_length(lengths, hypotheses, references, lowercase)
        watched = zip(sources[:SAMPLES], references[:SAMPLES], hypotheses[:SAMPLES], strict=True)
        return Validation(
            metrics={
                "loss": loss,
                "perplexity": math.exp(min(loss, 50)),
                "bleu": score.score,
                "chrf": letters.score,
            },
            details={"bleu_signature": score.signature, "chrf_signature": letters.signature},
            curves={"bleu_by_length": asdict(by_length)},
            samples=[Sample(*texts) for texts in watched],
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        facts = {
            "parameters": self.course.parameters,
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
        return fill_model(folder, self.model, self._tokenizer, to_toml(self._run), facts)

    def _cross_entropy(self, batch: PairBatch, smoothing: float) -> Tensor:
        batch = batch.to(self._device)
        with self.course.computing():
            return pair_loss(self.model, batch, smoothing)

    @torch.no_grad()
    def _valid_loss(self) -> float:
        pairs = self.corpora.valid
        lengths = np.maximum(pairs.source.lengths, pairs.target.lengths)
        total, tokens = 0.0, 0
        for indexes in by_length(lengths, self._run.data.batch_tokens):
            batch = pair_batch(pairs.source, pairs.target, indexes)
            total += float(self._cross_entropy(batch, smoothing=0.0))
            tokens += batch.target_tokens
        return total / tokens

    def _within_limit(self, texts: list[str]) -> list[str]:
        """A validation sentence that the model cannot take counts as not translated."""
        longest = self._run.model.max_length - 1
        rows = self._tokenizer.tokenize(texts)
        return [text if len(row) <= longest else "" for text, row in zip(texts, rows, strict=True)]

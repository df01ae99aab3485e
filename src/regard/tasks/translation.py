"""Translation, from two text files to a model folder."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from regard.checkpoint import publish, read_manifest
from regard.config import to_toml
from regard.data.batch import PairBatch, pair_batch
from regard.data.bucketing import by_length, shuffled
from regard.data.config import DataConfig
from regard.data.ids import Ids, flatten
from regard.errors import ConfigError, DataError
from regard.metrics.bleu import bleu
from regard.model.config import SMALL, ModelConfig
from regard.model.transformer import Transformer
from regard.tasks.folder import TOKENIZER, fill_model
from regard.tasks.translator import Translator
from regard.text.corpus import Corpus, hold_out, read_corpus
from regard.text.tokenizer import PAD, Tokenizer, learn_tokenizer, load_tokenizer
from regard.train.average import Ema
from regard.train.device import ComputeConfig, choose_device, choose_precision, computing_in
from regard.train.interrupt import Interrupt
from regard.train.learner import Learner
from regard.train.log import Log
from regard.train.loop import Outcome, TrainConfig, ending, train
from regard.train.loss import LossConfig, smoothed_cross_entropy
from regard.train.optimizer import OptimizerConfig, adam, learning_rate
from regard.train.run import METRICS, open_run
from regard.train.state import TRAINING, State, newest_whole, read_state, resume
from regard.train.step import EagerStep
from regard.train.trainable import Counts, Position
from regard.train.validation import Sample, Validation

SAMPLES = 3
"""Sentences that are watched through the whole training."""


@dataclass(frozen=True)
class TranslationRun:
    """All settings of a run, one TOML section each."""

    model: ModelConfig = SMALL
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)


def train_translation(run: TranslationRun, out: Path, console: Console) -> Outcome:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model.

    A run that was cut short goes on from its last whole checkpoint, as if it had never stopped.
    """
    with open_run(out, to_toml(run), _free_settings(run)):
        begun = newest_whole(out, lambda said: console.print(f"  {said}"))
        if begun is not None and (finished := _finished(run, out, read_state(begun))):
            console.print(f"  {out} is finished; {_longer(run)}")
            return finished
        corpora = read_corpora(run)
        with console.status("learning the pieces"):
            pieces = load_tokenizer(begun / TOKENIZER) if begun else learn_pieces(run, corpora)
            task = TranslationTask(run, corpora, pieces)
        learner = task.learner()
        state = State() if begun is None else resume(begun, task, learner)
        for line in task.plan():
            console.print(f"  {line}")
        if state.step:
            console.print(f"  goes on from step {state.step:,} of {run.train.steps:,}")
        return _train(task, learner, state, run, out, console)


def _train(
    task: "TranslationTask", learner: Learner, state: State, run: TranslationRun, out: Path, console: Console
) -> Outcome:
    step = EagerStep(task, learner, run.train.seed, run.train.clip)
    log = Log(out / METRICS, console, run.train.steps, after=state.step, seconds=state.seconds)
    with log, Interrupt() as interrupt:
        outcome = train(task, out, run.train, learner, step, task.rate, log, interrupt, state)
        if outcome.ending != "interrupt":
            facts = {"step": outcome.step, "metrics": dict(outcome.metrics)}
            publish(outcome.best, out / "model", without=TRAINING, facts=facts)
    return outcome


def _free_settings(run: TranslationRun) -> list[str]:
    """What may differ from one start to the next, since no step depends on it."""
    length = ["train.steps"] if run.optimizer.cooldown is None else []
    return [*length, "train.minutes", "train.patience"]


def _finished(run: TranslationRun, out: Path, state: State) -> Outcome | None:
    over = ending(state, run.train, state.seconds)
    if over is None or not (out / "model").is_dir():
        return None
    manifest = read_manifest(out / "model")
    return Outcome(out / "model", manifest["step"], manifest["metrics"], over)


def _longer(run: TranslationRun) -> str:
    if run.optimizer.cooldown is None:
        return "to train longer, give the same command with a larger train.steps"
    return "its cooldown is over: to train longer, start another run with a larger train.steps"


@dataclass(frozen=True)
class Corpora:
    """What a run learns from, and what it is judged on."""

    train: Corpus
    valid: Corpus
    held_out: bool
    """Whether the second was taken out of the first."""


def read_corpora(run: TranslationRun) -> Corpora:
    """The files of the run; without validation files, a part of the training pairs is held out."""
    data = run.data
    if data.source is None or data.target is None:
        raise ConfigError(
            "there is nothing to train on; give --source FILE and --target FILE, or set them under [data]"
        )
    corpus = read_corpus(Path(data.source), Path(data.target))
    if data.valid_source is not None and data.valid_target is not None:
        valid = read_corpus(Path(data.valid_source), Path(data.valid_target))
        return Corpora(corpus, valid, held_out=False)
    train, valid = hold_out(corpus, max(1, min(data.held_out, len(corpus) // 10)), run.train.seed)
    if not len(train):
        raise DataError(
            f"{data.source} has too few different sentences to hold some out; give --valid-source"
        )
    return Corpora(train, valid, held_out=True)


def learn_pieces(run: TranslationRun, corpora: Corpora) -> Tokenizer:
    """Joint pieces of both sides, from what the run learns from and nothing else."""
    return learn_tokenizer([*corpora.train.source, *corpora.train.target], run.model.vocab_size)


class TranslationTask:
    """Translation as the training loop sees it: satisfies `train.loop.Trainable`."""

    def __init__(self, run: TranslationRun, corpora: Corpora, tokenizer: Tokenizer) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are."""
        run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        self._run = run
        self._corpora = corpora
        self._tokenizer = tokenizer
        self._device = choose_device(run.compute.device)
        self._precision = choose_precision(run.compute.precision, self._device)
        torch.manual_seed(run.train.seed)
        self.model = Transformer(run.model).to(self._device)
        self._train = _Pairs.of(corpora.train, tokenizer, run.model.max_length)
        self._valid = _Pairs.of(corpora.valid, tokenizer, run.model.max_length)
        self._translator = Translator(self.model, tokenizer)

    def plan(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model, run = self._run.model, self._run
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        yield (
            f"model   {model.encoder_layers}+{model.decoder_layers} layers, {model.d_model} wide, "
            f"{model.heads} heads, {model.vocab_size:,} pieces: {parameters:,} parameters"
        )
        how = "held out of the training files" if self._corpora.held_out else "from their own files"
        yield f"data    {len(self._train):,} pairs to learn from, {len(self._valid):,} to validate on ({how})"
        for part, corpus, pairs in (
            ("training", self._corpora.train, self._train),
            ("validation", self._corpora.valid, self._valid),
        ):
            left_out = {**corpus.left_out, f"over {model.max_length - 1} pieces": pairs.too_long}
            if said := [f"{count:,} {why}" for why, count in left_out.items() if count]:
                yield f"        left out of {part}: {', '.join(said)}"
        limit = "" if run.train.minutes is None else f", at most {run.train.minutes:g} minutes"
        precision = str(self._precision).removeprefix("torch.")
        yield (
            f"train   {run.train.steps:,} steps of {run.data.batch_tokens:,} tokens{limit}, "
            f"on {self._device.type} in {precision}; Ctrl-C stops and saves"
        )

    def learner(self) -> Learner:
        """The model, and what will move it."""
        decay = self._run.train.ema
        ema = None if decay is None else Ema(self.model, decay)
        return Learner(self.model, adam(self.model, self._run.optimizer), ema)

    def batches(self, start: Position) -> Iterator[tuple[PairBatch, Position]]:
        pairs, run = self._train, self._run
        epoch, first = start.get("epoch", 0), start.get("batch", 0)
        while True:
            order = shuffled(
                pairs.source.lengths, pairs.target.lengths, run.data.batch_tokens, run.train.seed, epoch
            )
            for number in range(first, len(order)):
                batch = pair_batch(pairs.source, pairs.target, order[number].tolist())
                last = number + 1 == len(order)
                after = {"epoch": epoch + 1, "batch": 0} if last else {"epoch": epoch, "batch": number + 1}
                yield batch, after
            epoch, first = epoch + 1, 0

    def counts(self, batch: PairBatch) -> Counts:
        source = int(batch.source_keep.sum())
        return Counts(
            source, batch.tokens, batch.source.numel() + batch.target_out.numel() - source - batch.tokens
        )

    def loss(self, batch: PairBatch) -> Tensor:
        return self._cross_entropy(batch, self._run.loss.label_smoothing)

    def where(self, batch: PairBatch) -> str:
        (first,) = self._tokenizer.detokenize([batch.source[0].tolist()])
        return f'{len(batch.source)} pairs, the first is "{first}"'

    def fingerprint(self) -> Mapping[str, str]:
        return {**self._corpora.train.files, **self._corpora.valid.files}

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        run = self._run
        return learning_rate(step, run.train.steps, run.model.d_model, run.optimizer)

    def validate(self) -> Validation:
        """Loss over the validation pairs that fit the model, without smoothing; BLEU over the first pairs."""
        self.model.eval()
        loss = self._valid_loss()
        sources = self._corpora.valid.source[: self._run.data.bleu_pairs]
        references = self._corpora.valid.target[: len(sources)]
        hypotheses = self._translator.translate(self._within_limit(sources))
        score = bleu(hypotheses, references)
        watched = zip(sources[:SAMPLES], references[:SAMPLES], hypotheses[:SAMPLES], strict=True)
        return Validation(
            metrics={"loss": loss, "perplexity": math.exp(min(loss, 50)), "bleu": score.score},
            details={"bleu_signature": score.signature},
            samples=[Sample(*texts) for texts in watched],
        )

    def save(self, folder: Path) -> dict[str, Any]:
        facts = {
            "trained_on": {"pairs": len(self._train), "files": dict(self._corpora.train.files)},
            "validated_on": {"pairs": len(self._valid), "files": dict(self._corpora.valid.files)},
        }
        return fill_model(folder, self.model, self._tokenizer, to_toml(self._run), facts)

    def _cross_entropy(self, batch: PairBatch, smoothing: float) -> Tensor:
        batch = batch.to(self._device)
        with computing_in(self._precision, self._device):
            logits = self.model(batch.source, batch.source_keep, batch.target_in)
        return smoothed_cross_entropy(logits, batch.target_out, smoothing, PAD)

    @torch.no_grad()
    def _valid_loss(self) -> float:
        pairs = self._valid
        lengths = np.maximum(pairs.source.lengths, pairs.target.lengths)
        total, tokens = 0.0, 0
        for indexes in by_length(lengths, self._run.data.batch_tokens):
            batch = pair_batch(pairs.source, pairs.target, indexes.tolist())
            total += float(self._cross_entropy(batch, smoothing=0.0))
            tokens += batch.tokens
        return total / tokens

    def _within_limit(self, texts: list[str]) -> list[str]:
        """A validation sentence that the model cannot take counts as not translated."""
        longest = self._run.model.max_length - 1
        rows = self._tokenizer.tokenize(texts)
        return [text if len(row) <= longest else "" for text, row in zip(texts, rows, strict=True)]


@dataclass(frozen=True)
class _Pairs:
    """A corpus as ids, without the pairs that are too long for the model."""

    source: Ids
    target: Ids
    too_long: int

    @classmethod
    def of(cls, corpus: Corpus, tokenizer: Tokenizer, max_length: int) -> "_Pairs":
        source, target = (flatten(tokenizer.tokenize(side)) for side in (corpus.source, corpus.target))
        fits = (source.lengths < max_length) & (target.lengths < max_length)
        if not fits.any():
            raise DataError(
                f"every pair is longer than model.max_length = {max_length} pieces; set a larger one"
            )
        if fits.all():
            return cls(source, target, 0)
        chosen = np.flatnonzero(fits)
        return cls(source.take(chosen), target.take(chosen), int((~fits).sum()))

    def __len__(self) -> int:
        return len(self.source)

"""Translation, from two text files to a model folder."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from regard.checkpoint import checkpoints, publish
from regard.config import to_toml
from regard.data.batch import PairBatch, pair_batch
from regard.data.bucketing import by_length
from regard.data.config import DataConfig
from regard.data.stream import BatchPlan, stream
from regard.errors import RegardError, require
from regard.metrics.bleu import bleu
from regard.model.config import SMALL, ModelConfig
from regard.model.transformer import Transformer
from regard.tasks.corpora import Corpora, prepare, write_report
from regard.tasks.folder import save_model
from regard.tasks.pair_loss import agreeing_pair_loss, pair_loss
from regard.tasks.start import Start, StartConfig, start_from
from regard.tasks.translator import Translator
from regard.train.device import ComputeConfig, choose_device, choose_precision, computing_in
from regard.train.interrupt import Interrupt
from regard.train.log import Log
from regard.train.loop import Outcome, TrainConfig, Validation, train
from regard.train.loss import LossConfig
from regard.train.optimizer import OptimizerConfig, adam, learning_rate


@dataclass(frozen=True)
class TranslationRun:
    """All settings of a run, one TOML section each."""

    model: ModelConfig = SMALL
    start: StartConfig = field(default_factory=StartConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)

    def __post_init__(self) -> None:
        model, rdrop = self.model, self.loss.rdrop
        drops = model.dropout or model.attention_dropout or model.activation_dropout
        require(not rdrop or drops > 0, "loss.rdrop", rdrop, "without model.dropout two passes always agree")


def train_translation(run: TranslationRun, out: Path, console: Console) -> Outcome:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model."""
    refuse_unusable(out)
    start = find_start(run)
    task = TranslationTask(run, prepare_corpora(run, start, console), start)
    optimizer = adam(task.model, run.optimizer)
    for line in task.plan():
        console.print(f"  {line}")
    with (
        _folder(out, to_toml(run)),
        Log(out / "metrics.jsonl", console, run.train.steps) as log,
        Interrupt() as interrupt,
    ):
        write_report(out, task.corpora)
        outcome = train(task, out, run.train, optimizer, task.rate, log, interrupt)
        publish(outcome.best, out / "model")
    return outcome


def find_start(run: TranslationRun) -> Start | None:
    """The model that the run goes on from, if it does."""
    if run.start.model is None:
        return None
    return start_from(Path(run.start.model), run.model, run.data.lowercase)


def prepare_corpora(run: TranslationRun, start: Start | None, console: Console) -> Corpora:
    """The run's corpora in pieces of their own, or in those of the model that it goes on from."""
    model, seed = run.model, run.train.seed
    tokenizer, extend = None if start is None else start.model.tokenizer, run.start.extend_vocabulary
    return prepare(run.data, model.vocab_size, model.max_length, seed, console, tokenizer, extend)


class TranslationTask:
    """Translation as the training loop sees it: satisfies `train.loop.Trainable`."""

    def __init__(self, run: TranslationRun, corpora: Corpora, start: Start | None = None) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are."""
        tokenizer = corpora.tokenizer
        run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        self._run = run
        self.corpora = corpora
        self._tokenizer = tokenizer
        self._start = start
        self._device = choose_device(run.compute.device)
        self._precision = choose_precision(run.compute.precision, self._device)
        torch.manual_seed(run.train.seed)
        self.model = Transformer(run.model).to(self._device)
        if start is not None:
            self.model.load_state_dict(start.weights(tokenizer).state_dict())
        self._translator = Translator(self.model, tokenizer)

    def plan(self) -> Iterator[str]:
        """What is about to happen, for the person who asked for it."""
        model, run = self._run.model, self._run
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        yield (
            f"model   {model.encoder_layers}+{model.decoder_layers} layers, {model.d_model} wide, "
            f"{model.heads} heads, {model.vocab_size:,} pieces: {parameters:,} parameters"
        )
        if self._start is not None:
            yield f"start   {self._start.said(self._tokenizer)}"
        yield from self.corpora.plan()
        if dropout := run.data.bpe_dropout:
            yield f"        cut into pieces {run.data.bpe_variants} ways, with dropout {dropout:g}"
        limit = "" if run.train.minutes is None else f", at most {run.train.minutes:g} minutes"
        precision = str(self._precision).removeprefix("torch.")
        yield (
            f"train   {run.train.steps:,} steps of {run.data.batch_tokens:,} tokens{limit}, "
            f"on {self._device.type} in {precision}; Ctrl-C stops and saves"
        )

    def batches(self) -> Iterator[PairBatch]:
        pairs, plan = self.corpora.train, BatchPlan(self._run.data.batch_tokens)
        for indexes, _ in stream(pairs, plan, self._run.train.seed):
            yield pair_batch(pairs.source, pairs.target, indexes)

    def loss(self, batch: PairBatch) -> tuple[Tensor, int]:
        config = self._run.loss
        if not config.rdrop:
            return self._cross_entropy(batch, config.label_smoothing), batch.target_tokens
        with computing_in(self._precision, self._device):
            on_device = batch.to(self._device)
            loss = agreeing_pair_loss(self.model, on_device, config.label_smoothing, config.rdrop)
        return loss, batch.target_tokens

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        run = self._run
        return learning_rate(step, run.train.steps, run.model.d_model, run.optimizer)

    def validate(self) -> Validation:
        """Loss over the validation pairs that fit the model, without smoothing; BLEU over the first pairs."""
        self.model.eval()
        loss = self._valid_loss()
        texts = self.corpora.valid_texts[: self._run.data.bleu_pairs]
        sources, references = ([pair[side] for pair in texts] for side in (0, 1))
        hypotheses = self._translator.translate(self._within_limit(sources), beam=1)
        score = bleu(hypotheses, references, self._run.data.lowercase)
        return Validation(
            metrics={"loss": loss, "perplexity": math.exp(min(loss, 50)), "bleu": score.score},
            details={"bleu_signature": score.signature},
            sample=f"{_clip(sources[0])} -> {_clip(hypotheses[0])}",
        )

    def save(self, folder: Path, step: int, validation: Validation) -> None:
        corpora = self.corpora
        numbers = {name: value for name, value in validation.metrics.items() if math.isfinite(value)}
        facts = {
            "step": step,
            "metrics": {**numbers, **validation.details},
            "trained_on": {"pairs": len(corpora.train), "files": dict(corpora.fingerprint)},
            "validated_on": {"pairs": len(corpora.valid), "files": dict(corpora.valid_fingerprint)},
        }
        if self._start is not None:
            facts["from"] = self._start.parent
        save_model(folder, self.model, self._tokenizer, to_toml(self._run), facts)

    def _cross_entropy(self, batch: PairBatch, smoothing: float) -> Tensor:
        batch = batch.to(self._device)
        with computing_in(self._precision, self._device):
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


def refuse_unusable(out: Path) -> None:
    """Says at once what would otherwise be found out after the training."""
    if out.is_dir() and any(out.iterdir()):
        raise RegardError(f"{out} is not empty; choose another --out, or delete it first")
    parent = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise RegardError(f"{out} cannot be written: {parent} is not a folder you may write to")


@contextmanager
def _folder(out: Path, settings: str) -> Iterator[None]:
    """The run's folder with its settings; as it was before if the run fails before its first checkpoint."""
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (out / "config.toml").open("x", encoding="utf-8") as file:  # x: only one run may have it
            file.write(settings)
    except FileExistsError:
        raise RegardError(f"{out} is not empty; choose another --out, or delete it first") from None
    except OSError as error:
        raise RegardError(f"{out} cannot be written: {error.strerror}") from None
    try:
        yield
    except BaseException:
        if not checkpoints(out):
            with suppress(OSError):  # whatever went wrong matters more than this
                for name in ("config.toml", "data.json", "metrics.jsonl"):
                    (out / name).unlink(missing_ok=True)
                if made:
                    out.rmdir()
        raise


def _clip(text: str, length: int = 45) -> str:
    """Its beginning: a young model repeats itself without end."""
    return text if len(text) <= length else text[: length - 1] + "…"

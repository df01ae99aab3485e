"""Translation, from two text files to a model folder."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from regard.checkpoint import checkpoints, publish
from regard.config import to_toml
from regard.data.batch import PairBatch, pair_batch
from regard.data.bucketing import by_length, shuffled
from regard.data.config import DataConfig
from regard.data.ids import Ids, flatten
from regard.data.variants import variants
from regard.errors import ConfigError, DataError, RegardError, require
from regard.metrics.bleu import bleu
from regard.model.config import SMALL, ModelConfig
from regard.model.transformer import Transformer
from regard.tasks.folder import save_model
from regard.tasks.pair_loss import agreeing_pair_loss, pair_loss
from regard.tasks.start import Start, StartConfig, start_from
from regard.tasks.translator import Translator
from regard.text.corpus import Corpus, hold_out, read_corpus
from regard.text.tokenizer import Tokenizer, learn_tokenizer
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
    corpora = read_corpora(run)
    with console.status("learning the pieces"):
        start = find_start(run, corpora)
        tokenizer = learn_pieces(run, corpora) if start is None else start.tokenizer
        task = TranslationTask(run, corpora, tokenizer, start)
        optimizer = adam(task.model, run.optimizer)
    for line in task.plan():
        console.print(f"  {line}")
    with (
        _folder(out, to_toml(run)),
        Log(out / "metrics.jsonl", console, run.train.steps) as log,
        Interrupt() as interrupt,
    ):
        outcome = train(task, out, run.train, optimizer, task.rate, log, interrupt)
        publish(outcome.best, out / "model")
    return outcome


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
    texts = [*corpora.train.source, *corpora.train.target]
    return learn_tokenizer(texts, run.model.vocab_size, run.data.lowercase)


def find_start(run: TranslationRun, corpora: Corpora) -> Start | None:
    """The model that the run goes on from, if it does."""
    start, texts = run.start, [*corpora.train.source, *corpora.train.target]
    if start.model is None:
        return None
    return start_from(Path(start.model), start.extend_vocabulary, run.model, run.data.lowercase, texts)


class TranslationTask:
    """Translation as the training loop sees it: satisfies `train.loop.Trainable`."""

    def __init__(
        self, run: TranslationRun, corpora: Corpora, tokenizer: Tokenizer, start: Start | None = None
    ) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are."""
        run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        self._run = run
        self._corpora = corpora
        self._tokenizer = tokenizer
        self._start = start
        self._device = choose_device(run.compute.device)
        self._precision = choose_precision(run.compute.precision, self._device)
        torch.manual_seed(run.train.seed)
        self.model = Transformer(run.model).to(self._device)
        if start is not None:
            self.model.load_state_dict(start.transformer.state_dict())
        self._variants = _train_pairs(run, corpora.train, tokenizer)
        self._train = self._variants[0]
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
        if self._start is not None:
            yield f"start   {self._start.said}"
        how = "held out of the training files" if self._corpora.held_out else "from their own files"
        yield f"data    {len(self._train):,} pairs to learn from, {len(self._valid):,} to validate on ({how})"
        if len(self._variants) > 1:
            yield f"        cut into pieces {len(self._variants)} ways, with dropout {run.data.bpe_dropout:g}"
        for part, corpus, pairs in (
            ("training", self._corpora.train, self._train),
            ("validation", self._corpora.valid, self._valid),
        ):
            left_out = {**corpus.left_out, f"over {model.max_length - 1} pieces": pairs.too_long}
            if said := [f"{number:,} {why}" for why, number in left_out.items() if number]:
                yield f"        left out of {part}: {', '.join(said)}"
        limit = "" if run.train.minutes is None else f", at most {run.train.minutes:g} minutes"
        precision = str(self._precision).removeprefix("torch.")
        yield (
            f"train   {run.train.steps:,} steps of {run.data.batch_tokens:,} tokens{limit}, "
            f"on {self._device.type} in {precision}; Ctrl-C stops and saves"
        )

    def batches(self) -> Iterator[PairBatch]:
        run = self._run
        for epoch in count():
            pairs = self._variants[epoch % len(self._variants)]
            lengths = pairs.source.lengths, pairs.target.lengths
            for indexes in shuffled(*lengths, run.data.batch_tokens, run.train.seed, epoch):
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
        sources = self._corpora.valid.source[: self._run.data.bleu_pairs]
        references = self._corpora.valid.target[: len(sources)]
        hypotheses = self._translator.translate(self._within_limit(sources))
        score = bleu(hypotheses, references, self._run.data.lowercase)
        return Validation(
            metrics={"loss": loss, "perplexity": math.exp(min(loss, 50)), "bleu": score.score},
            details={"bleu_signature": score.signature},
            sample=f"{_clip(sources[0])} -> {_clip(hypotheses[0])}",
        )

    def save(self, folder: Path, step: int, validation: Validation) -> None:
        numbers = {name: value for name, value in validation.metrics.items() if math.isfinite(value)}
        facts = {
            "step": step,
            "metrics": {**numbers, **validation.details},
            "trained_on": {"pairs": len(self._train), "files": dict(self._corpora.train.files)},
            "validated_on": {"pairs": len(self._valid), "files": dict(self._corpora.valid.files)},
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
        pairs = self._valid
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


@dataclass(frozen=True)
class _Pairs:
    """A corpus as ids, without the pairs that are too long for the model."""

    source: Ids
    target: Ids
    too_long: int

    @classmethod
    def of(cls, corpus: Corpus, tokenizer: Tokenizer, max_length: int) -> "_Pairs":
        source, target = (flatten(tokenizer.tokenize(side)) for side in (corpus.source, corpus.target))
        return cls.fitting([(source, target)], max_length)[0]

    @classmethod
    def fitting(cls, variants: list[tuple[Ids, Ids]], max_length: int) -> list["_Pairs"]:
        """The pairs that fit the model in every variant, so that all variants have the same pairs."""
        lengths = np.maximum.reduce([side.lengths for pair in variants for side in pair])
        chosen = np.flatnonzero(lengths < max_length)
        if not len(chosen):
            raise DataError(
                f"every pair is longer than model.max_length = {max_length} pieces; set a larger one"
            )
        left_out = len(lengths) - len(chosen)
        if not left_out:
            return [cls(*pair, 0) for pair in variants]
        return [cls(source.take(chosen), target.take(chosen), left_out) for source, target in variants]

    def __len__(self) -> int:
        return len(self.source)


def _train_pairs(run: TranslationRun, corpus: Corpus, tokenizer: Tokenizer) -> list[_Pairs]:
    """What is learnt from, once for each way it is cut into pieces; epoch after epoch takes the next."""
    data, seed = run.data, run.train.seed
    source, target = (
        variants(tokenizer, side, data.bpe_dropout, data.bpe_variants, seed)
        for side in (corpus.source, corpus.target)
    )
    return _Pairs.fitting(list(zip(source, target, strict=True)), run.model.max_length)


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
                for name in ("config.toml", "metrics.jsonl"):
                    (out / name).unlink(missing_ok=True)
                if made:
                    out.rmdir()
        raise


def _clip(text: str, length: int = 45) -> str:
    """Its beginning: a young model repeats itself without end."""
    return text if len(text) <= length else text[: length - 1] + "…"

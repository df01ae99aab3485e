"""Translation, from two text files to a model folder."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from regard.checkpoint import publish, read_manifest
from regard.config import apply, read_settings, to_toml
from regard.data.ahead import ahead
from regard.data.batch import Form, PairBatch, pair_batch
from regard.data.bucketing import by_length
from regard.data.config import DataConfig
from regard.data.stream import BatchPlan, stream
from regard.data.stream import Position as Place
from regard.errors import require
from regard.metrics.bleu import bleu
from regard.metrics.chrf import chrf
from regard.model.attention import KERNEL_WIDTHS
from regard.model.config import SMALL, ModelConfig
from regard.model.transformer import Transformer
from regard.tasks.card import Draw, Spent, differences, papers
from regard.tasks.corpora import Corpora, fingerprints, prepare, write_report
from regard.tasks.folder import CONFIG, TOKENIZER, fill_model
from regard.tasks.footprint import step_need
from regard.tasks.pair_loss import agreeing_pair_loss, pair_loss
from regard.tasks.start import Start, StartConfig, start_from
from regard.tasks.translator import Translator
from regard.text.tokenizer import load_tokenizer
from regard.train.average import Ema
from regard.train.captured import CapturedStep
from regard.train.device import (
    NAMES,
    ComputeConfig,
    can_capture,
    choose_device,
    choose_precision,
    computing_in,
    device_name,
)
from regard.train.interrupt import Interrupt
from regard.train.learner import Learner
from regard.train.lines import Lines
from regard.train.log import Log
from regard.train.loop import Outcome, TrainConfig, ending, train
from regard.train.loss import LossConfig, smoothing_floor
from regard.train.memory import as_begun, fitted
from regard.train.optimizer import OptimizerConfig, adam, learning_rate
from regard.train.run import METRICS, open_run
from regard.train.screen import header
from regard.train.state import (
    TRAINING,
    State,
    newest_whole,
    read_data,
    read_state,
    refuse_changed,
    resume,
)
from regard.train.step import EagerStep, Step
from regard.train.trainable import Counts, Position
from regard.train.validation import Sample, Validation

AHEAD = 8
"""Batches that lie ready for a GPU, so that it never waits for one."""
SAMPLES = 3
"""Sentences that are watched through the whole training."""
PLANNED = 200
"""Points of the planned learning rate that are recorded."""


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
        drops, rdrop = self.model.drops, self.loss.rdrop
        require(not rdrop or drops, "loss.rdrop", rdrop, "without model.dropout two passes always agree")


def train_translation(run: TranslationRun, out: Path, console: Console, draw: Draw | None = None) -> Outcome:
    """Reads the files, learns the pieces, trains, and leaves the best model in `out`/model.

    `draw` makes the curves that go with it. A run that was cut short goes on from its last whole
    checkpoint, as if it had never stopped.
    """
    with open_run(out, to_toml(run), _free_settings(run)):
        begun = newest_whole(out, say := lambda said: console.print(f"  {said}"))
        if begun is not None and (finished := _finished(run, out, read_state(begun))):
            console.print(f"  {out} is finished; {_longer(run)}")
            return finished
        if begun is not None:
            refuse_changed(out, read_data(begun), fingerprints(run.data, console))
        start = find_start(run) if begun is None else None
        corpora = prepare_corpora(run, start, begun, console)
        parent = read_manifest(begun).get("from") if begun else start and start.parent
        run, memory = settled(run, corpora, begun)
        task = TranslationTask(run, corpora, start, parent)
        learner = task.learner()
        state = State() if begun is None else resume(begun, task, learner, say)
        write_report(out, corpora)
        for line in task.plan():
            console.print(f"  {line}")
        for line in header([("memory", memory)]):
            console.print(f"  {line}")
        if state.step:
            console.print(f"  goes on from step {state.step:,} of {run.train.steps:,}")
        return _train(task, learner, state, run, out, console, draw)


def _log(run: TranslationRun, out: Path, console: Console, state: State) -> Log:
    return Log(
        out / METRICS,
        console,
        run.train.steps,
        after=state.step,
        seconds=state.seconds,
        minutes=run.train.minutes,
        tensorboard=run.train.tensorboard,
    )


def _train(
    task: "TranslationTask",
    learner: Learner,
    state: State,
    run: TranslationRun,
    out: Path,
    console: Console,
    draw: Draw | None,
) -> Outcome:
    step = task.step(learner)
    with _log(run, out, console, state) as log, Interrupt() as interrupt:
        log.began(task.facts(out.resolve().name))
        outcome = train(task, out, run.train, learner, step, task.rate, log, interrupt, state)
        if outcome.ending != "interrupt":
            spent = Spent(log.step, log.seconds, task.device, task.precision)
            _publish(outcome, run, out, spent, draw)
    return outcome


def _publish(outcome: Outcome, run: TranslationRun, out: Path, spent: Spent, draw: Draw | None) -> None:
    """The best model, with its card and its curves beside it."""
    facts = {"step": outcome.step, "metrics": dict(outcome.metrics)}
    manifest = {**read_manifest(outcome.best), **facts}
    beside = papers(out, manifest, differences(run, TranslationRun()), spent, draw)
    publish(outcome.best, out / "model", without=TRAINING, facts=facts, beside=beside)


def _free_settings(run: TranslationRun) -> list[str]:
    """What may differ from one start to the next, since no step depends on it."""
    length = ["train.steps"] if run.optimizer.cooldown is None else []
    return [*length, "train.minutes", "train.patience", "train.tensorboard", "compute.memory"]


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
    data, train, before = run.data, run.train, run
    if begun is not None:
        kept = read_settings(begun / CONFIG)
        before = apply(run, {name: kept[name] for name in ("data", "train", "compute")})
    compute = replace(run.compute, device=before.compute.device, precision=before.compute.precision)
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
        tokens, batches = before.data.batch_tokens, before.train.accumulate
        said = as_begun(need, tokens, device)
    return replace(
        run,
        data=replace(data, batch_tokens=tokens),
        train=replace(train, accumulate=batches),
        compute=replace(compute, device=device.type, precision=NAMES[precision]),
    ), said


class TranslationTask:
    """Translation as the training loop sees it: satisfies `train.trainable.Trainable`."""

    def __init__(
        self,
        run: TranslationRun,
        corpora: Corpora,
        start: Start | None = None,
        parent: Mapping[str, Any] | None = None,
    ) -> None:
        """A corpus may hold fewer pieces than were asked for; the model has as many as there are.

        `parent` is what the manifest says of the model that the run once started from.
        """
        tokenizer = corpora.tokenizer
        run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        self._run = run
        self.corpora = corpora
        self._tokenizer = tokenizer
        self._start, self._parent = start, parent
        self._device = choose_device(run.compute.device)
        self._precision = choose_precision(run.compute.precision, self._device)
        torch.manual_seed(run.train.seed)
        self.model = Transformer(run.model).to(self._device)
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
        said = f"{size}, {model.vocab_size:,} pieces: {self.parameters:,} parameters"
        yield from header([("model", said)])
        if self._start is not None:
            yield from header([("start", self._start.said(self._tokenizer))])
        yield from self.corpora.plan()
        if dropout := run.data.bpe_dropout:
            yield from header(
                [("", f"cut into pieces {run.data.bpe_variants} ways, with dropout {dropout:g}")]
            )
        limit = "" if run.train.minutes is None else f", at most {run.train.minutes:g} minutes"
        tokens = run.data.batch_tokens * run.train.accumulate
        steps = f"{run.train.steps:,} steps of {tokens:,} tokens{limit}"
        rows = [("device", f"{self.device}, {self.precision}"), ("plan", f"{steps}; Ctrl-C stops and saves")]
        if smoothing := run.loss.label_smoothing:
            floor = f"the training loss cannot go below {self.floor:.2f}"
            rows.append(("", f"label smoothing {smoothing:g}: {floor}"))
        yield from header(rows)

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def device(self) -> str:
        return device_name(self._device)

    @property
    def precision(self) -> str:
        return str(self._precision).removeprefix("torch.")

    @property
    def floor(self) -> float:
        """What the training loss cannot go below."""
        return smoothing_floor(self._run.loss.label_smoothing, self._run.model.vocab_size)

    def facts(self, name: str) -> dict[str, object]:
        """What stays the same over the run, for whoever draws its curves."""
        run = self._run
        steps, optimizer = run.train.steps, run.optimizer
        points = {1, optimizer.warmup, steps - (optimizer.cooldown or 0), steps}
        points |= {1 + steps * i // PLANNED for i in range(PLANNED)}
        planned = [
            [step, float(f"{learning_rate(step, steps, run.model.d_model, optimizer):.6g}")]
            for step in sorted(points)
            if 1 <= step <= steps
        ]
        return {
            "name": name,
            "parameters": self.parameters,
            "device": self.device,
            "precision": self.precision,
            "steps": steps,
            "d_model": run.model.d_model,
            "peak": optimizer.peak or (run.model.d_model * optimizer.warmup) ** -0.5,
            "warmup": optimizer.warmup,
            "cooldown": optimizer.cooldown,
            "planned": planned,
            "clip": run.train.clip,
            "label_smoothing": run.loss.label_smoothing,
            "loss_floor": self.floor,
        }

    def learner(self) -> Learner:
        """The model, and what will move it."""
        decay = self._run.train.ema
        ema = None if decay is None else Ema(self.model, decay)
        return Learner(self.model, adam(self.model, self._run.optimizer), ema)

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
        with computing_in(self._precision, self._device):
            on_device = batch.to(self._device)
            return agreeing_pair_loss(self.model, on_device, config.label_smoothing, config.rdrop)

    def where(self, batch: PairBatch) -> list[Lines]:
        return self.corpora.lines_of(batch.pairs)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

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
        lowercase = self._run.data.lowercase
        score, letters = bleu(hypotheses, references, lowercase), chrf(hypotheses, references, lowercase)
        watched = zip(sources[:SAMPLES], references[:SAMPLES], hypotheses[:SAMPLES], strict=True)
        return Validation(
            metrics={
                "loss": loss,
                "perplexity": math.exp(min(loss, 50)),
                "bleu": score.score,
                "chrf": letters.score,
            },
            details={"bleu_signature": score.signature, "chrf_signature": letters.signature},
            samples=[Sample(*texts) for texts in watched],
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        facts = {
            "parameters": self.parameters,
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
